"""Clocks, programs under a PTY, terminals, files, locks: what a machine has."""
