"""The proxy between an agent CLI and its provider, its journal; rules of matching; draws."""
