"""Exchanges that may come in another order than they were recorded in."""

from __future__ import annotations

import pytest

from ptycassette.model import (
    ExitStatus,
    Finished,
    InputRecord,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Size,
    Typed,
)
from ptycassette.replaying.standin.decisions import Listen, Play, StandinOptions
from ptycassette.replaying.standin.decisions import RunEnded as Over
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.testing import events_of
from ptycassette.timeline.match import Matching

EXIT = ExitStatus(code=3, exited=True, signaled=False)
SIZE = Size(rows=24, cols=80)
OTHER = Size(rows=30, cols=100)


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


class Rig:
    """An engine in loose order."""

    def __init__(self, *items: JournalEvent, strategy: str = "prompt", order: str = "loose",
                 per_entry: dict[int, str] | None = None, **options: object) -> None:  # fmt: skip
        events = events_of(*items)
        inputs = [event.record for event in events if isinstance(event.record, InputRecord)]
        self.now = 0
        self.output = b""
        self.engine = StandinEngine(
            events, inputs, options=StandinOptions(**options), size=SIZE,  # type: ignore[arg-type]
            matching=Matching(strategy, order=order, per_entry=per_entry),
        )  # fmt: skip

    def send(self, data: bytes) -> Listen | Over:
        """Type, and step until the engine listens or ends."""
        self.engine.feed(data, self.now)
        while True:
            todo = self.engine.step(self.now)
            if not isinstance(todo, Play):
                return todo
            self.output += todo.event.data

    @property
    def kinds(self) -> list[str]:
        """The divergences found so far."""
        return [found.kind for found in self.engine.divergences]


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
    rig = Rig(*three(), strategy=strategy)

    assert rig.send(lines) == Over(EXIT)
    assert rig.output == output
    assert not rig.engine.diverged


def test_the_echo_of_each_key_comes_at_once() -> None:
    """A driver may wait for it; what two lines have in common is echoed once."""
    rig = Rig(*three())
    for data, output in ((b"", b"$ "), (b"s", b"$ s"), (b"t", b"$ st"), (b"o", b"$ sto")):
        rig.send(data)
        assert rig.output == output
    rig.send(b"p\r")

    assert rig.output == b"$ stop[ok]$ "


def test_an_exchange_that_was_begun_and_left_is_whole_later() -> None:
    """Its echo plays again when it is typed again."""
    rig = Rig(*three())
    rig.send(b"s")
    rig.send(b"top\rsum\rwho\r")

    assert rig.output == b"$ stop[ok]$ sum[42]$ who[me]$ "


def test_what_came_in_another_order_is_noted() -> None:
    """It is no divergence, and worth knowing."""
    rig = Rig(*three())
    rig.send(b"who\rsum\rstop\r")

    assert rig.engine.notes == ["input 3 came before input 1"]


def test_strict_order_is_the_default() -> None:
    """There, the same input is another one than was recorded."""
    rig = Rig(*three(), order="strict")
    rig.send(b"who\r")

    assert Matching().order == "strict"
    assert rig.kinds == ["input-changed"]


def test_what_was_never_recorded_is_a_divergence_in_any_order() -> None:
    """Loose is about order alone."""
    rig = Rig(*three())
    rig.send(b"who\rquit\r")

    assert rig.kinds == ["input-changed"]
    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "sum<enter>"


def test_an_exchange_comes_only_once() -> None:
    """Another one of the same text would be another recording."""
    rig = Rig(*three())
    rig.send(b"who\rwho\r")

    assert rig.kinds == ["input-changed"]


def test_an_exchange_that_never_came_is_missing() -> None:
    """The end is not played without it."""
    rig = Rig(*three())
    rig.send(b"who\r")
    rig.engine.input_ended()
    rig.send(b"")

    assert rig.kinds == ["input-missing"]
    assert rig.engine.unplayed().inputs == 9


def test_entries_of_one_record_stay_together() -> None:
    """A script that was pasted is one exchange."""
    rig = Rig(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\rc\r"),
              Output(4, b"BC"), Finished(t_us=5, exit=EXIT))  # fmt: skip

    assert rig.send(b"b\rc\ra\r") == Over(EXIT)
    assert rig.output == b"$BCA"
    inside = Rig(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\rc\r"))
    inside.send(b"c\r")
    assert inside.kinds == ["input-changed"]


def test_what_matches_anything_is_no_reason_to_move() -> None:
    """Else a wrong line would be taken for the password that comes later."""
    items = [Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\r"),
             Typed(4, b"pw\r", masked=True)]  # fmt: skip
    rig = Rig(*items, per_entry={2: "any"})
    rig.send(b"x\r")

    assert rig.kinds == ["input-changed"]


def test_resizes_and_signals_move_with_their_exchange() -> None:
    """They belong to what was sent before them."""
    rig = Rig(
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
    rig = Rig(*three(), mode="realtime")
    for line in (b"who\r", b"sum\r", b"stop\r"):
        rig.engine.feed(line, rig.now)
        todo = rig.send(b"")
        while isinstance(todo, Listen) and todo.us is not None and todo.us < 60_000_000:
            rig.now += todo.us
            todo = rig.send(b"")

    assert todo == Over(EXIT)
    assert rig.now < 1_000


def test_echo_that_two_lines_do_not_share_is_played() -> None:
    """Also when the driver thought better of what it had typed."""
    rig = Rig(*three())
    rig.send(b"su")
    rig.send(b"\x7ft")
    assert rig.output == b"$ sut"

    rig.send(b"op\r")
    assert rig.output == b"$ sutop[ok]$ "


def test_a_driver_that_gives_up_in_the_middle_of_a_moved_line_changed_it() -> None:
    """The line that it had begun is the one that it is told of."""
    rig = Rig(*three())
    rig.send(b"st")
    rig.engine.input_ended()
    rig.send(b"")

    assert rig.kinds == ["input-changed"]
    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "stop<enter>"


def test_more_than_a_later_input_is_not_that_input() -> None:
    """A key that was recorded alone is not the first letter of a line."""
    rig = Rig(Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"y"),
              Resized(4, OTHER), Output(5, b"Y"))  # fmt: skip
    rig.engine.feed(b"yes\r", 0)
    rig.send(b"")

    assert rig.kinds == ["input-changed"]


def test_a_line_that_is_none_of_them_may_still_be_corrected() -> None:
    """For as long as in strict order."""
    rig = Rig(*three())
    todo = rig.send(b"x")

    assert todo == Listen(2_000_000)
    rig.send(b"\x7fwho\r")
    assert rig.output == b"$ who[me]$ "
    assert rig.kinds == []


def test_an_unknown_order_is_an_error() -> None:
    """It names those that there are."""
    with pytest.raises(ValueError, match="strict, loose"):
        Matching(order="lose")
