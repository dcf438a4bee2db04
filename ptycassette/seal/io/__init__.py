"""Make and check seals on disk, and read keys and trust files."""
