"""The tape: the model traffic of an agent CLI, recorded beside its terminal, matched and served."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._assembling import Assembler as Assembler
    from ._facts import ToolPlace as ToolPlace
    from ._facts import called_tools as called_tools
    from ._facts import question_model as question_model
    from ._facts import tool_results as tool_results
    from ._facts import usage_of as usage_of
    from ._kept import kept_headers as kept_headers
    from ._kept import kept_target as kept_target
    from ._unpacking import unpacked_body as unpacked_body
    from ._unpacking import unpacker_for as unpacker_for
    from .draws import Draw as Draw
    from .draws import DrawnValues as DrawnValues
    from .draws import Draws as Draws
    from .draws import DrawSource as DrawSource
    from .draws import RecordedDraws as RecordedDraws
    from .draws import ServedDraws as ServedDraws
    from .draws import draw_differences as draw_differences
    from .draws import draw_event as draw_event
    from .draws import drawn_in as drawn_in
    from .draws import draws_digest as draws_digest
    from .draws import read_draws as read_draws
    from .draws import write_draw as write_draw
    from .items import AnswerBegun as AnswerBegun
    from .items import AnswerData as AnswerData
    from .items import ExchangeEnded as ExchangeEnded
    from .items import RequestBegun as RequestBegun
    from .items import RequestComplete as RequestComplete
    from .items import RequestData as RequestData
    from .items import SocketMessage as SocketMessage
    from .items import TapeItem as TapeItem
    from .journal_codec import MAX_ITEM_BYTES as MAX_ITEM_BYTES
    from .journal_codec import TapeDecoder as TapeDecoder
    from .journal_codec import TapeEncoder as TapeEncoder
    from .journal_codec import TapeHead as TapeHead
    from .providers import known_providers as known_providers
    from .retries import Retries as Retries
    from .retries import may_be_asked_again as may_be_asked_again
    from .routing import host_and_port as host_and_port
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_assembling": "Assembler",
            "_facts": "ToolPlace called_tools question_model tool_results usage_of",
            "_kept": "kept_headers kept_target",
            "_unpacking": "unpacked_body unpacker_for",
            "draws": (
                "Draw DrawSource DrawnValues Draws RecordedDraws ServedDraws draw_differences "
                "draw_event drawn_in draws_digest read_draws write_draw"
            ),
            "items": (
                "AnswerBegun AnswerData ExchangeEnded RequestBegun RequestComplete "
                "RequestData SocketMessage TapeItem"
            ),
            "providers": "known_providers",
            "retries": "Retries may_be_asked_again",
            "routing": "host_and_port",
            "journal_codec": "MAX_ITEM_BYTES TapeDecoder TapeEncoder TapeHead",
        },
    )
