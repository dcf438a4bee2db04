"""The scheduler that turns events into steps, and divergences."""
