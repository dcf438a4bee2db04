"""Find the exchange that caused the outcome of a recording: change one at a time, count, judge."""
