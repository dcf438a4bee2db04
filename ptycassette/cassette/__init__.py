"""Bytes to model and back: the layout of version 1, JSON lines, digests, limits."""
