"""Match the questions of a run against those of a tape, under one consistent renaming."""
