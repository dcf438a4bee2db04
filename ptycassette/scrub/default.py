"""The scrubber that is used when nobody asks for another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ptycassette.scrub.context_rules import CONTEXT_RULES
from ptycassette.scrub.identity_rules import IDENTITY_RULES
from ptycassette.scrub.key_rules import KEY_RULES
from ptycassette.scrub.known import KnownValue
from ptycassette.scrub.provider_rules import PROVIDER_RULES
from ptycassette.scrub.rules import Rule, RuleSet
from ptycassette.scrub.session import SessionScrubber
from ptycassette.scrub.volatile_rules import VOLATILE_RULES

__all__ = ["default_rules", "default_scrubber"]


def default_rules(*, volatile: bool = False) -> tuple[Rule, ...]:
    """The built-in rules; with ``volatile`` also those on clocks, counters and the like."""
    rules = (*PROVIDER_RULES, *CONTEXT_RULES, *KEY_RULES, *IDENTITY_RULES)
    return (*rules, *VOLATILE_RULES) if volatile else rules


@lru_cache(maxsize=8)
def _compiled(rules: tuple[Rule, ...], fast: bool | None) -> RuleSet:  # noqa: FBT001 - a cache key
    """A rule set, shared by all scrubbers that use the same rules."""
    return RuleSet(rules, fast=fast)


def default_scrubber(
    *,
    known: Iterable[str] = (),
    volatile: bool = False,
    values: Iterable[KnownValue] = (),
    rules: Iterable[Rule] = (),
    preserved: Iterable[str] = (),
    without: Iterable[str] = (),
    fast: bool | None = None,
) -> SessionScrubber:
    """A scrubber for one session, with the built-in rules.

    Args:
        known: values that are secret; each is removed wherever it, or (when it looks
            generated) a piece of it, occurs, also encoded, coloured, wrapped or typed.
        volatile: also scrub clocks, PIDs, durations, sockets and temporary files.
        values: further known values, with names of their own in the report.
        rules: further rules.
        preserved: values that stay, on purpose; the report names them.
        without: names of rules that are not applied.
        fast: True for the matching libraries of the ``scrub`` extra, False for plain Python,
            None for the best there is. The result is the same.

    Raises:
        ValueError: a known value too short to be told apart from ordinary text.
    """
    unwanted = frozenset(without)
    applied = tuple(
        rule for rule in (*default_rules(volatile=volatile), *rules) if rule.name not in unwanted
    )
    return SessionScrubber(
        rules=_compiled(applied, fast),
        known=known,
        values=values,
        preserved=preserved,
        fast=fast,
    )
