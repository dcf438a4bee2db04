"""One module for each reader of what others made."""
