"""The proxy's journal beside the recorder's: its part in the events of the session."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptycassette.cassette.io.staging import disk_errors
from ptycassette.errors import JournalError, NotFoundError
from ptycassette.model.events import ExitStatus
from ptycassette.model.ports import EventSource
from ptycassette.recording._tape_source import ItemReader, TapeSource
from ptycassette.recording.io._running_tape import TapeStarter
from ptycassette.recording.io.journal_name import HIDDEN_SUFFIX, tape_journal_of
from ptycassette.system.closing import Closing
from ptycassette.tape.items import TapeItem
from ptycassette.tape.journal_codec import TapeHead

_EMPTY = (
    "the tape is empty: the program succeeded and sent no request through the tape's proxy. Either"
    " it needed no model (record it without a tape), or it has a provider URL of its own, which the"
    " proxy does not see (remove the setting, name its profile by --harness, or try --proxy-env)"
)


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
        self.needed = self._running.needed
        self._journal: Path | None = None

    def appear(self, journal: Path) -> None:
        """Give its journal the name beside the recorder's."""
        assert self._hidden is not None  # noqa: S101 - it appears once
        self._journal = tape_journal_of(journal)
        with disk_errors("naming the tape's journal", journal):
            self._hidden.rename(self._journal)
        self._hidden = None

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        return self._running.problem

    @property
    def reports(self) -> Sequence[str]:
        """See ``RunningTape.reports``."""
        return self._running.reports

    def failure(self, status: ExitStatus | None) -> str | None:
        """Why the run must not become a cassette, after ``close``.

        Args:
            status: how the program ended. If it succeeded without asking anything through the
                proxy, it asked nothing, or somebody else.
        """
        problem = self._running.problem
        if problem is not None:
            return f"model traffic was not recorded to its end: {problem}"
        succeeded = status is not None and status.exited and status.code == 0
        return _EMPTY if succeeded and self.needed and self._is_empty() else None

    def _is_empty(self) -> bool:
        if self._journal is None:
            return False
        reader = _reader(self._journal, salvage=False)
        try:
            return next(reader.poll(), None) is None
        finally:
            reader.close()

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
    from ptycassette.tape.io.price_table import load_prices

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
    from ptycassette.tape.io.journal_file import TapeJournalReader

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
