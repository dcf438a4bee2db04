"""Recordings in other formats: asciicasts, text, pages, pictures and films."""
