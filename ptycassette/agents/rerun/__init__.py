"""The real program run again offline: typed at by screen, answered from its tape, compared."""
