"""The default scrubber."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ptycassette.scrub.rules import Rule, RuleSet, default_rules
from ptycassette.scrub.search import KnownValue
from ptycassette.scrub.session import SessionScrubber


@lru_cache(maxsize=8)
def _rule_set(rules: tuple[Rule, ...]) -> RuleSet:
    """A rule set, shared by all scrubbers that use the same rules."""
    return RuleSet(rules)


def default_scrubber(
    *,
    known: Iterable[str] = (),
    volatile: bool = False,
    values: Iterable[KnownValue] = (),
    rules: Iterable[Rule] = (),
    preserved: Iterable[str] = (),
    without: Iterable[str] = (),
) -> SessionScrubber:
    """A scrubber for one session, with the built-in rules.

    Args:
        known: values that are secret; each is removed wherever it, or (when it looks
            generated) a piece of it, occurs, also encoded, coloured, wrapped or typed.
        volatile: also scrub clocks, PIDs, durations, sockets and temporary files.
        values: further known values, with names of their own in the report.
        rules: further rules.
        preserved: values that are not scrubbed, on purpose; the report names them.
        without: names of rules that are not applied.

    Raises:
        ValueError: a known value is too short to be told apart from ordinary text, or the
            pattern of a further rule is no regular expression.
    """
    unwanted = frozenset(without)
    further = tuple(rules)
    for rule in further:
        rule.check()
    applied = tuple(
        rule for rule in (*default_rules(volatile=volatile), *further) if rule.name not in unwanted
    )
    return SessionScrubber(
        rules=_rule_set(applied),
        known=known,
        values=values,
        preserved=preserved,
    )
