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

import hashlib
import math
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from ptycassette.errors import LimitError, ManifestError
from ptycassette.keys.reader import Key, KeyReader, Line
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import InputRecord, Manifest, moment_us
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

# Short digests of the secrets that a cassette masks, to see whether two are the same.
#
# A cassette is public, so every reader may try values:
#
# - **A digest is cut to 32 bits.** Tens of thousands of values of 48 bits or more fit it, however
#   fast the search is. Two different secrets have the same digest once in four thousand million
#   times.
# - **Only values that are in no dictionary have one.** ``guessing_bits`` counts only random-looking
#   text. A PIN, a password of words, a mail address, a name and a path have no digest. Input at a
#   prompt for a secret has one for that input alone, and none in a line that contains it.
# - **One try costs 16 MiB and some 50 ms** (scrypt), and each cassette has its own salt: its id for
#   input, the key of its tape for model traffic.


LEAST_BITS = 48
"""What a secret must have, as ``guessing_bits`` counts. 97 of 100 random texts of 24 letters and
digits do, and of 32 hexadecimal digits; no text of words does."""
_DIGEST_PART = lazy_pattern(r"[A-Za-z0-9]+")
_UUID = lazy_pattern(r"\b" + "-".join(rf"([0-9a-fA-F]{{{n}}})" for n in (8, 4, 4, 4, 12)) + r"\b")
_RUN = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NO_HEX = lazy_pattern(r"[g-zG-Z]")
_LEAST_OF_PART = 20  # below it are words with a year, a number, a digit for a letter


def guessing_bits(text: str) -> int:
    """A low estimate of the randomness of ``text``, in bits.

    Looks at runs of equal kind (letters, capitals, digits) in each part of letters and digits. A
    run of four letters or more may be a word and counts as one letter; many digits may be a date
    and count as three; a run that comes twice counts once.
    """
    whole = _UUID.sub(r"\1\2\3\4\5", text)
    return sum(
        bits for part in _DIGEST_PART.findall(whole) if (bits := _part_bits(part)) >= _LEAST_OF_PART
    )


def _part_bits(part: str) -> int:
    hexadecimal = _NO_HEX.search(part) is None
    letter, word = (2, 4) if hexadecimal else (4, 4)
    bits = 0
    for run in set(_RUN.findall(part)):
        if run.isdigit():
            bits += min(3 * len(run), 9)
        else:
            bits += min(letter * len(run), 2 * letter) if len(run) < 4 else word
    return bits


@lru_cache(maxsize=256)
def digest_of(salt: str, secret: str) -> str:
    """The digest of a secret: 8 hexadecimal digits. Takes 16 MiB, and 50 ms or so.

    Args:
        salt: of the cassette: the id of its manifest, or the key of its tape in hexadecimal.
        secret: its text; undecodable bytes as ``surrogateescape`` has them.
    """
    return hashlib.scrypt(
        secret.encode("utf-8", "surrogateescape"),
        salt=f"ptycassette:{salt}".encode("utf-8", "surrogatepass"),
        n=1 << 14,
        r=8,
        p=1,
        dklen=4,
    ).hex()


# The recorded input, split into entries: a line and the key that sends it.
#
# Comparison strategies compare entries. An entry holds the keys of one or more input records. It
# ends after the first action key (Enter, Escape, Ctrl-C, an arrow in a menu), and before a resize,
# a signal, or a change between masked and plain. Output that was recorded between two keys (the
# echo) is part of the entry. Answers of the terminal and focus reports belong to no entry.


class KeyStep(msgspec.Struct, frozen=True):
    """One recorded key, the record that completes it, and the line after it."""

    key: Key
    seq: int
    line: str


