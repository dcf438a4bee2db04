"""Imports on disk: a file in, a published cassette out; readers that need a library's own I/O."""
