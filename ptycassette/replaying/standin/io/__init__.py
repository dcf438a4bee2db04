"""The stand-in as a program: its start, its terminal, its report, and the shims that start it."""
