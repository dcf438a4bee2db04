"""Sessions with a live program."""
