"""Read and write files of other tools, and edit recordings."""
