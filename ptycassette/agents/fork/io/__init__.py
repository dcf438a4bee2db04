"""Forking: the run, its provider, the child."""
