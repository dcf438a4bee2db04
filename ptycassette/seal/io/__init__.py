"""Seals on disk: made, checked; keys and trust files read."""
