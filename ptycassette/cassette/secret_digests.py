"""Short digests of the secrets that a cassette masks, to see whether two are the same.

A cassette is public, so every reader may try values:

- **A digest is cut to 32 bits.** Tens of thousands of values of 48 bits or more fit it, however
  fast the search is. Two different secrets have the same digest once in four thousand million
  times.
- **Only values that are in no dictionary have one.** ``guessing_bits`` counts only random-looking
  text. A PIN, a password of words, a mail address, a name and a path have no digest. Input at a
  prompt for a secret has one for that input alone, and none in a line that contains it.
- **One try costs 16 MiB and some 50 ms** (scrypt), and each cassette has its own salt: its id
  for input, the key of its tape for model traffic.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from ptycassette.model.re2_engine import lazy_pattern

LEAST_BITS = 48
"""What a secret must have, as ``guessing_bits`` counts. 97 of 100 random texts of 24 letters and
digits do, and of 32 hexadecimal digits; no text of words does."""
_PART = lazy_pattern(r"[A-Za-z0-9]+")
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
