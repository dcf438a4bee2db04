"""Seals: who says that a cassette is what it was."""
