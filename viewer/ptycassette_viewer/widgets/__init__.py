"""Widgets that know screens, times and lists, and nothing of keys and files."""
