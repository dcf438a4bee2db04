"""The journal head's fields for model traffic. ``rec`` loads this before the program starts."""

from __future__ import annotations

TAPE_OPTION = "tape"
"""The option in the head of a journal that says that model traffic was recorded: an object with
``key``, the cassette's key in hexadecimal, ``secrets``, what only the proxy and the program
knew, ``address``, where the proxy was, and ``described``, what the manifest says besides."""
