"""Model traffic as items of the list beside the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from ptycassette.export.page.item import Item
from ptycassette.model.tape import TapeEntry

MOST_BODY = 4_000
"""Of a body so many bytes are shown,"""
MOST_BODIES = 400_000
"""and of all bodies together."""


class ExchangeSource(Protocol):
    """A question of the tape with its answer."""

    entry: TapeEntry

    def question(self) -> bytes:
        """Its body."""
        ...

    def answer(self) -> bytes:
        """The body of the answer."""
        ...


def model_item(exchange: ExchangeSource, payloads: Iterable[dict[str, Any]]) -> Any:
    """The item of an entry of the tape, and the exchange, for its bodies."""
    entry, answer = exchange.entry, exchange.entry.answer
    about: dict[str, Any] = {}
    for payload in payloads:
        about |= {name: value for name, value in payload.items() if value is not None}
    words = [
        f"{entry.method} {entry.target}".strip() or f"message over {entry.within}",
        *([str(about["model"])] if "model" in about else []),
        *([f"status {answer.status}"] if answer is not None and answer.status else []),
    ]
    if "input_tokens" in about or "output_tokens" in about:
        words.append(f"{about.get('input_tokens')} + {about.get('output_tokens')} tokens")
    if entry.end_us is not None:
        words.append(f"{(entry.end_us - entry.t_us) / 1_000_000:.2f} s")
    if entry.outcome != "complete":
        words.append(f"{entry.outcome} {entry.detail}".strip())
    item = Item(
        kind="model",
        seq=entry.seq,
        t_us=entry.t_us,
        label=f"model {entry.entry}",
        text=", ".join(words),
    )
    return item, exchange


def with_bodies(asked: Iterable[tuple[Item, ExchangeSource]]) -> Iterator[Item]:
    """The items, with the beginnings of question and answer, as long as there is room."""
    left = MOST_BODIES
    for item, exchange in asked:
        bodies = []
        for title, read in (("question", exchange.question), ("answer", exchange.answer)):
            data = read() if left > 0 else b""
            if data:
                bodies.append((title, _body(data)))
                left -= len(bodies[-1][1])
        if left <= 0 and not bodies:
            bodies.append(("question and answer", "left out: there is too much in this tape"))
        item.bodies = tuple(bodies)
        yield item


def _body(data: bytes) -> str:
    """The beginning of a body, JSON in lines."""
    try:
        text = msgspec.json.format(data, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = data.decode("utf-8", "replace")
    left = len(text) - MOST_BODY
    return f"{text[:MOST_BODY]}\n... ({left} more characters)" if left > 0 else text
