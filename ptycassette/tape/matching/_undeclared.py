"""What in the questions of a tape looks volatile and is not declared.

A tape is one run, so nothing shows what would vary. What looks like it: a number or a date of the
time of the recording, an id that nobody but the CLI made, a path of temporary files.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice

from ptycassette.model.visible_text import visible
from ptycassette.tape.matching._misses import leaves
from ptycassette.tape.matching._recorded import Recorded, TapeExchange, question_of

_INDEX = re.compile(r"\[\d+\]")
_HEX = re.compile(r"\b[0-9a-f]{24,}\b")
_RANDOM = re.compile(r"\b(?:[a-z]{2,12}[_-])?[A-Za-z0-9]{20,64}\b")
_TEMPORARY = re.compile(r"/(?:tmp|var/folders|run/user)/[\w./-]*\w")
_EPOCH = re.compile(r"\b(1\d{9})(?:\d{3}|\.\d+)?\b")
_MOST_FINDINGS = 20
_MOST_CANDIDATES = 1000
_LONGEST = 4096
"""Of a text that is looked for in answers: one may begin in one block and end in another."""
_DAY_S = 86_400


def undeclared(recorded: Recorded, day: str | None) -> Iterator[tuple[int, str]]:
    """Entries and what to declare, each place once, at most twenty.

    What an answer brought is no finding.
    """
    candidates = list(islice(_candidates(recorded, day), _MOST_CANDIDATES))
    served = _served(recorded, {text for _, _, _, text in candidates})
    seen: set[str] = set()
    for entry, place, what, text in candidates:
        if text in served or place in seen:
            continue
        seen.add(place)
        yield entry, f"{place}: {what} '{visible(text, limit=80)}'"
        if len(seen) == _MOST_FINDINGS:
            return


def _candidates(recorded: Recorded, day: str | None) -> Iterator[tuple[int, str, str, str]]:
    """Entry, place, what it looks like, and the text, each text once."""
    read: set[bytes] = set()
    found: set[str] = set()
    for exchange in recorded.exchanges:
        for path, value in _leaves_of(recorded, exchange).items():
            digest = sha256(value.encode("utf-8", "surrogatepass")).digest()
            if digest in read:  # a conversation is sent again with each of its questions
                continue
            read.add(digest)
            for text, what in _volatile(value, day):
                if text not in found:
                    found.add(text)
                    yield exchange.entry.entry, _INDEX.sub("[*]", path), what, text


def _served(recorded: Recorded, texts: set[str]) -> set[str]:
    """Those of some texts that stand in an answer."""
    left = {text: text.encode("utf-8", "surrogatepass") for text in texts}
    served: set[str] = set()
    for exchange in recorded.exchanges if left else ():
        tail = b""
        for _, data in exchange.pieces():
            block = tail + data
            found = [text for text, wanted in left.items() if wanted in block]
            served.update(found)
            for text in found:
                del left[text]
            tail = block[-_LONGEST:]
    return served


def _leaves_of(recorded: Recorded, exchange: TapeExchange) -> dict[str, str]:
    return leaves(question_of(exchange), exchange.entry.tokens, recorded.compared)


def _volatile(value: str, day: str | None) -> Iterator[tuple[str, str]]:
    for match in _TEMPORARY.finditer(value):
        yield match[0], "a temporary path"
    for match in _HEX.finditer(value):
        yield match[0], "an id"
    for match in _RANDOM.finditer(value):
        if _looks_random(match[0]):
            yield match[0], "an id"
    if day is not None:
        yield from _of_the_day(value, dt.date.fromisoformat(day))


def _looks_random(text: str) -> bool:
    """Digits among small and capital letters: no word, and no number."""
    tail = re.split(r"[_-]", text)[-1]
    kinds = (str.isdigit, str.islower, str.isupper)
    return all(any(kind(char) for char in tail) for kind in kinds)


def _of_the_day(value: str, day: dt.date) -> Iterator[tuple[str, str]]:
    for written in (
        f"{day:%Y-%m-%d}",
        f"{day:%d %b %Y}",
        f"{day:%b %d %Y}",
        f"{day:%B} {day.day}, {day:%Y}",
    ):
        if written in value:
            yield written, "the date"
    midnight = dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()
    for match in _EPOCH.finditer(value):
        if midnight - _DAY_S <= int(match[1]) < midnight + 2 * _DAY_S:
            yield match[0], "a time"
