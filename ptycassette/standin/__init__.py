"""The process that poses as the recorded program."""
