"""The rules that find secrets, as data, and the functions that judge values."""
