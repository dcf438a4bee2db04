"""The conversation in a cassette, in formats of other tools: ATIF, OpenTelemetry, Inspect."""
