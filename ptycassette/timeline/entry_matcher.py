"""Compares the keys of a driver with one recorded entry, key by key.

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

from collections.abc import Callable
from typing import Literal

from ptycassette.keys.lines import Line
from ptycassette.keys.reader import Key
from ptycassette.timeline.match_entries import Entry, KeyStep, shown_keys

Strategy = Literal["exact", "normalised", "prompt", "semantic", "any", "custom"]
State = Literal["open", "matched", "mismatch"]

_MASK = ord("x")
_MASKS = {"x", "*"}


WRONG_KEY_US = 2_000_000
"""How long a wrong key may wait for its correction where no key was recorded that ends a line, such
as ``q`` in a pager. There the program obeyed each key, so the driver waits for a reaction."""


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
    def unchecked(self) -> bool:
        """Whether a secret was sent, and the recording has nothing to compare it with."""
        return self.entry.masked and self._holds_secrets is None and bool(set(self.text) - _MASKS)

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
    def astray(self) -> bool:
        """Whether the line so far is not the beginning of the recorded one; editing may fix it."""
        if self.state != "open" or not self.raw or self.strategy in {"exact", "any"}:
            return False
        text, lines = self.text, self._lines[max(0, self.satisfied - 1) :]
        return not any(self._may_be(line[: len(text)], text) for line in lines)

    @property
    def patience_us(self) -> int | None:
        """Call ``settle`` when no key came for so long; None while only a key can decide.

        The key that ends a line decides, however slowly the driver types.
        """
        line = self.entry.action or self.entry.cut
        return WRONG_KEY_US if self.strategy == "prompt" and not line and self.astray else None

    def _same(self, got: str, want: str) -> bool:
        """Whether a whole text is the recorded one, unchanged or once scrubbed."""
        self.only_secret = False
        if self._plainly(got, want):
            if self.entry.masked and self._holds_secrets is not None and set(got) - _MASKS:
                self.only_secret = not self._holds_secrets(got)
            return not self.only_secret
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

    def settle(self) -> None:
        """Decide by what there is, as no more keys come."""
        strict = self.strategy in {"exact", "prompt"}
        sent = self.strategy == "any" or not self.entry.action
        same = sent and not strict and self._same(self.text, self.entry.text)
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
        if self.strategy == "any":
            self._count_characters()
            return
        text = self.text
        for number in range(self.satisfied, len(self._lines)):
            if self._may_be(self._lines[number], text):
                self.satisfied = number + 1
                break
        more = text != want.text and want.text.startswith(text)  # also where it is alike already
        if not want.action and not more and self._same(text, want.text):
            self.state = "matched"

    def _count_characters(self) -> None:
        """Any text will do: as many characters satisfy as many recorded steps."""
        typed, lines = len(self.text), self._lines
        while self.satisfied < len(lines) and len(lines[self.satisfied]) <= typed:
            self.satisfied += 1
        if not self.entry.action and self.satisfied == len(lines):
            self.state = "matched" if self._same(self.text, self.entry.text) else "mismatch"
