"""Read and check probes, drives and prepared runs of agent CLIs."""
