"""Measurements of ptycassette beside the tools that people use today; ``make bench`` runs them."""
