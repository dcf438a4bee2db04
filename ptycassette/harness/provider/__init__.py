"""The tape of the harness's model traffic."""
