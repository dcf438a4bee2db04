"""Comparison strategies: does what the driver sends match a recorded entry?

- ``exact``: the same bytes.
- ``prompt``: the same text on the line once editing keys were applied, sent by the
  same key. CR and LF both send; a paste counts as its text.
- ``normalised``: as ``prompt``, after a normaliser went over both texts.
- ``semantic``: as ``prompt``, but the texts need only be alike enough to a scorer.
- ``any``: whatever is sent.
- ``custom``: as ``prompt``, but a function of the caller says whether two texts match.

A recording has masks in place of typed secrets; ``entry_matcher.py`` says how those are compared.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from ptycassette.timeline.entry_matcher import EntryMatcher, Strategy
from ptycassette.timeline.match_entries import Entry
from ptycassette.timeline.match_secrets import RecordedSecrets
from ptycassette.timeline.match_text import (
    DEFAULT_THRESHOLD,
    Scorer,
    lexical_score,
    semantic_match,
)

Order = Literal["strict", "loose"]
SecretsPolicy = Literal["same", "any"]

_NAMED: tuple[Strategy, ...] = ("exact", "normalised", "prompt", "semantic", "any")
"""What can be asked for by name; ``custom`` needs a function."""

_MASKED = re.compile("x{3,}|[^\\x00-\\x7f]{3,}")
"""What masks look like; where none is, nothing is concealed, which costs time."""


def strategy_named(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        ValueError: there is none; the message lists them.
    """
    for known in _NAMED:
        if name == known:
            found: Strategy = known
            return found
    raise ValueError(f"a comparison strategy is one of {', '.join(_NAMED)}, not {name!r}")


def order_named(name: str) -> Order:
    """The order of that name.

    Raises:
        ValueError: there is none; the message lists them.
    """
    for known in get_args(Order):
        if name == known:
            found: Order = known
            return found
    raise ValueError(f"an order is one of {', '.join(get_args(Order))}, not {name!r}")


def secrets_named(name: str) -> SecretsPolicy:
    """The way of comparing secrets of that name.

    Raises:
        ValueError: there is no such way; the message lists them.
    """
    for known in get_args(SecretsPolicy):
        if name == known:
            found: SecretsPolicy = known
            return found
    raise ValueError(
        f"secrets are compared as {' or '.join(get_args(SecretsPolicy))}, not {name!r}"
    )


