"""Edits of a recording: a stretch out, several joined, other times, marks, masks."""
