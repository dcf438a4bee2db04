"""Two recordings: matching times, differences, and both on one screen."""
