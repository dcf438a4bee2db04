"""The recorded input, split into entries: a line and the key that sends it.

Comparison strategies compare entries. An entry holds the keys of one or more input records. It
ends after the first action key (Enter, Escape, Ctrl-C, an arrow in a menu), and before a resize,
a signal, or a change between masked and plain. Output that was recorded between two keys (the
echo) is part of the entry. Answers of the terminal and focus reports belong to no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.errors import LimitError
from ptycassette.keys.lines import Line
from ptycassette.keys.reader import Key, KeyReader
from ptycassette.model.records import InputRecord, moment_us


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
