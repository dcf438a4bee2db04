"""Widgets for screens, times and lists, without keys and files."""
