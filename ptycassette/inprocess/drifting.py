"""What changed between two recordings of calls: their turns, aligned, exactly or in meaning."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from ptycassette.cassette.io import Cassette, open_cassette
from ptycassette.errors import CassetteError
from ptycassette.export.trajectory import read_tape
from ptycassette.inprocess.calls import recorded_tools
from ptycassette.replaying import Drift, DriftChange, aligned
from ptycassette.timeline import Scorer, semantic_match


class Turn(msgspec.Struct, frozen=True, order=True):
    """A call and its answer.

    Attributes:
        seq: its place in the recording.
        what: ``model``, or ``tool`` and its name.
        asked: what is new in the question, or the arguments.
        said: the answer: text and tool calls, or the result; its status where it has no text.
    """

    seq: int
    what: str
    asked: str
    said: str


def turns_of(path: str | os.PathLike[str]) -> list[Turn]:
    """The turns of a cassette.

    Raises:
        CassetteError: it cannot be opened.
    """
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        tools = [
            Turn(
                tool.seq,
                f"tool {tool.name}",
                msgspec.json.encode(tool.arguments, order="deterministic").decode(),
                "" if tool.outcome is None else tool.outcome.text,
            )
            for tool in recorded_tools(list(cassette.service_events()))
        ]
        return sorted([*tools, *(_models(cassette) if cassette.has_tape else ())])


def turns_if_valid(path: str | os.PathLike[str]) -> list[Turn] | None:
    """The turns of a cassette that is to be replaced; None where there is no valid one."""
    try:
        return turns_of(path)
    except CassetteError:  # what is broken is recorded again, too
        return None


def _models(cassette: Cassette) -> Iterator[Turn]:
    read = read_tape(cassette.tape(), cassette.events())
    conversations = {one.entry.entry: one for one in read.inferences}
    for exchange in cassette.tape():
        entry = exchange.entry
        found = conversations.get(entry.entry)
        if found is None:
            status = entry.outcome if entry.answer is None else f"status {entry.answer.status}"
            asked, said = _text(exchange.question()), _text(exchange.answer())
            asked = f"{entry.method} {entry.target}\n{asked}"
            yield Turn(entry.seq, "model", asked, f"{status}\n{said}")
            continue
        new: list[str] = []
        for message in found.asked.messages:
            if message.role == "assistant":
                new.clear()
            else:
                new += [message.text, *(result.text for result in message.results)]
        calls = [
            f"{call.name} {msgspec.json.encode(call.arguments).decode()}"
            for call in found.said.calls
        ]
        said = "\n".join(filter(None, (found.said.text, *calls)))
        yield Turn(entry.seq, "model", "\n".join(filter(None, new)), said)


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")


def drift_of_turns(
    old: Sequence[Turn],
    new: Sequence[Turn],
    *,
    threshold: float | None = None,
    scorer: Scorer | None = None,
) -> Drift:
    """The changes from one recording to another. Numbers of turns count from 1.

    Args:
        old: the turns of the recording.
        new: those of the new run.
        threshold: answers that are less alike (0 to 1) changed; None to compare them exactly.
        scorer: how much two texts are alike; that of ``semantic_match`` when None.

    Raises:
        ValueError: the threshold is out of range.
    """
    if threshold is not None:
        semantic_match("a", "a", threshold)  # complain about it in any case
    changes: list[DriftChange] = []
    before = [(turn.what, turn.asked) for turn in old]
    after = [(turn.what, turn.asked) for turn in new]
    for kind, i, i_end, j, j_end in aligned(before, after):
        pairs = min(i_end - i, j_end - j) if kind != "equal" else i_end - i
        for one in range(pairs):
            change = _change(old, new, (i + one, j + one), threshold, scorer)
            changes += [] if change is None else [change]
        changes += [
            DriftChange(kind="removed", what=old[at].what, old=at + 1, expected=_shown(old[at]))
            for at in range(i + pairs, i_end)
        ]
        changes += [
            DriftChange(kind="added", what=new[at].what, new=at + 1, got=_shown(new[at]))
            for at in range(j + pairs, j_end)
        ]
    return Drift(exchanges=tuple(changes))


def _change(
    old: Sequence[Turn],
    new: Sequence[Turn],
    places: tuple[int, int],
    threshold: float | None,
    scorer: Scorer | None,
) -> DriftChange | None:
    i, j = places
    left, right = old[i], new[j]
    if (left.what, left.asked, left.said) == (right.what, right.asked, right.said):
        return None
    score = None
    if threshold is not None and left.what == right.what:
        texts = _shown(left), _shown(right)
        score = semantic_match(texts[1], texts[0], threshold, scorer).score
        if score >= threshold:
            return None
    same = left.what == right.what and left.asked == right.asked
    return DriftChange(
        kind="changed",
        what=left.what if left.what == right.what else f"{left.what}, now {right.what}",
        old=i + 1,
        new=j + 1,
        expected=left.said if same else _shown(left),
        got=right.said if same else _shown(right),
        score=score,
    )


def _shown(turn: Turn) -> str:
    return f"{turn.asked}\n{turn.said}"
