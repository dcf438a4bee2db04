"""Assertions over a cassette, and their evaluation."""
