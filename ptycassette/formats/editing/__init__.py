"""Edit a recording: cut, join, change times, add marks, mask."""
