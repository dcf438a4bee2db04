"""Run the proxy between an agent CLI and its provider, keep its journal, and log draws."""