class Matching:
    """How a run compares: one strategy for all entries, others for some of them.

    Args:
        strategy: for every entry that ``per_entry`` does not name.
        per_entry: entry number (from 1) to strategy.
        order: ``strict``: entries come in the recorded order. ``loose``: an exchange may
            come before others that were recorded earlier; each comes once.
        normalise: for ``normalised``; white space is folded when None.
        scorer, threshold: for ``semantic``.
        same: whether the text that was sent matches the recorded one; makes the strategy
            ``custom``, except for entries that ``per_entry`` names.
        conceal: scrubs a text as a recording would.
        secrets: ``same``: under ``exact`` and ``prompt``, a secret must be the recorded one, if
            the recording holds its digest. ``any``: one of the same form will do. When None,
            ``$PTYCASSETTE_SECRETS`` sets it for runs that a host starts, else ``same``.

    Attributes:
        conceal: the same; None compares as it is.
        secrets: the same.

    Raises:
        ValueError: an unknown strategy, order or way with secrets, or a threshold out of range.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that a user may say
        self,
        strategy: str = "prompt",
        *,
        per_entry: dict[int, str] | None = None,
        normalise: Callable[[str], str] | None = None,
        scorer: Scorer | None = None,
        threshold: float = DEFAULT_THRESHOLD,
        order: str = "strict",
        same: Callable[[str, str], bool] | None = None,
        conceal: Callable[[str], str] | None = None,
        secrets: str | None = None,
    ) -> None:
        named = strategy_named(strategy)
        self.strategy: Strategy = named if same is None else "custom"
        self._same = same
        self.order = order_named(order)
        self._per_entry = {
            number: strategy_named(name) for number, name in (per_entry or {}).items()
        }
        self._normalise = normalise or _fold_space
        self._scorer = scorer
        self._threshold = threshold
        self.conceal = conceal
        self.secrets = None if secrets is None else secrets_named(secrets)
        semantic_match("a", "a", threshold)  # complain now, not in the middle of a run

    def strategy_for(self, entry: Entry) -> Strategy:
        """The strategy of one entry; a masked one cannot be compared, so ``any``."""
        if entry.masked:
            return "any"
        return self._per_entry.get(entry.number, self.strategy)

    def matcher(self, entry: Entry, secrets: RecordedSecrets | None = None) -> EntryMatcher:
        """A fresh matcher for ``entry``.

        Args:
            entry: what was recorded.
            secrets: the digests of its secrets in the cassette.
        """
        strategy = self.strategy_for(entry)
        conceal = self.conceal if _MASKED.search(entry.text) else None
        # What was typed at a prompt for a secret can be compared by its digest alone.
        plain = self.strategy if entry.masked else strategy
        asked = plain in {"exact", "prompt"} and self.secrets != "any"
        holds = secrets.of_entry(entry) if asked and secrets is not None else None
        return EntryMatcher(entry, strategy, self._sameness(strategy), conceal, holds)

    @property
    def sameness(self) -> Callable[[str, str], bool]:
        """The comparison of two whole texts under the strategy for all entries."""
        return self._sameness(self.strategy)

    def may_begin(self, got: str, want: str) -> bool:
        """Whether ``got`` may be the beginning of a text that matches ``want``, by the strategy.

        Where white space is folded, space at the end of ``got`` ends its last word.
        """
        match self.strategy:
            case "exact" | "prompt":
                return want.startswith(got)
            case "normalised" if self._normalise is _fold_space:
                begun = _fold_space(got)
                ended = " " if begun and got[-1].isspace() else ""
                return f"{_fold_space(want)} ".startswith(begun + ended)
            case _:
                return True  # a function of the caller, or a score, judges whole texts only

    def _sameness(self, strategy: Strategy) -> Callable[[str, str], bool]:
        match strategy:
            case "normalised":
                return lambda got, want: self._normalise(got) == self._normalise(want)
            case "semantic":
                return lambda got, want: (
                    got == want or bool(semantic_match(got, want, self._threshold, self._scorer))
                )
            case "custom" if self._same is not None:
                return self._same
            case "any":
                return lambda got, want: True  # noqa: ARG005 - the shape of a comparison
            case _:
                return operator.eq


_MOST_LOOKED_AT = 100
_LONGEST_LOOKED_AT = 400
"""What is nearest is advice: of long recordings and long lines a part is looked at."""


def nearest_entry(
    entries: Sequence[Entry], text: str, *, number: int = 1
) -> tuple[Entry, float] | None:
    """The recorded entry that is most like ``text`` (as ``shown`` writes it), and how much.

    The key that ends both does not count, as most lines end with Enter. Of two that are equally
    alike, the one closer to ``number`` is nearest.

    Args:
        entries: in their order.
        text: what was sent.
        number: of the entry around which to look.
    """
    best: tuple[Entry, float] | None = None
    first = max(0, min(number - _MOST_LOOKED_AT // 2, len(entries) - _MOST_LOOKED_AT))
    for entry in entries[first : first + _MOST_LOOKED_AT]:
        if entry.masked:
            continue
        key = f"<{entry.action}>"
        same_key = bool(entry.text) and len(text) > len(key) and text.endswith(key)
        got, recorded = (text.removesuffix(key), entry.text) if same_key else (text, entry.shown)
        score = lexical_score(got[:_LONGEST_LOOKED_AT], recorded[:_LONGEST_LOOKED_AT])
        if same_key and score == 1 and got != recorded:
            score = 0.99  # equal but for case or blanks
        closer = best is not None and abs(entry.number - number) < abs(best[0].number - number)
        if best is None or score > best[1] or (score == best[1] and closer):
            best = (entry, score)
    return best


def _fold_space(text: str) -> str:
    return " ".join(text.split())
