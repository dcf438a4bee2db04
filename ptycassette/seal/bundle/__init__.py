"""Bundles of agent-rerun, version 0.1: what one step of an agent was given, and what came back."""
