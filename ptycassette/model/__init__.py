"""Plain data and ports. No I/O, no clock, nothing but msgspec."""
