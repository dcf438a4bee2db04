"""The time index, exchanges, matching, and transforms of time."""
