"""Digests of recorded secrets: whether a driver sends the recorded secret or another one.

A cassette holds masks where a secret was typed. Beside them its manifest may hold digests
(``optional.secret_digests``, see ``FORMAT.md``), so that two inputs that differ only in their
secret can be told apart. A cassette is public, so whoever reads it may try values:

- **A digest is cut to 32 bits.** Of a secret of 48 bits or more, tens of thousands of values
  fit it, however fast somebody computes. Two different secrets have the same digest once in
  four thousand million times.
- **Only what is in no dictionary has one.** ``guessing_bits`` counts only what looks random. A PIN,
  a password of words, a mail address, a name and a path have no digest. What was typed at a prompt
  for a secret has one for its own input alone, and none in a line that contains it.
- **One try costs 16 MiB and some 50 ms** (scrypt), and the salt is the cassette's id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from ptycassette.errors import ManifestError
from ptycassette.model import InputRecord, Manifest, lazy_pattern, resolved, visible
from ptycassette.timeline.match_entries import Entry, iter_entries

SECRET_DIGESTS_KEY: Final = "secret_digests"  # noqa: S105 - a name in the manifest
SCHEME = "scrypt-1"
LEAST_BITS = 48
"""What a secret must have, as ``guessing_bits`` counts. 97 of 100 random texts of 24 letters and
digits do, and of 32 hexadecimal digits; no text of words does."""
MOST_SECRETS = 16
"""Different secrets of a recording that get digests, and what one run computes at most twice."""
_MOST_DIGESTS = 512
_FromZero = Annotated[int, msgspec.Meta(ge=0)]
_BOUNDED = msgspec.Meta(max_length=_MOST_DIGESTS)

_PART = lazy_pattern(r"[A-Za-z0-9]+")
_UUID = lazy_pattern(r"\b" + "-".join(rf"([0-9a-fA-F]{{{n}}})" for n in (8, 4, 4, 4, 12)) + r"\b")
_RUN = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NO_HEX = lazy_pattern(r"[g-zG-Z]")
_LEAST_OF_PART = 20  # below it are words with a year, a number, a digit for a letter
_GAP = 3  # characters of a secret that equal its mask by accident


def guessing_bits(text: str) -> int:
    """A low estimate of the randomness of ``text``, in bits.

    Looks at runs of equal kind (letters, capitals, digits) in each part of letters and digits. A
    run of four letters or more may be a word and counts as one letter; many digits may be a date
    and count as three; a run that comes twice counts once.
    """
    whole = _UUID.sub(r"\1\2\3\4\5", text)
    return sum(
        bits for part in _PART.findall(whole) if (bits := _part_bits(part)) >= _LEAST_OF_PART
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
def digest_of(cassette_id: str, secret: str) -> str:
    """The digest of a secret: 8 hexadecimal digits. Takes 16 MiB, and 50 ms or so.

    Args:
        cassette_id: of the manifest.
        secret: its text; undecodable bytes as ``surrogateescape`` has them.
    """
    return hashlib.scrypt(
        secret.encode("utf-8", "surrogateescape"),
        salt=f"ptycassette:{cassette_id}".encode("utf-8", "surrogatepass"),
        n=1 << 14,
        r=8,
        p=1,
        dklen=4,
    ).hex()


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
