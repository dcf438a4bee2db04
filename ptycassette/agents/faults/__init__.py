"""What can go wrong with a provider's answer, or at the terminal of a CLI: one class each."""
