"""Run agent CLIs: profiles, probes, offline runs, the scripted provider."""
