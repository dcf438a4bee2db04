"""Panels: lists and descriptions of the moment at the playhead."""
