"""The Textual viewer of ptycassette. Uses only the public API of the library."""
