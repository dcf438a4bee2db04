"""Record the model traffic of an agent CLI beside its terminal, and match and serve it later."""
