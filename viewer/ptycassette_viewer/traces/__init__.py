"""Traces of tests, which are untrusted files: read, listed and shown."""
