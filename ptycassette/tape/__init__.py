"""The tape: the model traffic of an agent CLI, recorded beside its terminal, matched and served."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.tape.entries import (
        TAPE,
        TAPE_BODIES,
        BodyPlace,
        Chunk,
        TapeAnswer,
        TapeEntry,
        VolatileToken,
    )
    from ptycassette.tape.items import (
        AnswerBegun,
        AnswerData,
        ExchangeEnded,
        ExchangeOutcome,
        RequestBegun,
        RequestComplete,
        RequestData,
        SocketMessage,
        TapeItem,
    )
    from ptycassette.tape.journal_codec import MAX_ITEM_BYTES, TapeDecoder, TapeEncoder, TapeHead
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "entries": (
                "TAPE",
                "TAPE_BODIES",
                "BodyPlace",
                "Chunk",
                "TapeAnswer",
                "TapeEntry",
                "VolatileToken",
            ),
            "items": (
                "AnswerBegun",
                "AnswerData",
                "ExchangeEnded",
                "ExchangeOutcome",
                "RequestBegun",
                "RequestComplete",
                "RequestData",
                "SocketMessage",
                "TapeItem",
            ),
            "journal_codec": ("MAX_ITEM_BYTES", "TapeDecoder", "TapeEncoder", "TapeHead"),
        },
    )

__all__ = [
    "MAX_ITEM_BYTES",
    "TAPE",
    "TAPE_BODIES",
    "AnswerBegun",
    "AnswerData",
    "BodyPlace",
    "Chunk",
    "ExchangeEnded",
    "ExchangeOutcome",
    "RequestBegun",
    "RequestComplete",
    "RequestData",
    "SocketMessage",
    "TapeAnswer",
    "TapeDecoder",
    "TapeEncoder",
    "TapeEntry",
    "TapeHead",
    "TapeItem",
    "VolatileToken",
]
