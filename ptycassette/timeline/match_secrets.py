"""Digests of recorded secrets: whether a driver sends the recorded secret or another one.

A cassette holds masks where a secret was typed. Beside them its manifest may hold digests
(``optional.secret_digests``, see ``FORMAT.md``), so that two inputs that differ only in their
secret can be told apart. ``ptycassette.cassette.secret_digests.digest_of`` makes them; its module
explains what it costs to try values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final

import msgspec

from ptycassette.cassette.secret_digests import LEAST_BITS, digest_of, guessing_bits
from ptycassette.errors import ManifestError
from ptycassette.model.events import InputRecord
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.model.manifest import Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible
from ptycassette.timeline.match_entries import Entry, iter_entries

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
    """The digests in a manifest; None where it has none that this version knows.

    Args:
        manifest: of the cassette.
        where: what errors call it.

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
    for one in entries:  # of lines in one record nobody knows which is which
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
