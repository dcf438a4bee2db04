"""Limit what may leave the machine while a tape is recorded: approval, budget, forbidden inputs."""
