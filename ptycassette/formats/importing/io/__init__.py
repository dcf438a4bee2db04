"""Read files of other tools from disk, and publish them as cassettes."""