MOST_STEPS = 1024
"""An entry without a key that ends it is cut there: each step keeps the line up to it."""
_MOST_CHARACTERS = 4 << 20
"""And where the lines of its steps have so many characters together."""
_READ_BYTES = 65_536
MOST_KEYS = 500_000
"""More keys than that are not compared; a paste is one key, and people press a few in a second."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of recorded input that is compared as a whole.

    ``number`` counts from 1 over the recording. ``text`` is the line as edited,
    ``action`` the name of the key that ended it ("" when none did). ``raw`` are
    the recorded bytes. ``cut``: no key ended it; what follows may continue the line.
    """

    number: int
    seq: int
    last_seq: int
    t_us: int
    last_t_us: int
    steps: tuple[KeyStep, ...]
    raw: bytes
    text: str
    action: str
    masked: bool = False
    cut: bool = False

    @property
    def shown(self) -> str:
        """The entry for people: its text, and the action key by name."""
        return shown_keys(self.text, self.action)


def shown_keys(text: str, action: str) -> str:
    """A line and the key that ended it, as messages write them: ``hello<enter>``."""
    return f"{text}<{action}>" if action else text


def read_entries(inputs: Iterable[InputRecord]) -> tuple[Entry, ...]:
    """Cut recorded input into entries.

    Args:
        inputs: input records in the order of ``seq``, resizes and signals included.

    Raises:
        LimitError: there are more than ``MOST_KEYS``.
    """
    return tuple(iter_entries(inputs, most_keys=MOST_KEYS))


def iter_entries(inputs: Iterable[InputRecord], *, most_keys: int | None = None) -> Iterator[Entry]:
    """As ``read_entries``, one by one, so that few are held; no limit unless one is given."""
    cutter = _Cutter(most_keys)
    for record in inputs:
        cutter.take(record)
        yield from cutter.taken()
    cutter.close()
    yield from cutter.taken()


