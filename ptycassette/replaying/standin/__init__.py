"""Poses as the recorded program, in a terminal or over pipes, and checks what the driver does.

Nothing is imported here: the start-up of the stand-in counts in milliseconds.
"""
