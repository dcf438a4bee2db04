"""Finds typed secrets in a session: prompts, hidden fields, edited lines."""
