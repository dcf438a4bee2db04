"""The tape: the model traffic of an agent CLI, recorded beside its terminal, matched and served."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.tape._assembling import Assembler
    from ptycassette.tape.items import (
        AnswerBegun,
        AnswerData,
        ExchangeEnded,
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
            "_assembling": ("Assembler",),
            "items": (
                "AnswerBegun",
                "AnswerData",
                "ExchangeEnded",
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
    "AnswerBegun",
    "AnswerData",
    "Assembler",
    "ExchangeEnded",
    "RequestBegun",
    "RequestComplete",
    "RequestData",
    "SocketMessage",
    "TapeDecoder",
    "TapeEncoder",
    "TapeHead",
    "TapeItem",
]
