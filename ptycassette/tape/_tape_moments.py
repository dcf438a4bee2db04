"""The moments of an entry of the tape, and the pieces of its bodies."""

from __future__ import annotations

from typing import Literal

from ptycassette.model.journal import TapeMoment, Traffic
from ptycassette.tape._facts import AnswerFacts
from ptycassette.tape._kept import kept_headers
from ptycassette.tape._tape_events import answer_payload
from ptycassette.tape.items import AnswerBegun, SocketMessage

MessageForm = Literal["", "text", "binary"]


class OpenEntry:
    """An entry whose end is not there yet."""

    def __init__(self, number: int, *, form: MessageForm = "") -> None:
        self.number = number
        self.form = form
        self.facts = AnswerFacts()
        self.answered = False


def answer_moment(
    entry: OpenEntry, item: AnswerBegun | SocketMessage, *, packing: str = ""
) -> TapeMoment:
    """The moment at which the answer of an entry begins."""
    status = item.status if isinstance(item, AnswerBegun) else None
    headers, dropped = kept_headers(item.headers if isinstance(item, AnswerBegun) else ())
    return TapeMoment(
        item.t_us,
        answer_payload(entry.number, status),
        entry=entry.number,
        moment="answer",
        head={"status": status, "headers": headers, "packing": packing},
        dropped=dropped,
    )


def piece_of(
    t_us: int,
    entry: OpenEntry,
    side: Literal["question", "answer"],
    data: bytes,
    *,
    form: MessageForm = "",
    continues: bool = False,
    last: bool = False,
) -> Traffic:
    """A piece of a body of an entry."""
    return Traffic(
        t_us=t_us,
        entry=entry.number,
        side=side,
        data=data,
        form=form,
        continues=continues,
        last=last,
    )


def packing_of(headers: tuple[tuple[str, str], ...]) -> str:
    """The encoding that was undone."""
    encoding = header_value(headers, "content-encoding")
    return "" if encoding.strip().lower() == "identity" else encoding


def header_value(headers: tuple[tuple[str, str], ...], name: str) -> str:
    """All values of a header, with commas between them; empty without it."""
    return ", ".join(value for one, value in headers if one == name)
