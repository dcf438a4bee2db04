"""Export the conversation in a cassette to other tools: ATIF, OpenTelemetry, Inspect."""
