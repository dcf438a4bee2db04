"""The proxy's journal beside the recorder's: its part in the events of the session."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptycassette.cassette.io import disk_errors
from ptycassette.errors import JournalError, NotFoundError
from ptycassette.model import EventSource
from ptycassette.recording._tape_source import ItemReader, TapeSource
from ptycassette.recording.io._running_tape import TapeStarter
from ptycassette.recording.io.journal_name import HIDDEN_SUFFIX, tape_journal_of
from ptycassette.system import Closing
from ptycassette.tape import TapeHead, TapeItem


class TapeInPlace(Closing):
    """What records model traffic, with its journal beside the recorder's. A ``RunningTape``.

    The traffic's environment belongs into the head of the recorder's journal, so it is started
    first, with a hidden journal, which appears under its name together with the recorder's. A
    crash in between leaves a file of nothing, which is swept up as that of a recorder is.

    Args:
        start: starts it.
        place: the directory of journals.
        environment: in which the program will be started.

    Attributes:
        environment, arguments, secrets, address, described: as in ``RunningTape``.
    """

    def __init__(self, start: TapeStarter, place: Path, environment: Mapping[str, str]) -> None:
        self._hidden: Path | None = place / f".{secrets.token_hex(8)}{HIDDEN_SUFFIX}"
        self._running = start(self._hidden, environment)
        self.environment = self._running.environment
        self.arguments: Sequence[str] = tuple(self._running.arguments)
        self.secrets: Sequence[str] = tuple(self._running.secrets)
        self.address = self._running.address
        self.described = self._running.described

    def appear(self, journal: Path) -> None:
        """Give its journal the name beside the recorder's."""
        assert self._hidden is not None  # noqa: S101 - it appears once
        with disk_errors("naming the tape's journal", journal):
            self._hidden.rename(tape_journal_of(journal))
        self._hidden = None

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        return self._running.problem

    @property
    def reports(self) -> Sequence[str]:
        """See ``RunningTape.reports``."""
        return self._running.reports

    @property
    def failure(self) -> str | None:
        """Why the run must not become a cassette, after ``close``."""
        problem = self._running.problem
        return None if problem is None else f"model traffic was not recorded to its end: {problem}"

    def close(self) -> None:
        """End it. Does nothing the second time."""
        self._running.close()
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)
            self._hidden = None


def with_tape(source: EventSource, tape: Path, *, salvage: bool = False) -> EventSource:
    """``source`` with the events of the tape.

    Args:
        source: the recorder's events.
        tape: the proxy's journal.
        salvage: of one that is damaged in the middle, take what stands before.
    """
    from ptycassette.tape.io import load_prices

    return TapeSource(source, lambda: _reader(tape, salvage=salvage), load_prices())


class _Nothing:
    """The journal of a proxy that was ended before it wrote one."""

    head = None

    def poll(self) -> Iterator[Any]:
        """Nothing."""
        return iter(())

    def close(self) -> None:
        """Nothing."""


def _reader(tape: Path, *, salvage: bool) -> ItemReader:
    from ptycassette.tape.io import TapeJournalReader

    try:
        reader: ItemReader = TapeJournalReader(tape)
    except NotFoundError:
        return _Nothing()
    return _Salvaging(reader) if salvage else reader


class _Salvaging:
    """A reader whose items end where the journal is damaged."""

    def __init__(self, reader: ItemReader) -> None:
        self._reader = reader
        self._damaged = False
        self.close = reader.close

    @property
    def head(self) -> TapeHead | None:
        """See ``ItemReader``."""
        return self._reader.head

    def poll(self) -> Iterator[TapeItem]:
        """See ``ItemReader.poll``."""
        try:
            if not self._damaged:
                yield from self._reader.poll()
        except JournalError:
            self._damaged = True
