"""Probes, drives and prepared runs of agent CLIs, as checked data."""
