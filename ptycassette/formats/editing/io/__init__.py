"""Edits on disk: cassettes in, a published cassette out."""
