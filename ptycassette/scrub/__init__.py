"""Removes secrets from sessions: rules, views, known values, replacement, verification."""
