"""Comparison strategies: does the driver's input match a recorded entry?

- ``exact``: the same bytes.
- ``prompt``: the same text on the line once editing keys were applied, sent by the
  same key. CR and LF both send; a paste counts as its text.
- ``normalised``: as ``prompt``, after a normaliser went over both texts.
- ``semantic``: as ``prompt``, but the texts need only be alike enough to a scorer.
- ``any``: any input.
- ``custom``: as ``prompt``, but a function of the caller decides whether two texts match.

A recording has masks in place of typed secrets; ``EntryMatcher`` compares them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from ptycassette.cassette.secret_digests import LEAST_BITS, digest_of, guessing_bits
from ptycassette.cassette.timeline.match_entries import Entry, KeyStep, iter_entries, shown_keys
from ptycassette.cassette.timeline.match_text import (
    DEFAULT_THRESHOLD,
    Scorer,
    lexical_score,
    semantic_match,
)
from ptycassette.errors import ManifestError
from ptycassette.keys.lines import Line
from ptycassette.keys.reader import Key
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import InputRecord, Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

# Compares the keys of a driver with one recorded entry, key by key.


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
        """The driver's input in the form that messages show."""
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
        """Whether a whole text is the recorded one, as it is or after scrubbing."""
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
        """Decide with the keys so far, since no more will come."""
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
        """Any text matches: each character satisfies one recorded step."""
        typed, lines = len(self.text), self._lines
        while self.satisfied < len(lines) and len(lines[self.satisfied]) <= typed:
            self.satisfied += 1
        if not self.entry.action and self.satisfied == len(lines):
            self.state = "matched" if self._same(self.text, self.entry.text) else "mismatch"


# Digests of recorded secrets: whether a driver sends the recorded secret or another one.


SECRET_DIGESTS_KEY: Final = "secret_digests"  # noqa: S105 - a name in the manifest
SCHEME = "scrypt-1"
MOST_SECRETS = 16
"""Different secrets of a recording that get digests, and what one run computes at most twice."""
_MOST_DIGESTS = 512
_PART = lazy_pattern(r"[A-Za-z0-9]+")
_GAP = 3  # characters of a secret that equal its mask by accident
_FromZero = Annotated[int, msgspec.Meta(ge=0)]
_BOUNDED = msgspec.Meta(max_length=_MOST_DIGESTS)


class InputDigest(msgspec.Struct, frozen=True):
    """The digest of the characters ``start`` to ``end`` of an entry's text, as it was typed.

    ``entry`` is its number, ``seq`` that of its last record.
    """

    entry: int
    seq: int
    start: _FromZero
    end: _FromZero
    digest: str


class WordDigest(msgspec.Struct, frozen=True):
    """The digest of a word of ``command.argv``, counted from 0, as it was given."""

    word: _FromZero
    digest: str


class _Stored(msgspec.Struct, frozen=True):
    """``optional.secret_digests``."""

    scheme: str
    inputs: Annotated[tuple[InputDigest, ...], _BOUNDED] = ()
    argv: Annotated[tuple[WordDigest, ...], _BOUNDED] = ()


class RecordedSecrets:
    """The digests of secrets in a cassette; checks whether other texts have the same secrets.

    Computes at most ``2 * MOST_SECRETS`` digests. After that every secret counts as the same,
    so that no cassette makes its reader compute for ever.
    """

    def __init__(self, cassette_id: str, stored: _Stored) -> None:
        self._id = cassette_id
        self._stored = stored
        self._computed: dict[str, str] = {}

    def of_entry(self, entry: Entry) -> Callable[[str], bool] | None:
        """A function that checks a line for the secrets of ``entry``; None without digests."""
        found = [
            d for d in self._stored.inputs if (d.entry, d.seq) == (entry.number, entry.last_seq)
        ]
        if not found:
            return None
        if entry.masked:  # all of it is the secret
            return lambda line: all(len(line) == d.end and self._is(line, d.digest) for d in found)
        return lambda line: all(self._is(line[d.start : d.end], d.digest) for d in found)

    def in_argv(self, argv: Sequence[str]) -> bool:
        """Whether arguments, the program first, have the same secrets as the recorded ones."""
        return all(
            d.word < len(argv) and self._is(argv[d.word], d.digest) for d in self._stored.argv
        )

    def _is(self, secret: str, digest: str) -> bool:
        if secret not in self._computed:
            if len(self._computed) >= 2 * MOST_SECRETS:
                return True
            self._computed[secret] = digest_of(self._id, secret)
        return self._computed[secret] == digest


def read_secrets(manifest: Manifest, *, where: str) -> RecordedSecrets | None:
    """The digests in a manifest; None if it has none that this version knows.

    Args:
        manifest: the manifest of the cassette.
        where: its name in errors.

    Raises:
        ManifestError: it is malformed.
    """
    value = (manifest.optional or {}).get(SECRET_DIGESTS_KEY)
    if value is None or (isinstance(value, dict) and value.get("scheme") != SCHEME):
        return None
    try:
        stored = msgspec.convert(value, resolved(_Stored))
    except msgspec.ValidationError as exc:
        raise ManifestError(
            f"optional.{SECRET_DIGESTS_KEY}: {visible(str(exc), limit=300)}", where=where
        ) from exc
    return RecordedSecrets(manifest.id, stored)


