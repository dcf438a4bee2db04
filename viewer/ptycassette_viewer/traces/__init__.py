"""Traces of tests: read as what they are, files of others; listed and shown."""
