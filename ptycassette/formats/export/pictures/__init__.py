"""Draw screens as pixels."""
