"""Text as it is searched, and the native engines that search it."""

from ptycassette.scrub.match._canonical import SQUEEZED_AWAY, canonical, plain, squeeze
from ptycassette.scrub.match._literals import Literals
from ptycassette.scrub.match._patterns import Pattern, PatternError

__all__ = [
    "SQUEEZED_AWAY",
    "Literals",
    "Pattern",
    "PatternError",
    "canonical",
    "plain",
    "squeeze",
]
