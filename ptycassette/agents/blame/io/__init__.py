"""Blaming: the runs, the oracle, and the validation with planted causes."""
