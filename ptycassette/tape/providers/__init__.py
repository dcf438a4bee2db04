"""The four provider APIs as pure functions: parse requests, strictly or not, and write answers."""