# -- at recording --------------------------------------------------------------------------


def secret_spans(raw: str, masked: str) -> list[tuple[int, int]]:
    """Where a line was masked: starts and ends. None where the two texts cannot be aligned."""
    spans: list[tuple[int, int]] = []
    if len(raw) != len(masked):
        return spans
    for at, (one, other) in enumerate(zip(raw, masked, strict=True)):
        if one == other:
            continue
        gap = masked[spans[-1][1] : at] if spans else " "
        if len(gap) <= _GAP and (not gap or gap.isalnum()):
            spans[-1] = (spans[-1][0], at + 1)
        else:
            spans.append((at, at + 1))
    return spans


def input_digests(
    cassette_id: str,
    pairs: Iterable[tuple[Entry, Entry]],
    *,
    apart_from: Sequence[str] = (),
) -> list[InputDigest]:
    """The digests of what was masked in the entries of a recording.

    Args:
        cassette_id: of the recording.
        pairs: each entry as it was typed, and as it is recorded.
        apart_from: texts that were typed at prompts for secrets: they get no digest anywhere.
    """
    found: list[InputDigest] = []
    secrets: set[str] = set()
    for raw, shown in pairs:
        if raw.text == shown.text or shown.masked or raw.last_seq != shown.last_seq:
            continue
        for start, end in secret_spans(raw.text, shown.text):
            secret = raw.text[start:end]
            known = any(text in secret or secret in text for text in apart_from)
            if known or guessing_bits(secret) < LEAST_BITS:
                continue
            secrets.add(secret)
            if len(secrets) > MOST_SECRETS or len(found) == _MOST_DIGESTS:
                return found
            digest = digest_of(cassette_id, secret)
            found.append(InputDigest(shown.number, shown.last_seq, start, end, digest))
    return found


def masked_digests(
    cassette_id: str,
    entries: Iterable[Entry],
    real: Iterable[InputRecord],
    *,
    but: Sequence[InputDigest] = (),
) -> list[InputDigest]:
    """The digests of lines that are masked as a whole, where they cannot be guessed.

    Args:
        cassette_id: of the recording.
        entries: the masked ones of those that are recorded.
        real: the input records with what was typed.
        but: the digests that the recording has already.
    """
    waiting: dict[int, Entry | None] = {}
    for one in entries:  # lines in one record cannot be distinguished
        waiting[one.last_seq] = None if one.last_seq in waiting else one
    secrets = {one.digest for one in but}
    found: list[InputDigest] = []
    for typed in iter_entries(record for record in real if record.masked):
        entry = waiting.get(typed.last_seq)
        if entry is None or entry.seq != typed.seq or guessing_bits(typed.text) < LEAST_BITS:
            continue
        digest = digest_of(cassette_id, typed.text)
        secrets.add(digest)
        if len(secrets) > MOST_SECRETS or len(but) + len(found) == _MOST_DIGESTS:
            break
        found.append(InputDigest(entry.number, entry.last_seq, 0, len(typed.text), digest))
    return found


def word_digests(cassette_id: str, argv: Sequence[str], shown: Sequence[str]) -> list[WordDigest]:
    """The digests of arguments that were scrubbed: ``argv`` as given, ``shown`` as recorded."""
    found: list[WordDigest] = []
    for number, (word, other) in enumerate(zip(argv, shown, strict=True)):
        if word == other or len(found) == MOST_SECRETS:
            continue
        if guessing_bits(_removed(word, set(_PART.findall(other)))) >= LEAST_BITS:
            found.append(WordDigest(number, digest_of(cassette_id, word)))
    return found


def _removed(word: str, public: set[str]) -> str:
    """The part of a word that is missing in its recorded form."""
    return _PART.sub(lambda part: "" if part[0] in public else part[0], word)


def stored_secrets(inputs: Sequence[InputDigest], argv: Sequence[WordDigest]) -> dict[str, Any]:
    """The entry for ``optional``; empty if there are no digests."""
    if not inputs and not argv:
        return {}
    stored = _Stored(SCHEME, tuple(inputs), tuple(argv))
    return {SECRET_DIGESTS_KEY: msgspec.json.decode(msgspec.json.encode(stored))}


Order = Literal["strict", "loose"]
SecretsPolicy = Literal["same", "any"]

_NAMED: tuple[Strategy, ...] = ("exact", "normalised", "prompt", "semantic", "any")
"""What can be asked for by name; ``custom`` needs a function."""

_MASKED = re.compile("x{3,}|[^\\x00-\\x7f]{3,}")
"""What masks look like; where none is, nothing is concealed, which costs time."""


def strategy_named(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        ValueError: no strategy has that name; the message lists them.
    """
    for known in _NAMED:
        if name == known:
            found: Strategy = known
            return found
    raise ValueError(f"a comparison strategy is one of {', '.join(_NAMED)}, not {name!r}")


def order_named(name: str) -> Order:
    """The order of that name.

    Raises:
        ValueError: no order has that name; the message lists them.
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

    The key that ends both does not count, as most lines end with Enter. If two are equally
    similar, the one closer to ``number`` is nearest.

    Args:
        entries: in their order.
        text: the input.
        number: the number of the entry to look around.
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
