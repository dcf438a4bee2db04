"""Finds typed secrets in a session: prompts, hidden fields, edited lines."""

from ptycassette.typed._fields import AtCursor
from ptycassette.typed._prompts import asks_for_secret
from ptycassette.typed._readings import SHORTEST, readings, typed_text
from ptycassette.typed._secrets import LookAtScreen, TypedSecret, TypedSecrets
from ptycassette.typed._watch import TypedWatch, at_cursor

__all__ = [
    "SHORTEST",
    "AtCursor",
    "LookAtScreen",
    "TypedSecret",
    "TypedSecrets",
    "TypedWatch",
    "asks_for_secret",
    "at_cursor",
    "readings",
    "typed_text",
]
