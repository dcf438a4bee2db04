"""The conversation in a cassette, in formats of other tools: ATIF, OpenTelemetry, Inspect."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .from_tape import TapeReading as TapeReading
    from .from_tape import read_tape as read_tape
else:
    __getattr__, __all__ = face(__name__, {"from_tape": "TapeReading read_tape"})
