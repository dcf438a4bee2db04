"""Matching that can be proved: questions of a run against those of a tape, one renaming for all."""
