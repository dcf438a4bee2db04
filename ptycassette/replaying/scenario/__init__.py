"""Time-coded assertions over screens, inputs, events and the end of a recording."""
