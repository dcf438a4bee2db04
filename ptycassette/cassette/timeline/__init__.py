"""Time over events: the index, exchanges, the terminal's signals, and transforms."""
