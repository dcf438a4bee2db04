"""Comparison strategies: does what the driver sends match a recorded entry?

- ``exact``: the same bytes.
- ``prompt``: the same text on the line once editing keys were applied, sent by the
  same key. CR and LF both send; a paste counts as its text.
- ``normalised``: as ``prompt``, after a normaliser went over both texts.
- ``semantic``: as ``prompt``, but the texts need only be alike enough to a scorer.
- ``any``: whatever is sent.
- ``custom``: as ``prompt``, but a function of the caller says whether two texts match.

A matcher takes keys one by one and reports how far the recording may continue:
``satisfied`` is how many steps of the entry were sent, or had the same effect. So echo that was
recorded between keys plays as the keys come, also when the typing differs
(``hel``, typed for ``hex<backspace>l``, satisfies all five steps at once).

A recording has masks in place of typed secrets. If a recorded text has any, the driver's input is
scrubbed by ``conceal`` before it is compared. Until the line is complete it is not known which part
of it is secret, and a mask matches any character. ``exact`` and ``prompt`` also check whether it is
the recorded secret, if the recording holds its digest (``match_secrets``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from ptycassette.timeline._match_line import Line
from ptycassette.timeline.match_entries import Entry, KeyStep, shown_keys
from ptycassette.timeline.match_keys import Key
from ptycassette.timeline.match_secrets import RecordedSecrets
from ptycassette.timeline.match_text import (
    DEFAULT_THRESHOLD,
    Scorer,
    lexical_score,
    semantic_match,
)

Strategy = Literal["exact", "normalised", "prompt", "semantic", "any", "custom"]
Order = Literal["strict", "loose"]
SecretsPolicy = Literal["same", "any"]
State = Literal["open", "matched", "mismatch"]

_NAMED: tuple[Strategy, ...] = ("exact", "normalised", "prompt", "semantic", "any")
"""What can be asked for by name; ``custom`` needs a function."""

_MASKED = re.compile("x{3,}|[^\\x00-\\x7f]{3,}")
"""What masks look like; where none is, nothing is concealed, which costs time."""
_MASK = ord("x")

STALL_US = 2_000_000
"""How long a driver may leave a line that no correction was made to. People correct typos
faster, and a program that waits for a reaction would wait for ever."""
QUIET_US = 100_000
"""How long input without an action key must pause before it counts as all."""


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
        asked = strategy in {"exact", "prompt"} and self.secrets != "any"
        holds = secrets.of_entry(entry) if asked and secrets is not None else None
        return EntryMatcher(entry, strategy, self._sameness(strategy), conceal, holds)

    @property
    def sameness(self) -> Callable[[str, str], bool]:
        """The comparison of two whole texts under the strategy for all entries."""
        return self._sameness(self.strategy)

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


class EntryMatcher:
    """Compares the driver's keys with one entry. ``state`` is ``open`` until it is decided.

    ``only_secret``: the input differs from the recorded one only in its secret.
    """

    def __init__(
        self,
        entry: Entry,
        strategy: Strategy,
        same: Callable[[str, str], bool],
        conceal: Callable[[str], str] | None = None,
        holds_secrets: Callable[[str], bool] | None = None,
    ) -> None:
        self.entry = entry
        self.strategy = strategy
        self.state: State = "open"
        self.satisfied = 0
        self.raw = b""
        self.action = ""
        self.line_feed_for_return = False
        self._plainly = same
        self._conceal = conceal
        self._holds_secrets = holds_secrets
        self.only_secret = False
        self._line = Line()
        self._lines = [step.line for step in entry.steps]
        if entry.action:
            self._lines.pop()  # the last step is the action, which text alone never satisfies
        self._sent = 0
        self._reached = len(entry.steps[0].key.raw)

    @property
    def text(self) -> str:
        """The line that the driver has typed so far."""
        return self._line.text

    @property
    def shown(self) -> str:
        """What the driver has sent, as messages show it."""
        return shown_keys(self.text, self.action)

    @property
    def waiting(self) -> KeyStep | None:
        """The first step that is not satisfied; None when all are."""
        steps = self.entry.steps
        return steps[self.satisfied] if self.satisfied < len(steps) else None

    @property
    def patience_us(self) -> int | None:
        """Call ``quiet`` when no key came for so long; None while only a key can decide."""
        if self.state != "open" or not self.raw or self.strategy == "exact":
            return None
        if self.strategy == "any" and self.entry.action:
            return None if self.entry.masked else STALL_US
        if self.strategy != "prompt":
            return None if self.entry.action else QUIET_US
        text = self.text
        lines = self._lines[self.satisfied :]
        on_the_way = any(self._may_be(line[: len(text)], text) for line in lines)
        return None if on_the_way else STALL_US

    def _same(self, got: str, want: str) -> bool:
        """Whether a whole text is the recorded one, unchanged or once scrubbed."""
        self.only_secret = False
        if self._plainly(got, want):
            return True
        if self._conceal is None or not self._plainly(self._conceal(got), want):
            return False
        self.only_secret = self._holds_secrets is not None and not self._holds_secrets(got)
        return not self.only_secret

    def _may_be(self, want: str, got: str) -> bool:
        """Whether ``text`` may be the beginning of the recorded one."""
        if want == got or self._conceal is None or len(want) != len(got):
            return want == got
        return all(a in {b, "x"} or min(a, b) > "~" for a, b in zip(want, got, strict=True))

    def feed(self, key: Key) -> None:
        """Take one key of the driver. Call while ``state`` is ``open``."""
        self.raw += key.raw
        if self.strategy == "exact":
            self._feed_exact(key)
        else:
            self._feed_line(key)
        if self.state == "matched":
            self.satisfied = len(self.entry.steps)

    def quiet(self) -> None:
        """No key came for ``patience_us``: decide by what there is."""
        if self.strategy == "prompt":
            self.state = "mismatch"
        else:
            same = self._same(self.text, self.entry.text)
            self.state = "matched" if same else "mismatch"
            self.satisfied = len(self.entry.steps) if same else self.satisfied

    def _feed_exact(self, key: Key) -> None:
        self._line.apply(key)
        self.action = key.name if key.kind == "key" else ""
        want, sent = self.entry.raw, self._sent
        raw = key.raw
        if key.cooked and raw == b"\n" and want[sent : sent + 1] == b"\r":
            raw = b"\r"  # the line discipline turned it
        there = want[sent : sent + len(raw)]
        if there != raw and not self._may_be_bytes(there, raw):
            self.state = "mismatch"
            return
        sent += len(raw)
        self._sent = sent
        steps = self.entry.steps
        while self._reached <= sent:
            self.satisfied += 1
            if self.satisfied == len(steps):
                whole = self._conceal is None or self._same(self.text, self.entry.text)
                self.state = "matched" if whole else "mismatch"
                return
            self._reached += len(steps[self.satisfied].key.raw)

    def _may_be_bytes(self, want: bytes, got: bytes) -> bool:
        if self._conceal is None or len(want) != len(got):
            return False
        return all(a in {b, _MASK} or min(a, b) > 0x7F for a, b in zip(want, got, strict=True))

    def _feed_line(self, key: Key) -> None:
        want = self.entry
        if not self._line.apply(key):
            self.action = key.name
            acts_alike = self.action == want.action or self.strategy == "any"
            alike = acts_alike and self._same(self.text, want.text)
            self.state = "matched" if alike else "mismatch"
            if alike and key.raw == b"\n" and not key.cooked:
                self.line_feed_for_return = want.steps[-1].key.raw == b"\r"
            return
        text = self.text
        for number in range(self.satisfied, len(self._lines)):
            if self._may_be(self._lines[number], text):
                self.satisfied = number + 1
                break
        if not want.action and self._same(text, want.text):
            self.state = "matched"


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
