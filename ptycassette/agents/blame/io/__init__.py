"""Blame recordings: make the runs, ask the oracle, and validate with planted causes."""
