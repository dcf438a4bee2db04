"""The parts of a text to be removed: found by rules, known before, or learnt from both."""
