"""Scrubbing with what this machine knows."""
