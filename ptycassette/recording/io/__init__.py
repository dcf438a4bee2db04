"""Recording: the journal, the relay, the saver and the recovery."""
