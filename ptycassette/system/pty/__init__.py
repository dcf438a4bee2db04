"""Programs under a PTY, and the user's own terminal."""
