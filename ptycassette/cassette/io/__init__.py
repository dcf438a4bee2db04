"""Cassettes on disk: read, checked, written."""
