"""Files of other tools, written and read, and edits of recordings."""
