"""The proxy between an agent CLI and its provider, in a process of its own, and its journal."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .journal_file import TapeJournalFile as TapeJournalFile
    from .journal_file import TapeSink as TapeSink
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "journal_file": "TapeJournalFile TapeSink",
        },
    )
