"""Faults of a provider's answer or of a CLI's terminal, one class each."""
