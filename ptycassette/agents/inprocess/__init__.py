"""Agents that are functions: the model and tool calls of this process, recorded and served."""
