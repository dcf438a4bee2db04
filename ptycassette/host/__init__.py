"""All input and output: clocks, PTYs, terminals, files, locks."""
