"""Exchanges that may come in another order than they were recorded in."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.cassette.timeline.match import Matching
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.replaying.standin.comparison import Listen
from ptycassette.replaying.standin.comparison import RunEnded as Over
from tests.standins import OTHER, Rig

EXIT = ExitStatus(code=3, exited=True, signaled=False)


def three() -> list[JournalEvent]:
    """Three commands, each echoed key by key, and the end."""
    items: list[JournalEvent] = [Output(0, b"$ ")]
    at = 0
    for word, answer in (("sum", b"42"), ("stop", b"ok"), ("who", b"me")):
        for char in word.encode():
            at += 10
            items += [Typed(at, bytes([char])), Output(at + 1, bytes([char]))]
        at += 10
        items += [Typed(at, b"\r"), Output(at + 1, b"[" + answer + b"]$ ")]
    return [*items, Finished(t_us=at + 1_000_000, exit=EXIT)]


def loose(
    *items: JournalEvent,
    strategy: str = "prompt",
    order: str = "loose",
    per_entry: dict[int, str] | None = None,
    **options: Any,
) -> Rig:
    """A stand-in in loose order."""
    return Rig(*items, matching=Matching(strategy, order=order, per_entry=per_entry), **options)


@pytest.mark.parametrize("strategy", ["prompt", "exact", "normalised", "semantic"])
@pytest.mark.parametrize(
    ("lines", "output"),
    [
        (b"sum\rstop\rwho\r", b"$ sum[42]$ stop[ok]$ who[me]$ "),
        (b"who\rsum\rstop\r", b"$ who[me]$ sum[42]$ stop[ok]$ "),
        (b"stop\rwho\rsum\r", b"$ stop[ok]$ who[me]$ sum[42]$ "),
        (b"who\rstop\rsum\r", b"$ who[me]$ stop[ok]$ sum[42]$ "),
    ],
)
def test_exchanges_play_in_the_order_in_which_they_come(
    strategy: str, lines: bytes, output: bytes
) -> None:
    """Each with its own output, and the end behind the last."""
    rig = loose(*three(), strategy=strategy)

    assert rig.send(lines) == Over(EXIT)
    assert rig.output == output
    assert not rig.engine.diverged


@pytest.mark.parametrize(
    "steps",
    [
        # The echo of each key comes at once; what two lines have in common is echoed once.
        [(b"", "$ "), (b"s", "$ s"), (b"t", "$ st"), (b"o", "$ sto"), (b"p\r", "$ stop[ok]$ ")],
        # What was begun and left is whole when it is typed again.
        [(b"s", "$ s"), (b"top\rsum\rwho\r", "$ stop[ok]$ sum[42]$ who[me]$ ")],
        # So is what the driver thought better of, whose echo the lines do not share.
        [(b"su", "$ su"), (b"\x7ft", "$ sut"), (b"op\r", "$ sutop[ok]$ ")],
        # What begins none of them may be corrected, as in strict order.
        [(b"x", "$ "), (b"\x7fwho\r", "$ who[me]$ ")],
    ],
)
def test_each_key_is_echoed_by_the_line_that_it_belongs_to(steps: list[tuple[bytes, str]]) -> None:
    """A driver may wait for it."""
    rig = loose(*three())
    shown = []
    for data, _ in steps:
        rig.send(data)
        shown.append((data, rig.output.decode()))

    assert shown == steps
    assert rig.kinds == []


@pytest.mark.parametrize(
    ("sent", "hangs_up", "kind", "expected"),
    [
        (b"who\rquit\r", False, "input-changed", "sum<enter>"),  # never recorded
        (b"who\rwho\r", False, "input-changed", "sum<enter>"),  # comes only once
        (b"st", True, "input-changed", "stop<enter>"),  # the line that was begun
        (b"who\r", True, "input-missing", "sum<enter>"),  # the end is not played without it
    ],
)
def test_loose_is_about_order_alone(sent: bytes, hangs_up: bool, kind: str, expected: str) -> None:
    """Else it is a divergence as ever."""
    rig = loose(*three())
    rig.send(sent)
    if hangs_up:
        rig.engine.input_ended()
        rig.send(b"")
    (found,) = rig.engine.divergences

    assert found.expected is not None
    assert (found.kind, found.expected.text) == (kind, expected)
    assert rig.engine.unplayed().inputs > 0


def test_what_came_in_another_order_is_noted() -> None:
    """It is no divergence, and worth knowing."""
    rig = loose(*three())
    rig.send(b"who\rsum\rstop\r")

    assert rig.engine.notes == ["input 3 came before input 1"]


def test_strict_order_is_the_default() -> None:
    """There, the same input is another one than was recorded."""
    rig = loose(*three(), order="strict")
    rig.send(b"who\r")

    assert Matching().order == "strict"
    assert rig.kinds == ["input-changed"]


def test_entries_of_one_record_stay_together() -> None:
    """A script that was pasted is one exchange."""
    rig = loose(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\rc\r"),
              Output(4, b"BC"), Finished(t_us=5, exit=EXIT))  # fmt: skip

    assert rig.send(b"b\rc\ra\r") == Over(EXIT)
    assert rig.output == b"$BCA"
    inside = loose(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\rc\r"))
    inside.send(b"c\r")
    assert inside.kinds == ["input-changed"]


def test_what_matches_anything_is_no_reason_to_move() -> None:
    """Else a wrong line would be taken for the password that comes later."""
    items = [Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\r"),
             Typed(4, b"pw\r", masked=True)]  # fmt: skip
    rig = loose(*items, per_entry={2: "any"})
    rig.send(b"x\r")

    assert rig.kinds == ["input-changed"]


def test_resizes_and_signals_move_with_their_exchange() -> None:
    """They belong to what was sent before them."""
    rig = loose(
        Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Resized(3, OTHER), Output(4, b"1"),
        Typed(5, b"b\r"), Output(6, b"B"), Signalled(7, "usr1"), Output(8, b"2"),
        Finished(t_us=9, exit=EXIT),
    )  # fmt: skip
    rig.send(b"b\r")
    rig.engine.signalled("usr1", 0)
    rig.send(b"a\r")
    rig.engine.resized(OTHER, 0)

    assert rig.send(b"") == Over(EXIT)
    assert rig.output == b"$B2A1"
    assert rig.kinds == []


def test_in_recorded_time_nothing_waits_for_an_exchange_that_was_played_before() -> None:
    """The pause before the end was recorded behind another exchange."""
    rig = loose(*three(), mode="realtime")
    for line in (b"who\r", b"sum\r", b"stop\r"):
        rig.engine.feed(line, rig.now)
        todo = rig.send(b"")
        while isinstance(todo, Listen) and todo.us is not None and todo.us < 60_000_000:
            rig.now += todo.us
            todo = rig.send(b"")

    assert todo == Over(EXIT)
    assert rig.now < 1_000


def test_more_than_a_later_input_is_not_that_input() -> None:
    """A key that was recorded alone is not the first letter of a line."""
    rig = loose(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"y"),
              Resized(4, OTHER), Output(5, b"Y"))  # fmt: skip
    rig.engine.feed(b"yes\r", 0)
    rig.send(b"")

    assert rig.kinds == ["input-changed"]


def test_an_unknown_order_is_an_error() -> None:
    """It names those that there are."""
    with pytest.raises(ValueError, match="strict, loose"):
        Matching(order="lose")
