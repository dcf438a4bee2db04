"""Poses as the recorded program, in a terminal or over pipes, and checks what the driver does."""
