"""Harness profiles and probes: what is known of each CLI, as checked data."""
