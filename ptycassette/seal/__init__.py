"""Seal cassettes with a signature, and check that a cassette is unchanged since then."""
