"""Recording: the journal, the relay, and what becomes of it."""
