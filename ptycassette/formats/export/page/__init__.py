"""Pages of HTML: the frame of every page, screens, and a recording that plays."""
