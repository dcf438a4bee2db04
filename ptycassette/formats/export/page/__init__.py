"""Make HTML pages: the frame of every page, screens, and a recording that plays."""
