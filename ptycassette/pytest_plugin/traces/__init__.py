"""Traces of tests: what a test did, what was recorded, and where they differ."""
