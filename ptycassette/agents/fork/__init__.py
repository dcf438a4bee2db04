"""Run a recording again up to a place, change one thing there, and record the result."""
