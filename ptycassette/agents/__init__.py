"""Agent CLIs and agents in this process: provider APIs, probes, reruns, forks, faults, blame."""