class _Cutter:
    def __init__(self, most_keys: int | None) -> None:
        self._keys_left = most_keys
        self._entries: list[Entry] = []
        self._cut = 0
        self._reader = KeyReader()
        self._steps: list[KeyStep] = []
        self._line = Line()
        self._first: InputRecord | None = None
        self._last: InputRecord | None = None
        self._masked = False
        self._characters = 0

    def take(self, record: InputRecord) -> None:
        if record.source == "terminal":
            return
        if record.kind != "input":
            self.close(cut=True)
            return
        if record.masked != self._masked:
            self.close(cut=True)
            self._masked = record.masked
        if (
            self._last is not None
            and self._reader.waits
            and moment_us(record) - moment_us(self._last) > 50_000
        ):
            # After this long, an Escape is a key of its own: no sequence takes that long.
            self._add(self._reader.settle(), self._last)
        data = record.bytes or b""
        if record.paste and not data.startswith(b"\x1b[200~"):
            text = data.decode("utf-8", "surrogateescape")
            self._add(self._reader.flush(), record)
            self._add(
                [Key("paste", data, text=text.replace("\r\n", "\n").replace("\r", "\n"))], record
            )
        else:
            for at in range(0, len(data), _READ_BYTES):
                self._add(self._reader.feed(data[at : at + _READ_BYTES]), record)
        self._last = record

    def taken(self) -> list[Entry]:
        """The entries that were completed since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def close(self, *, cut: bool = False) -> None:
        if self._last is not None:
            self._add(self._reader.flush(), self._last)
        self._finish("", cut=cut)

    def _add(self, keys: list[Key], record: InputRecord) -> None:
        self._count(len(keys), record)
        for key in keys:
            if key.kind in {"answer", "focus"}:
                continue
            self._first = self._first or record
            self._last = record
            edits = self._line.apply(key)
            self._steps.append(KeyStep(key, record.seq, self._line.text))
            self._characters += len(self._steps[-1].line)
            full = len(self._steps) >= MOST_STEPS or self._characters >= _MOST_CHARACTERS
            if not edits or full:
                self._finish("" if edits else key.name, cut=edits)

    def _count(self, keys: int, record: InputRecord) -> None:
        if self._keys_left is None:
            return
        self._keys_left -= keys
        if self._keys_left < 0:
            raise LimitError(
                f"the recording holds more than {MOST_KEYS} keys of input",
                where=f"seq {record.seq}",
                hint="replays do not compare so many keys; record long texts as pastes",
            )

    def _finish(self, action: str, *, cut: bool) -> None:
        if self._steps and self._first is not None and self._last is not None:
            self._cut += 1
            self._entries.append(
                Entry(
                    number=self._cut,
                    seq=self._first.seq,
                    last_seq=self._steps[-1].seq,
                    t_us=moment_us(self._first),
                    last_t_us=moment_us(self._last),
                    steps=tuple(self._steps),
                    raw=b"".join(step.key.raw for step in self._steps),
                    text=self._line.text,
                    action=action,
                    masked=self._masked,
                    cut=cut,
                )
            )
        self._steps, self._line, self._first, self._characters = [], Line(), None, 0


# How alike two texts are: a lexical score without a model, for any language.
#
# The score is the Dice coefficient over words and over pairs of neighbouring characters, whichever
# is higher, after NFKC and case folding. Words alone would fail for scripts that write none
# (Chinese, Japanese, Thai); pairs alone would call long texts alike that share an alphabet.


Scorer = Callable[[str, str], float]
"""``scorer(actual, expected)`` is between 0 (nothing in common) and 1 (the same)."""

DEFAULT_THRESHOLD = 0.75
_WORD = re.compile(r"\w+")


class SemanticMatch(msgspec.Struct, frozen=True):
    """The outcome of a comparison by meaning; true when it matched."""

    matched: bool
    score: float
    threshold: float
    reason: str = ""

    def __bool__(self) -> bool:
        return self.matched


def lexical_score(actual: str, expected: str) -> float:
    """How alike two texts are, from 0 to 1. Equal texts are 1, also without any word in them."""
    left, right = _folded(actual), _folded(expected)
    if left == right:
        return 1.0
    return max(
        _dice(Counter(_WORD.findall(left)), Counter(_WORD.findall(right))),
        _dice(_pairs(left), _pairs(right)),
    )


def embedding_scorer(embed: Callable[[str], Sequence[float]]) -> Scorer:
    """A scorer from an embedding model: the cosine of two vectors, 0 where one is zero.

    Args:
        embed: text to vector, by whatever model is installed; called twice per score.
    """

    def score(actual: str, expected: str) -> float:
        left, right = embed(actual), embed(expected)
        lengths = math.hypot(*left) * math.hypot(*right)
        dot = sum(one * other for one, other in zip(left, right, strict=True))
        return min(1.0, max(-1.0, dot / lengths)) if lengths else 0.0

    return score


def semantic_match(
    actual: str,
    expected: str,
    threshold: float = DEFAULT_THRESHOLD,
    scorer: Scorer | None = None,
) -> SemanticMatch:
    """Whether ``actual`` has the same meaning as ``expected``.

    An empty expectation matches nothing: it would match everything, and a test
    that rests on it could not fail.

    Args:
        actual: the text to judge.
        expected: the text to judge by.
        threshold: the least score that matches, above 0 and at most 1.
        scorer: see ``Scorer``; ``lexical_score`` when None.

    Raises:
        ValueError: the threshold or a score of the scorer is out of range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is above 0 and at most 1, not {threshold}")
    if not expected.strip():
        return SemanticMatch(False, 0.0, threshold, "the expectation is empty")
    score = float((scorer or lexical_score)(actual, expected))
    if not -1.0 <= score <= 1.000001:
        raise ValueError(f"a scorer returns at most 1 (and a cosine at least -1), not {score}")
    return SemanticMatch(score >= threshold, score, threshold)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _pairs(text: str) -> Counter[str]:
    packed = "".join(char for char in text if char.isalnum() or unicodedata.combining(char))
    if len(packed) == 1:
        return Counter([packed])
    return Counter(packed[at : at + 2] for at in range(len(packed) - 1))


def _dice(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


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
    """The digests of the masked text in the entries of a recording.

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
        real: the input records with the typed text.
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
            entry: the recorded entry.
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
