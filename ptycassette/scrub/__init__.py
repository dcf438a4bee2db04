"""Removing secrets: rules, the scrubber, and the proof that nothing is left."""
