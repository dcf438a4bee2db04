"""Poses as the recorded program, in a terminal or over pipes, and checks the driver's input."""
