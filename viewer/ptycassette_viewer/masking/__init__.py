"""Masking by what one points at: a region, a word, an exchange; into a new recording."""
