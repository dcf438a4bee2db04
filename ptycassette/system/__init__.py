"""Clocks, programs under a PTY, terminals, files, locks."""
