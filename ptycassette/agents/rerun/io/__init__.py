"""Run the real program again: network, tape server, typing."""
