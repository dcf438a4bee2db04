"""Replaying: players, stand-ins and tests."""
