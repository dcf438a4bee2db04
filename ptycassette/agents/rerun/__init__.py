"""Run the real program again offline: replay its input, answer from its tape, compare."""
