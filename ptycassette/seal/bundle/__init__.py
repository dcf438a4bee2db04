"""Write and verify bundles of agent-rerun 0.1: the input and output of one step of an agent."""
