"""Bytes of keys, edited lines, and the text of times and sizes: each read and written once."""
