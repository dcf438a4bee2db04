"""Agent CLIs: profiles, probes, the scripted provider."""
