"""Two recordings: which moments belong together, where they differ, and both on one screen."""
