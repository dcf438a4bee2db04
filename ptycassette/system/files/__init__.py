"""Files opened, written and locked with care."""
