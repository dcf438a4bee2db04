"""Which exchange of a recording caused its outcome: changed one by one, counted, judged."""
