"""The tape: the model traffic of an agent CLI, recorded beside its terminal, matched and served."""
