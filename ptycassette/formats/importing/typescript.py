"""Import the files of ``script`` (util-linux): a typescript, its timing, and a log of the input.

Source: script(1), ``term-utils/script.c`` and ``script-playutils.c``. A line of the classic timing
is ``INTERVAL BYTES``. A line of the advanced one is ``O INTERVAL BYTES`` for output, ``I`` for
input, ``S INTERVAL SIGWINCH ROWS=.. COLS=..`` for a signal, ``H INTERVAL NAME VALUE`` for a fact.
Intervals count from the entry before. Each log begins with a line "Script started on ..." and ends
with a line "Script done on ..."; neither was on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ptycassette.formats.importing.session import (
    BadImportError,
    ImportedSession,
    Skipped,
    checked_session,
    checked_size,
    exited,
    microseconds,
)
from ptycassette.model.records import Finished, JournalEvent, Output, Resized, Signalled, Typed

_STARTED = b"Script started on "
_DONE = re.compile(rb"\n?(?:Script done on [^\n]*\n?)?")
_SECONDS = re.compile(r"\d{1,10}(?:\.\d{1,12})?")
_BYTES = re.compile(r"\d{1,10}")
_ATTRIBUTE = re.compile(r'\b(COLUMNS|LINES|TERM)="([^"]*)"')
_COMMAND = re.compile(r'\bCOMMAND="(.*?)"(?=(?: [A-Z]+="[^"]*")* ?(?:<[^>"]*>)?\]$)')
"""script escapes no quotes in it, so its end is known by what follows."""
_CLASSIC_FIELDS = 2
_MAX_LINE_BYTES = 1 << 16
_MOST_LINES, _LINE_BYTES = 100_000, 20
_RESIZE = re.compile(r"SIGWINCH ROWS=(\d{1,5}) COLS=(\d{1,5})")
_SIGNAL = re.compile(r"SIG([A-Z0-9]{2,10})\b.*")


def read_typescript(
    data: bytes, *, beside: Mapping[str, bytes], partial: bool = False
) -> ImportedSession:
    """The session of a typescript.

    Args:
        data: the typescript.
        beside: ``timing``: the timing file, which is required. ``input_log``: the log of the
            input. Without it, input is read from the typescript if the timing shows that both
            are one file (``script --log-io``).
        partial: read broken files up to the fault.

    Raises:
        BadImportError: they are broken, or do not belong together; the message has the line of
            the timing.
    """
    timing = beside.get("timing")
    if timing is None:
        raise BadImportError("a typescript has no times; give its timing file: --timing FILE")
    most = _MOST_LINES + (len(data) + len(timing)) // _LINE_BYTES
    if timing.count(b"\n") > most:
        raise BadImportError(f"more than {most} lines in the timing; split the recording")
    facts = _facts(data, timing)
    return checked_session(
        lambda: _events(_Logs(data, beside.get("input_log"), facts), timing),
        partial=partial,
        file_bytes=len(data) + sum(map(len, beside.values())),
        size=checked_size(_number(facts, "LINES", 24), _number(facts, "COLUMNS", 80), "the head"),
        argv=("sh", "-c", facts["COMMAND"]) if facts.get("COMMAND") else (),
        term=facts.get("TERM"),
        recorded_at=_moment(facts.get("START_TIME", "")),
        size_known="LINES" in facts and "COLUMNS" in facts,
        made_by="script" if data.startswith(_STARTED) else None,
    )


def _facts(data: bytes, timing: bytes) -> dict[str, str]:
    """The facts in the first line of the typescript, and in the timing."""
    facts: dict[str, str] = {}
    if data.startswith(_STARTED):
        first = data[: data.find(b"\n", 0, _MAX_LINE_BYTES)].decode("utf-8", "replace")
        facts = dict(_ATTRIBUTE.findall(first))
        if (command := _COMMAND.search(first.rstrip())) is not None:
            facts["COMMAND"] = command[1]
        facts["START_TIME"] = first[len(_STARTED) :].partition(" [")[0]
    for _, line in _lines(timing):
        kind, _, rest = line.partition(" ")
        if kind == "H":
            name, _, value = rest.partition(" ")[2].partition(" ")
            facts[name] = value
    return facts


def _number(facts: Mapping[str, str], name: str, default: int) -> int:
    text = facts.get(name, "")
    return int(text) if _BYTES.fullmatch(text) and int(text) else default


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None  # a date in words, as old versions wrote it
    return moment if moment.tzinfo is not None else moment.astimezone()


class _Logs:
    """The bytes of both logs, consumed from the beginning."""

    def __init__(self, output: bytes, typed: bytes | None, facts: Mapping[str, str]) -> None:
        shared = facts.get("INPUT_LOG", "?") == facts.get("OUTPUT_LOG", "")
        self._data = {"O": output, "I": typed if typed is not None else b""}
        self._at = {kind: _begin(data) for kind, data in self._data.items()}
        self._log = {"O": "O", "I": "O" if shared and typed is None else "I"}
        self.has_input = typed is not None or shared

    def take(self, kind: str, count: int, where: str) -> bytes:
        log = self._log[kind]
        begin = self._at[log]
        data = self._data[log][begin : begin + count]
        if len(data) < count:
            name = "typescript" if log == "O" else "log of the input"
            raise BadImportError(
                f"{where}: {count} bytes are announced, and the {name} has {len(data)} more"
            )
        self._at[log] = begin + count
        return data

    def untimed(self) -> bool:
        """Whether there is output after the last entry of the timing."""
        return _DONE.fullmatch(self._data["O"][self._at["O"] :]) is None


def _begin(data: bytes) -> int:
    """The end of the first line, which ``script`` itself has written."""
    return data.find(b"\n") + 1 if data.startswith(_STARTED) else 0


def _lines(timing: bytes) -> Iterator[tuple[str, str]]:
    """Place and text of each line that is not empty."""
    number, end = 0, 0
    while end < len(timing):
        begin, number = end, number + 1
        stop = timing.find(b"\n", begin, begin + _MAX_LINE_BYTES)
        if stop < 0 and len(timing) - begin > _MAX_LINE_BYTES:
            raise BadImportError(f"timing line {number}: it is longer than {_MAX_LINE_BYTES} bytes")
        end = len(timing) if stop < 0 else stop + 1
        if line := timing[begin:end].strip():
            yield f"timing line {number}", line.decode("utf-8", "replace")


def _events(logs: _Logs, timing: bytes) -> Iterator[JournalEvent | Skipped]:
    t_us = 0
    said: dict[str, str] = {}
    for where, line in _lines(timing):
        fields = line.split(" ", 2)
        kind = "O" if len(fields) == _CLASSIC_FIELDS else fields[0]
        if kind not in {"O", "I", "S", "H"} or len(fields) < _CLASSIC_FIELDS:
            raise BadImportError(f"{where}: not an entry of a timing file")
        interval, value = fields[-2], fields[-1]
        if _SECONDS.fullmatch(interval) is None:
            raise BadImportError(f"{where}: the interval is not a number of seconds")
        if kind == "H":
            name, _, said[name] = value.partition(" ")
            continue
        t_us += microseconds(float(interval), where)
        microseconds(t_us / 1e6, where)
        yield _signal(t_us, value, where) if kind == "S" else _data(t_us, kind, value, logs, where)
    if logs.untimed():
        yield Skipped("output behind the last entry of the timing")
    yield _end(t_us, said)


def _end(t_us: int, said: Mapping[str, str]) -> Finished:
    duration, status = said.get("DURATION", ""), said.get("EXIT_CODE", "")
    if _SECONDS.fullmatch(duration):
        t_us = max(t_us, microseconds(float(duration), "the duration"))
    return Finished(t_us=t_us, exit=exited(int(status)) if _BYTES.fullmatch(status) else None)


def _data(t_us: int, kind: str, value: str, logs: _Logs, where: str) -> JournalEvent | Skipped:
    if _BYTES.fullmatch(value) is None:
        raise BadImportError(f"{where}: the length is not a number of bytes")
    if kind == "I" and not logs.has_input:
        return Skipped("input, whose log was not given: --input-log FILE")
    data = logs.take(kind, int(value), where)
    made: Any = Output if kind == "O" else Typed
    event: JournalEvent = made(t_us, data)
    return event if data else Skipped("entries of no bytes")


def _signal(t_us: int, value: str, where: str) -> JournalEvent | Skipped:
    if resize := _RESIZE.fullmatch(value):
        return Resized(t_us, checked_size(int(resize[1]), int(resize[2]), where))
    if signal := _SIGNAL.fullmatch(value):
        return Signalled(t_us, signal[1].lower())
    raise BadImportError(f"{where}: not a signal of a timing file")
