"""What a reader of another tool's file finds in it: a session without its end, and what it left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.journal import JournalEvent, Noted
from ptycassette.tape.consent._forbidden import UnsearchedBodyError, search_body
from ptycassette.tape.items import RequestData, TapeItem

_SHOWN = 5

HALVES = "half of a character (an unpaired surrogate), which became U+FFFD"
"""What is counted where a file has a character of which only one half is there."""


class BadImportError(ValueError):
    """The file is not of its format. The message says where: a line, or the number of an entry."""


class ImportedScript(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says that is to be done to a program, as an input script.

    Attributes:
        steps: lines of the script.
        options: of ``rec``, that do what a script has no step for.
        argv: the program, or the shell.
        skipped: what could not be taken: how many times, by reason.
    """

    steps: tuple[str, ...]
    options: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    skipped: Mapping[str, int] = {}


class ImportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file.

    Attributes:
        events: what happened at the terminal, in order of time, without the end. It is iterated
            over several times.
        items: model traffic, in order of time; times count from the same moment.
        compared_headers: the headers of questions that the file holds; a rerun compares no others.
        rebuilt_entries: the questions that were rebuilt from parts, numbered from 1.
        end_us: when the session ended.
        size: of the terminal.
        size_known: whether the file gives the size; otherwise it is assumed.
        made_by: the program that made the file, with its version; None where the file does not
            name it.
        format_version: of the file's format; None where it has none.
        argv: of the program; empty where the file does not say it.
        harness: the name of the program.
        harness_version: its version; None where the file does not say it.
        recorded_at: when it began; None where the file does not say it.
        exit: how the program ended; None where the file does not say it.
        title: of the recording.
        final: what the file says of the whole session besides: fields of ``Finished``.
        term: the terminal's type; None where the file does not say it.
        kept: what the file says besides, to be written again by an export.
        skipped: what could not be taken: how many times, by reason.
        faults: broken calls among these: where each is, its field, and the reason.
        rebuilt: whether the traffic was made of what the file says about it, because the file
            does not hold what was sent.
    """

    events: Iterable[JournalEvent] = ()
    items: Sequence[TapeItem] = ()
    compared_headers: Sequence[str] = ()
    rebuilt_entries: Sequence[int] = ()
    end_us: int = 0
    size: Size = Size(24, 80)
    size_known: bool = True
    made_by: str | None = None
    format_version: int | str | None = None
    argv: tuple[str, ...] = ()
    harness: str = "imported"
    harness_version: str | None = None
    recorded_at: datetime | None = None
    exit: ExitStatus | None = None
    final: Mapping[str, Any] = {}
    title: str | None = None
    term: str | None = None
    kept: Mapping[str, Any] = {}
    skipped: Mapping[str, int] = {}
    faults: Sequence[str] = ()
    rebuilt: bool = False

    def forbidden(self, keys: Sequence[str]) -> str:
        """Where its calls have inputs under forbidden keys, in words; empty where they do not.

        Bodies that cannot be searched are left out.
        """
        bodies: dict[int, bytes] = {}
        for item in self.items:
            if isinstance(item, RequestData):
                bodies[item.exchange] = bodies.get(item.exchange, b"") + item.data
        places = [(f"question {number}", body) for number, body in bodies.items()]
        for note in self.events:
            payload = note.payload if isinstance(note, Noted) else None
            if isinstance(payload, dict) and "call_id" in payload:
                what = f"{payload.get('type')} {payload.get('name') or payload['call_id']}"
                places.append((what, msgspec.json.encode(payload)))
        for where, body in places:
            with suppress(UnsearchedBodyError):
                if paths := search_body(body, keys).paths:
                    return f"{where} has inputs under forbidden keys: {', '.join(paths[:_SHOWN])}"
        return ""
