"""What a question repeats of an earlier one is scrubbed there as it was, and read once."""

from __future__ import annotations

import json
import random

import pytest

from ptycassette.model.records import Finished, JournalEvent, SessionMeta, Traffic
from ptycassette.scrub.search.known import Searcher
from ptycassette.scrub.session import default_scrubber
from ptycassette.scrub.views.structured import TrafficText


def _text(randomly: random.Random, length: int) -> str:
    words = ["the", "file", "was", "read", "again", "def", "return", "value\n", "{x}", "1.2.3"]
    text = ""
    while len(text) < length:
        text += " ".join(randomly.choices(words, k=200)) + " "
    return text[:length]


def _token(randomly: random.Random) -> str:
    return "ghp_" + "".join(randomly.choices("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789", k=36))


def _conversation(seed: int, turns: int, length: int) -> tuple[list[bytes], list[str]]:
    """Bodies of questions, each with all messages before; and the secrets in them.

    Tokens are in the first message, in each fifth one, and across the end of what two share.
    """
    randomly = random.Random(seed)
    tokens = [_token(randomly) for _ in range(turns)]
    messages = [{"role": "user", "content": f"use {tokens[0]} {_text(randomly, length)}"}]
    bodies = []
    for turn in range(turns):
        if turn % 5 == 1:
            text = f"{_text(randomly, length)} {tokens[turn]} {_text(randomly, 50)}"
            messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": _text(randomly, length // 10)})
        bodies.append(json.dumps({"model": "m", "messages": messages}).encode())
        begun = tokens[0][: randomly.randrange(8, 30)]
        messages.append({"role": "user", "content": begun if turn == 6 else "go on"})
    return bodies, tokens


def _scrubbed(meta: SessionMeta, bodies: list[bytes], piece: int) -> list[bytes]:
    """The bodies after scrubbing; they come in pieces, two of them at once."""
    events: list[JournalEvent] = []
    for first in range(0, len(bodies), 2):
        pair = list(enumerate(bodies[first : first + 2], first + 1))
        for at in range(0, max(len(body) for _, body in pair), piece):
            events += [
                Traffic(t_us=0, entry=number, side="question", data=body[at : at + piece])
                for number, body in pair
            ]
        events += [
            Traffic(t_us=0, entry=number, side="question", data=b"", last=True)
            for number, _ in pair
        ]
    events.append(Finished(t_us=0))
    scrubber = default_scrubber()
    made = [b""] * len(bodies)
    for event in scrubber.events(meta, lambda: iter(events)):
        if isinstance(event, Traffic):
            made[event.entry - 1] += event.data
    return made


@pytest.mark.parametrize("piece", [1 << 30, 5_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_repeated_is_masked_as_where_it_was_read(
    seed: int, piece: int, meta: SessionMeta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if each body were read from its beginning."""
    bodies, tokens = _conversation(seed, turns=8, length=20_000)
    made = _scrubbed(meta, bodies, piece)
    monkeypatch.setattr(TrafficText, "can_be_repeated", property(lambda _: False))

    assert made == _scrubbed(meta, bodies, piece)
    for body in made:
        assert not any(token.encode() in body for token in tokens)


def test_a_conversation_is_searched_once(
    meta: SessionMeta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty questions of up to 100 kB; what is searched are the messages, not the bodies."""
    bodies, _ = _conversation(3, turns=30, length=12_000)
    searched = 0
    search = Searcher.search

    def counted(self: Searcher, text: str, **options: object) -> object:
        nonlocal searched
        searched += len(text)
        return search(self, text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Searcher, "search", counted)
    _scrubbed(meta, bodies, 1 << 30)

    assert searched < sum(map(len, bodies))
