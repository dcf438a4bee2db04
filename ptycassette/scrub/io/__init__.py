"""Scrubbing with the secrets of this machine."""
