"""The proxy's journal beside the recorder's: its name, its items as they are written, its end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptycassette.errors import NotFoundError
from ptycassette.model import EventSource, SessionMeta
from ptycassette.recording._tape_source import ItemReader, TapeSource
from ptycassette.recording._tape_writer import TAPE_OPTION
from ptycassette.recording.io.journal_name import JOURNAL_SUFFIX

__all__ = ["TAPE_SUFFIX", "new_tape_option", "tape_journal_of", "with_tape"]

TAPE_SUFFIX = ".tape"
"""Of the proxy's journal, whose name is else that of the recorder's."""


def tape_journal_of(journal: Path) -> Path:
    """The proxy's journal beside a recorder's."""
    return journal.with_name(journal.name.removesuffix(JOURNAL_SUFFIX) + TAPE_SUFFIX)


def new_tape_option(known: tuple[str, ...]) -> dict[str, Any]:
    """What the head of a journal says of the tape; see ``TAPE_OPTION``."""
    return {"key": secrets.token_hex(32), "secrets": list(known)}


def with_tape(source: EventSource, meta: SessionMeta, tape: Path | None) -> EventSource:
    """``source`` with the events of the tape, if its head says that there is one."""
    if TAPE_OPTION not in meta.options or tape is None:
        return source
    return TapeSource(source, lambda: _reader(tape))


class _Nothing:
    """The journal of a proxy that was ended before it wrote one."""

    def poll(self) -> Iterator[Any]:
        """Nothing."""
        return iter(())

    def close(self) -> None:
        """Nothing."""


def _reader(tape: Path) -> ItemReader:
    from ptycassette.tape.io import TapeJournalReader

    try:
        reader: ItemReader = TapeJournalReader(tape)
    except NotFoundError:
        return _Nothing()
    return reader
