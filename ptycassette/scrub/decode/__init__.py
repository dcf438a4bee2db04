"""Text that is encoded, decoded: what rules and known values are looked for in besides."""
