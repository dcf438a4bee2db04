"""Convert output from another charset to UTF-8, which a cassette and its emulator expect."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator

from ptycassette.errors import UsageError
from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.model.visible_text import visible

_SEQUENCE = "\x1b[1;31m\r\n"


def check_charset(name: str) -> None:
    """Check that output in a charset can be converted.

    Raises:
        UsageError: Python has no such charset, or its escape sequences are not ASCII.
    """
    try:
        as_ascii = _SEQUENCE.encode(name) == _SEQUENCE.encode()
    except (LookupError, UnicodeError):
        as_ascii = False
    if not as_ascii:
        raise UsageError(
            f"not a charset of terminals: {visible(name, limit=40)}",
            hint="use a charset of Python, such as cp437, latin-1, koi8-r or euc-jp",
        )


class InUtf8:
    """Events with output and input converted from a charset; each iteration starts anew.

    Bytes that are invalid in the charset become U+FFFD.
    """

    def __init__(self, events: Iterable[JournalEvent], charset: str) -> None:
        self._events, self._charset = events, charset

    def __iter__(self) -> Iterator[JournalEvent]:
        decoder = codecs.getincrementaldecoder(self._charset)
        shown, typed = decoder("replace"), decoder("replace")
        t_us = 0
        for event in self._events:
            t_us = event.t_us
            match event:
                case Output():
                    yield from _made(event.t_us, event.data, shown, Output)
                case Typed():
                    yield from _made(event.t_us, event.data, typed, Typed)
                case _:
                    yield event
        yield from _made(t_us, b"", shown, Output, final=True)
        yield from _made(t_us, b"", typed, Typed, final=True)


def _made(
    t_us: int,
    data: bytes,
    decoder: codecs.IncrementalDecoder,
    kind: Callable[..., JournalEvent],
    *,
    final: bool = False,
) -> Iterator[JournalEvent]:
    text = decoder.decode(data, final)
    if text:
        yield kind(t_us, text.encode("utf-8", "replace"))


def undecodable(events: Iterable[JournalEvent]) -> int:
    """How many outputs contain bytes that are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    found = 0
    for event in events:
        if isinstance(event, Output):
            try:
                decoder.decode(event.data)
            except UnicodeDecodeError:
                found += 1
                decoder.reset()
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        found += 1
    return found
