"""The proxy between an agent CLI and its provider, in a process of its own, and its journal."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.tape.io.journal_file import TapeJournalFile, TapeSink
    from ptycassette.tape.io.journal_reader import TapeJournalReader
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "journal_reader": ("TapeJournalReader",),
            "journal_file": ("TapeJournalFile", "TapeSink"),
        },
    )

__all__ = [
    "TapeJournalFile",
    "TapeJournalReader",
    "TapeSink",
]
