"""Replay without a clock: it decides what to emit and how long to wait; the caller waits."""
