"""The emulator, frame policies, screen diffs, query answers, normalisers."""
