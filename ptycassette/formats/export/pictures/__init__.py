"""Screens as pixels: what is drawn and when, and how."""
