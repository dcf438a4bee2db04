"""Record and replay the model and tool calls of code in this process."""
