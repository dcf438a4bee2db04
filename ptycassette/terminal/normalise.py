r"""Normalisers: rewrite what is volatile but harmless, so that texts can be compared.

A spinner turns, a clock ticks, a process gets another number; two runs that
differ in nothing else are the same to a test. A normaliser maps each such text to
a fixed placeholder. They are for comparison only: whatever is compared is copied
first, and evidence is never changed.

A placeholder is rarely as wide as what it replaces: compare normalised text with
normalised text, and nothing else.

::

    rules = normaliser("clock", "spinner", extra=[Rule("build", r"build-\d+", "<build>")])
    assert rules(before) == rules(after)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from ptycassette.model import Screen

__all__ = ["RULES", "Normaliser", "Rule", "normaliser"]


class Rule(msgspec.Struct, frozen=True):
    r"""One rewriting: every match of ``pattern`` becomes ``replacement`` (with ``\1`` groups).

    ``name`` is what it is asked for by; ``words`` are lower-case texts one of which
    must occur before the pattern is tried at all (none: always tried).
    """

    name: str
    pattern: str
    replacement: str
    words: tuple[str, ...] = ()


_SPINNERS: Final = "⠀-⣿◐-◓◰-◳◴-◷◜-◟⊶⊷✢✳✶✻✽✺⏳⌛🌑-🌘🕐-🕛⣾⣽⣻⢿⡿⣟⣯⣷▖▘▝▗"
_DAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_NUMBER: Final = r"(?<!\d)(?<!\d[.,])\d+(?:[.,]\d+)*"
"""From its first digit on: trying each digit of a long run would take time quadratic in it."""

RULES: Final[tuple[Rule, ...]] = (
    Rule("uuid", r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<uuid>"),
    Rule(
        "clock",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
        rf"|\b(?:{_DAY},? )?(?:{_MONTH} \d\d?|\d\d? {_MONTH})(?:,? \d{{4}})?\b"
        r"|\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?\b",
        "<time>",
    ),
    Rule(
        "duration",
        r"\b\d+(?:\.\d+)?(?: ?(?:[num]?s|µs|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?))"
        r"(?: ?\d+(?:\.\d+)? ?(?:ms|s|m|min|h))*\b",
        "<duration>",
    ),
    Rule("pid", r"\b([Pp][Ii][Dd]|[Pp]rocess)([ =:#]+)\d+\b", r"\1\2<pid>", ("pid", "process")),
    Rule(
        "tokens",
        rf"{_NUMBER}(?: ?[kKM])?( ?)(tokens?|tok)\b",
        r"<n>\1\2",
        ("tok",),
    ),
    Rule("cost", rf"[$€£] ?{_NUMBER}", "<cost>"),
    Rule("size", rf"\b{_NUMBER} ?(?:[KMGT]i?B|[kMGT]B|bytes)\b(?:/s)?", "<size>"),
    Rule("progress", r"\b\d{1,3}(?:\.\d+)? ?%|[█▉▊▋▌▍▎▏▓▒░━╸╺]{3,}", "<progress>"),
    Rule("spinner", rf"[{_SPINNERS}]|^[|/\\·*-](?= \w.*(?:\.\.\.|…))", "<spinner>"),
    Rule("hash", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", "<hash>"),
    Rule(
        "path",
        r"(?<![\w/.])(?:~|/(?:home|Users|root|tmp|private|var/folders|var/tmp|mnt|opt|work|srv))"
        r"(?:/[\w.@+-]+)+/?",
        "<path>",
    ),
    Rule("port", r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5}\b", r"\1:<port>"),
    Rule("blank", r"(?<![ \t])[ \t]+$", ""),
)
"""All rules there are, in the order they are applied in."""


class Normaliser:
    """Applies rules in order. Pure: the same text gives the same text.

    Args:
        rules: in the order of application.

    Raises:
        ValueError: a pattern is no regular expression.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._compiled = []
        for rule in self.rules:
            try:
                pattern = re.compile(rule.pattern, re.MULTILINE)
            except re.error as error:
                raise ValueError(f"rule {rule.name!r}: {error}") from error
            self._compiled.append((pattern, rule.replacement, rule.words))

    def __call__(self, text: str) -> str:
        """``text`` with everything that the rules know replaced by placeholders."""
        lower: str | None = None
        for pattern, replacement, words in self._compiled:
            if words:
                lower = text.lower() if lower is None else lower
                if not any(word in lower for word in words):
                    continue
            text = pattern.sub(replacement, text)
        return text

    def screen(self, screen: Screen) -> tuple[str, ...]:
        """The rows of a screen, each normalised. The screen itself stays as it is."""
        return tuple(self(row) for row in screen.rows)

    def __add__(self, other: Normaliser) -> Normaliser:
        return Normaliser((*self.rules, *other.rules))


def normaliser(*names: str, extra: Iterable[Rule] = ()) -> Normaliser:
    """The built-in rules of those names (all of them when none is given), and ``extra`` before.

    Raises:
        ValueError: no such rule, or a pattern is no regular expression.
    """
    known = {rule.name: rule for rule in RULES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown rule {unknown[0]!r}; one of {', '.join(known)}")
    chosen = [rule for rule in RULES if not names or rule.name in names]
    return Normaliser((*extra, *chosen))
