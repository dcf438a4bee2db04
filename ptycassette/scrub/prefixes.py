"""How providers' tokens begin, for rows that end with such a beginning."""

from __future__ import annotations

import re
from functools import lru_cache

from ptycassette.scrub.provider_rules import PROVIDER_RULES
from ptycassette.scrub.rules import RuleSet

__all__ = ["begins_a_token", "completes"]

_PREFIXES = frozenset(
    anchor
    for rule in PROVIDER_RULES
    for anchor in rule.anchors
    if rule.public == len(anchor)  # it begins what the rule takes
)
_BEGINNINGS = frozenset(
    prefix[:length] for prefix in _PREFIXES for length in range(1, len(prefix) + 1)
)
_LENGTHS = sorted({len(prefix) for prefix in _PREFIXES if len(prefix) > len("AIz")})
_LAST = re.compile(r"[A-Za-z0-9_./-]+\Z")


@lru_cache(maxsize=1024)
def begins_a_token(word: str) -> bool:
    """Whether a word ends with the prefix of a token, or a piece of one, or with more than that.

    What stands before a sign that no token has, as in ``key=sk-a``, is left off.
    """
    last = _LAST.search(word)
    if last is None:
        return False
    text = last.group().lower()
    return text in _BEGINNINGS or any(text[:length] in _PREFIXES for length in _LENGTHS)


@lru_cache(maxsize=1024)
def completes(last: str, word: str) -> bool:
    """Whether ``last`` ends with the beginning of a token, and with ``word`` it is one."""
    end = len(last)
    return not _tokens().find(last) and any(
        found.start < end < found.end for found in _tokens().find(last + word)
    )


@lru_cache(maxsize=1)
def _tokens() -> RuleSet:
    return RuleSet(PROVIDER_RULES)
