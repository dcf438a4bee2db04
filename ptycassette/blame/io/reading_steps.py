"""The steps of a cassette: its exchanges, and what was asked of a model."""

from __future__ import annotations

from ptycassette.blame.steps import Step
from ptycassette.cassette.io.reader import Cassette
from ptycassette.faults.edited_questions import last_call
from ptycassette.fork.places import ForkPlace
from ptycassette.keys.names import PASTE_END
from ptycassette.model.json_values import decoded_json
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.timeline.exchange_cutting import exchanges

_WIDTH = 60
_OK = 200
_GENERATES = (":generateContent", ":streamGenerateContent")
_COUNTS = "count_tokens"
_PASTE_START, _PASTE_END = "\x1b[200~", PASTE_END.decode()


def steps_of(cassette: Cassette) -> list[Step]:
    """The steps of a recording, in their order.

    Not among them are requests that ask no model (lists of models, counts of tokens), those that
    had no answer, and what nobody typed.
    """
    found: list[tuple[int, Step]] = []
    for exchange in exchanges(cassette.events()):
        if exchange.inputs:
            what = visible_bytes(exchange.typed, limit=_WIDTH) or "no text"
            step = Step(
                at=ForkPlace("exchange", exchange.number),
                what=f"types {what}",
                text=_plain(exchange.typed),
            )
            found.append((exchange.first_seq, step))
    for one in cassette.tape() if cassette.has_tape else ():
        body = one.question()
        if _asks_a_model(one.entry, body):
            found.append((one.entry.seq, _request(one.entry, body)))
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def _request(entry: TapeEntry, body: bytes) -> Step:
    tells = last_call(body) is not None
    what = f"{entry.method} {entry.target}" if entry.method else "message"
    return Step(
        at=ForkPlace("tape", entry.entry),
        what=f"asks {visible(what, limit=_WIDTH)}{', tells a result' if tells else ''}",
        route=f"{entry.kind} {entry.method} {entry.target.partition('?')[0]}",
        tells_result=tells,
    )


def _plain(typed: bytes) -> str:
    """What was typed as a text; empty where there are keys in it that are none."""
    try:
        text = typed.rstrip(b"\r\n").decode()
    except UnicodeDecodeError:
        return ""
    text = text.removeprefix(_PASTE_START).removesuffix(_PASTE_END)
    return text if text.isprintable() else ""


def _asks_a_model(entry: TapeEntry, body: bytes) -> bool:
    if entry.kind == "websocket" or (entry.kind == "http" and not _answered(entry)):
        return False
    path = entry.target.partition("?")[0]
    if path.endswith(_GENERATES):
        return True
    asked = decoded_json(body)
    model = asked.get("model") if isinstance(asked, dict) else None
    return _COUNTS not in path and isinstance(model, str)


def _answered(entry: TapeEntry) -> bool:
    return entry.answer is not None and entry.answer.status == _OK
