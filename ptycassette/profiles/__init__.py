"""Profiles of agent CLIs, one TOML file each, and how they are read and checked."""
