"""Removes secrets from sessions: rules, views, known values, replacement, verification."""

from ptycassette.scrub.default import default_scrubber

__all__ = ["default_scrubber"]
