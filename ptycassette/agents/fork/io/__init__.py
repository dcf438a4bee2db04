"""Fork recordings: the run, its provider, the child."""
