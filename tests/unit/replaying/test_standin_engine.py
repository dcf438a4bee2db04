"""The stand-in as a state machine: what it plays, awaits and complains about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptycassette.model import (
    ExitStatus,
    Finished,
    FrameRecord,
    InputRecord,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Size,
    Typed,
)
from ptycassette.model.geometry import Cursor
from ptycassette.replaying.standin.decisions import Listen, Play, StandinOptions
from ptycassette.replaying.standin.decisions import RunEnded as Over
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.testing import events_of
from ptycassette.timeline.match import Matching

SIZE = Size(rows=24, cols=80)
OTHER = Size(rows=30, cols=100)
EXIT = ExitStatus(code=3, exited=True, signaled=False)


class Rig:
    """An engine with a clock; ``run`` steps until it waits, and collects what is played."""

    def __init__(
        self,
        *items: JournalEvent | FrameRecord,
        strategy: str = "prompt",
        size: Size | None = SIZE,
        screen: Callable[[int], tuple[str, ...]] | None = None,
        **options: object,
    ) -> None:
        events = events_of(*items)
        inputs = [event.record for event in events if isinstance(event.record, InputRecord)]
        self.now = 0
        self.output = b""
        self.engine = StandinEngine(
            events,
            inputs,
            options=StandinOptions(**options),  # type: ignore[arg-type]
            matching=Matching(strategy),
            size=size,
            screen=screen,
        )

    def run(self, *, wait_us: int = 0) -> Listen | Over:
        """Step until the engine listens longer than ``wait_us`` in all, or is finished."""
        while True:
            todo = self.engine.step(self.now)
            if isinstance(todo, Play):
                self.output += todo.event.data
            elif isinstance(todo, Listen) and todo.us is not None and todo.us <= wait_us:
                self.now += todo.us
                wait_us -= todo.us
            else:
                return todo

    def send(self, data: bytes, *, wait_us: int = 0) -> Listen | Over:
        """Type, and run."""
        self.engine.feed(data, self.now)
        return self.run(wait_us=wait_us)

    @property
    def kinds(self) -> list[str]:
        """The divergences found so far."""
        return [divergence.kind for divergence in self.engine.divergences]


def hello() -> list[JournalEvent]:
    """A prompt, a line typed key by key with echo, an answer, the end."""
    return [
        Output(0, b"> "),
        Typed(100_000, b"h"),
        Output(110_000, b"H"),
        Typed(200_000, b"i"),
        Output(210_000, b"I"),
        Typed(300_000, b"\r"),
        Output(400_000, b"\r\nbye"),
        Finished(t_us=500_000, exit=EXIT),
    ]


def test_output_plays_until_the_recording_has_input() -> None:
    """Then the driver must act."""
    rig = Rig(*hello())

    assert isinstance(rig.run(), Listen)
    assert rig.output == b"> "


@pytest.mark.parametrize("strategy", ["exact", "prompt", "normalised", "semantic"])
def test_keys_are_echoed_as_they_come(strategy: str) -> None:
    """The recorded echo of each key plays when that key was sent."""
    rig = Rig(*hello(), strategy=strategy)
    rig.send(b"h")
    assert rig.output == b"> H"

    rig.send(b"i")
    assert rig.output == b"> HI"

    assert rig.send(b"\r") == Over(EXIT)
    assert rig.output == b"> HI\r\nbye"
    assert not rig.engine.diverged


@pytest.mark.parametrize("strategy", ["exact", "prompt", "normalised", "semantic", "any"])
def test_merged_input_that_came_early_is_taken_apart(strategy: str) -> None:
    """Everything at once, before the first byte was played."""
    rig = Rig(*hello(), strategy=strategy)

    assert rig.send(b"hi\r") == Over(EXIT)
    assert rig.output == b"> HI\r\nbye"


def test_several_exchanges_at_once_are_taken_apart() -> None:
    """A driver that pastes a script of commands."""
    rig = Rig(
        Output(0, b"$"), Typed(1, b"a\r"), Output(2, b"A"), Typed(3, b"b\r"), Output(4, b"B"),
        Finished(t_us=5, exit=EXIT),
    )  # fmt: skip

    assert rig.send(b"a\rb\r") == Over(EXIT)
    assert rig.output == b"$AB"


def test_a_sequence_split_into_single_bytes_is_one_key() -> None:
    """An arrow key, a byte at a time."""
    rig = Rig(Typed(0, b"\x1b[A"), Output(1, b"up"), Finished(t_us=2, exit=EXIT))
    for byte in (b"\x1b", b"["):
        rig.send(byte)
        assert rig.output == b""

    assert rig.send(b"A") == Over(EXIT)


def test_a_lone_escape_is_taken_at_once_where_it_was_recorded() -> None:
    """Nothing else is awaited, so nothing is gained by waiting for more."""
    rig = Rig(Typed(0, b"\x1b"), Output(1, b"esc"), Finished(t_us=2, exit=EXIT))

    assert rig.send(b"\x1b") == Over(EXIT)


def test_a_lone_escape_waits_where_the_terminal_was_asked_something() -> None:
    """It could be the head of an answer for 50 ms."""
    rig = Rig(
        Output(0, b"\x1b[c"), Typed(1, b"\x1b"), Output(2, b"esc"), Finished(t_us=3, exit=EXIT)
    )

    rig.run()

    assert rig.send(b"\x1b") == Listen(50_000)
    assert rig.run(wait_us=50_000) == Over(EXIT)


def test_time_between_events_is_kept_in_realtime() -> None:
    """What follows an input is timed from the moment it came."""
    rig = Rig(*hello(), mode="realtime")
    rig.run()
    rig.now = 7_000_000

    assert rig.send(b"hi\r") == Listen(10_000)
    assert rig.run(wait_us=10_000 + 10_000) == Listen(100_000)
    assert rig.output == b"> HI"


def test_scaled_time_multiplies_the_gaps() -> None:
    """Half as fast."""
    rig = Rig(Output(0, b"a"), Output(1000, b"b"), mode="scaled", scale=2.0)

    assert rig.run() == Listen(2000)


def test_a_typo_that_is_corrected_means_the_same() -> None:
    """Under prompt."""
    rig = Rig(*hello())

    assert rig.send(b"hx\x7fi\r") == Over(EXIT)
    assert not rig.engine.diverged


def test_other_input_is_a_divergence() -> None:
    """It says what was expected, what came, where, and what stood on the screen."""
    rig = Rig(*hello(), screen=lambda seq: (f"screen after {seq}",))
    over = rig.send(b"ho\r")

    (found,) = rig.engine.divergences
    assert over == Over(None, complete=False)
    assert (found.kind, found.seq, found.t_ms, found.exchange) == ("input-changed", 2, 100, 1)
    assert found.expected is not None
    assert found.got is not None
    assert (found.expected.text, found.got.text) == ("hi<enter>", "ho<enter>")
    assert (found.expected.data, found.got.data) == (b"hi\r", b"ho\r")
    assert found.screen == ("screen after 3",)


def test_a_divergence_names_the_nearest_recorded_input() -> None:
    """The driver skipped one exchange."""
    rig = Rig(Typed(0, b"first\r"), Typed(5000, b"second\r"), Finished(t_us=9000, exit=EXIT))
    rig.send(b"second\r")

    near = rig.engine.divergences[0].nearest
    assert near is not None
    assert (near.exchange, near.seq, near.t_ms, near.similarity) == (2, 2, 5, 1.0)


def test_exact_finds_the_first_byte_that_differs() -> None:
    """CR and LF are not the same."""
    rig = Rig(*hello(), strategy="exact")
    rig.send(b"hi\n")

    assert rig.kinds == ["input-changed"]
    assert rig.output == b"> HI"


def test_a_line_left_wrong_is_a_divergence_after_a_while() -> None:
    """A driver that waits for a reaction to a wrong key would wait for ever."""
    rig = Rig(Output(0, b":"), Typed(1, b"q"), Finished(t_us=2, exit=EXIT))

    assert rig.send(b"x") == Listen(2_000_000)
    rig.run(wait_us=2_000_000)
    assert rig.kinds == ["input-changed"]


def test_a_typo_may_be_corrected_within_that_while() -> None:
    """Then nothing diverged."""
    rig = Rig(Output(0, b":"), Typed(1, b"q"), Finished(t_us=2, exit=EXIT))
    rig.send(b"x", wait_us=1_000_000)

    assert rig.send(b"\x7fq") == Over(EXIT)


def test_input_behind_the_last_recorded_one_is_extra() -> None:
    """At once, not only at the end."""
    rig = Rig(
        Typed(0, b"a\r"), Output(1, b"x"), Output(9_000_000, b"y"),
        Finished(t_us=9_000_001, exit=EXIT),
        mode="realtime",
    )  # fmt: skip
    rig.send(b"a\r", wait_us=1)
    rig.send(b"more")

    assert rig.kinds == ["input-extra"]
    assert rig.engine.divergences[0].got is not None
    assert rig.engine.divergences[0].got.text == "more"


def test_input_that_is_pending_at_the_end_is_extra() -> None:
    """An Escape whose sequence never went on."""
    rig = Rig(Typed(0, b"a\r"), Finished(t_us=1, exit=EXIT))
    rig.send(b"a\r\x1b")

    assert rig.kinds == ["input-extra"]


def test_a_driver_that_hangs_up_leaves_input_missing() -> None:
    """It says what was not sent, and what was never played."""
    rig = Rig(*hello())
    rig.run()
    rig.engine.input_ended()
    over = rig.run()

    unplayed = rig.engine.unplayed()
    assert over == Over(None, complete=False)
    assert rig.kinds == ["input-missing"]
    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "hi<enter>"
    assert (unplayed.inputs, unplayed.outputs, unplayed.output_bytes) == (3, 3, 7)


def test_a_driver_that_hangs_up_in_the_middle_of_a_line_changed_it() -> None:
    """What it had typed is shown."""
    rig = Rig(*hello())
    rig.send(b"h")
    rig.engine.input_ended()
    rig.run()

    assert rig.kinds == ["input-changed"]


def test_a_driver_that_does_nothing_runs_into_the_timeout() -> None:
    """Counted from its last act."""
    rig = Rig(*hello(), input_timeout_us=1_000_000)

    assert rig.run() == Listen(1_000_000)
    rig.run(wait_us=900_000)
    rig.now += 900_000
    assert isinstance(rig.send(b"h"), Listen)
    rig.run(wait_us=1_000_000)
    assert rig.kinds == ["input-changed"]


def test_without_a_timeout_the_driver_is_awaited_for_ever() -> None:
    """As a real program would."""
    rig = Rig(*hello(), input_timeout_us=None)

    assert rig.run() == Listen(None)


def test_the_end_of_a_pipe_is_what_ctrl_d_was_typed_for() -> None:
    """Recorded at a terminal, played over a pipe."""
    rig = Rig(Typed(0, b"1+1\r"), Output(1, b"2"), Typed(2, b"\x04"), Finished(t_us=3, exit=EXIT))
    rig.send(b"1+1\n")
    rig.engine.input_ended(of_pipe=True)

    assert rig.run() == Over(EXIT)


def test_hanging_up_is_no_ctrl_d() -> None:
    """A terminal that was closed did not send it."""
    rig = Rig(Typed(2, b"\x04"), Finished(t_us=3, exit=EXIT))
    rig.engine.input_ended()
    rig.run()

    assert rig.kinds == ["input-missing"]


def test_answers_of_the_terminal_are_neither_awaited_nor_compared() -> None:
    """No answer, another answer, the same one, all at once: nothing diverges."""
    recorded: list[JournalEvent] = [
        Output(0, b"\x1b[c\x1b[6n"),
        Typed(1, b"\x1b[?62;4c\x1b[1;1R", source="terminal"),
        Output(2, b"ready"),
        Typed(3, b"go\r"),
        Finished(t_us=4, exit=EXIT),
    ]
    for answer in (b"", b"\x1b[?1;2c", b"\x1b[?62;4c\x1b[1;5R"):
        rig = Rig(*recorded, strategy="exact")
        rig.run()
        assert rig.output.endswith(b"ready")
        rig.send(answer)

        assert rig.send(b"go\r") == Over(EXIT)
        assert not rig.engine.diverged


def test_answers_recorded_without_a_source_are_not_awaited_either() -> None:
    """Other recorders write no source; their shape tells."""
    rig = Rig(
        Output(0, b"\x1b[c"), Typed(1, b"\x1b[?62c"), Output(2, b"ok"), Finished(t_us=3, exit=EXIT)
    )

    assert rig.run() == Over(EXIT)


def test_another_size_at_the_start_is_a_divergence_after_a_grace() -> None:
    """Some drivers set the size only after the start."""
    rig = Rig(*hello(), recorded_size=SIZE, size=OTHER)

    assert rig.run() == Listen(500_000)
    rig.run(wait_us=500_000)
    assert rig.kinds == ["size-mismatch"]
    assert rig.output == b""


def test_a_size_that_is_set_late_is_no_divergence() -> None:
    """And no resize."""
    rig = Rig(*hello(), recorded_size=SIZE, size=OTHER)
    rig.run()
    rig.engine.resized(SIZE, rig.now)
    rig.run()

    assert rig.output == b"> "
    assert not rig.engine.diverged


def test_a_recorded_resize_is_awaited() -> None:
    """And nothing plays before it came."""
    rig = Rig(Output(0, b"a"), Resized(1, OTHER), Output(2, b"b"), Finished(t_us=3, exit=EXIT))
    rig.run()
    assert rig.output == b"a"

    rig.engine.resized(SIZE, rig.now)  # a signal without a change
    rig.run()
    rig.engine.resized(OTHER, rig.now)

    assert rig.run() == Over(EXIT)


def test_a_resize_before_the_first_step_is_no_wrong_start() -> None:
    """It started at the recorded size; the resize was only fast."""
    rig = Rig(Resized(1, OTHER), Output(2, b"b"), Finished(t_us=3, exit=EXIT), recorded_size=SIZE)
    rig.engine.resized(OTHER, 0)

    assert rig.run() == Over(EXIT)
    assert not rig.engine.diverged


def test_resizes_that_the_system_merged_are_the_recorded_ones() -> None:
    """Two recorded resizes, one signal."""
    middle = Size(rows=26, cols=90)
    rig = Rig(Resized(1, middle), Resized(2, OTHER), Output(3, b"b"), Finished(t_us=4, exit=EXIT))
    rig.run()
    rig.engine.resized(OTHER, rig.now)

    assert rig.run() == Over(EXIT)
    assert not rig.engine.diverged


def test_a_resize_to_another_size_is_a_divergence() -> None:
    """Expected and got are sizes."""
    rig = Rig(Resized(1, OTHER), Output(3, b"b"), Finished(t_us=4, exit=EXIT))
    rig.run()
    rig.engine.resized(Size(rows=5, cols=5), rig.now)
    rig.run()

    assert rig.kinds == ["resize-changed"]
    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "30 rows x 100 columns"


def test_a_resize_that_nobody_recorded_is_a_divergence() -> None:
    """Where none is left."""
    rig = Rig(*hello())
    rig.run()
    rig.engine.resized(OTHER, rig.now)
    rig.run()

    assert rig.kinds == ["resize-changed"]


def test_a_resize_that_never_comes_is_missing_input() -> None:
    """It names the size."""
    rig = Rig(Resized(1, OTHER), Finished(t_us=4, exit=EXIT), input_timeout_us=1000)
    rig.run(wait_us=1000)

    assert rig.kinds == ["input-missing"]
    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "resize to 30 rows x 100 columns"


def test_over_pipes_resizes_are_passed_by() -> None:
    """There is no size."""
    rig = Rig(Resized(1, OTHER), Output(2, b"x"), Finished(t_us=4, exit=EXIT), size=None)

    assert rig.run() == Over(EXIT)


def test_a_recorded_signal_is_awaited() -> None:
    """Also when it comes before its place."""
    rig = Rig(Output(0, b"a"), Signalled(1, "term"), Output(2, b"b"), Finished(t_us=3, exit=EXIT))
    rig.engine.signalled("term", 0)

    assert rig.run() == Over(EXIT)
    assert rig.output == b"ab"


def test_a_recorded_signal_that_never_comes_is_missing() -> None:
    """It names the signal."""
    rig = Rig(Signalled(1, "term"), Finished(t_us=3, exit=EXIT), input_timeout_us=1000)
    rig.run(wait_us=1000)

    assert rig.engine.divergences[0].expected is not None
    assert rig.engine.divergences[0].expected.text == "signal term"


def test_a_recorded_kill_is_announced_because_nobody_learns_of_it() -> None:
    """A stand-in says before that all went well."""
    rig = Rig(Signalled(1, "term"), Signalled(2, "kill"), Finished(t_us=3, exit=EXIT))
    rig.run()
    assert not rig.engine.awaits_kill

    rig.engine.signalled("term", rig.now)
    rig.run()

    assert rig.engine.awaits_kill


@pytest.mark.parametrize(
    ("recorded", "act"),
    [(Signalled(1, "int"), b"\x03"), (Typed(1, b"\x03"), "int"), (Typed(1, b"\x1c"), "quit")],
)
def test_a_signal_and_the_key_for_it_mean_the_same(
    recorded: JournalEvent, act: bytes | str
) -> None:
    """A line discipline makes one of the other."""
    rig = Rig(Output(0, b"a"), recorded, Output(2, b"b"), Finished(t_us=3, exit=EXIT))
    if isinstance(act, bytes):
        rig.engine.feed(act, 0)
    else:
        rig.engine.signalled(act, 0)

    assert rig.run() == Over(EXIT)
    assert not rig.engine.diverged


def test_a_signal_that_is_recorded_later_waits_for_its_place() -> None:
    """The line before it is compared first."""
    rig = Rig(Typed(0, b"a\r"), Signalled(1, "term"), Finished(t_us=3, exit=EXIT))
    rig.engine.signalled("term", 0)

    assert rig.send(b"a\r") == Over(EXIT)
    assert not rig.engine.diverged


def test_a_signal_with_a_key_of_its_own_waits_while_another_key_is_recorded() -> None:
    """The line comes first, then the Ctrl-C that the signal stands for."""
    rig = Rig(Typed(0, b"a\r"), Typed(1, b"\x03"), Finished(t_us=3, exit=EXIT))
    rig.engine.signalled("int", 0)
    assert isinstance(rig.run(), Listen)

    assert rig.send(b"a\r") == Over(EXIT)
    assert not rig.engine.diverged


def test_exact_tells_a_signal_from_a_key() -> None:
    """Bytes are bytes."""
    rig = Rig(Typed(1, b"\x03"), Finished(t_us=3, exit=EXIT), strategy="exact")
    rig.engine.signalled("int", 0)
    rig.run()

    assert rig.kinds == ["input-extra"]


def test_a_signal_that_nobody_recorded_ends_the_run() -> None:
    """And says by what."""
    rig = Rig(*hello(), lenient=True)
    rig.run()
    rig.engine.signalled("hup", rig.now)

    assert rig.run() == Over(None, complete=False, killed_by="hup")
    assert rig.kinds == ["input-extra"]


def test_lenient_goes_on_and_stays_diverged() -> None:
    """One mistake is one divergence; the rest of the recording is played."""
    rig = Rig(
        Typed(0, b"one\r"), Output(1, b"1"), Typed(2, b"two\r"), Output(3, b"2"),
        Finished(t_us=4, exit=EXIT), lenient=True,
    )  # fmt: skip

    assert rig.send(b"uno\rtwo\r") == Over(EXIT)
    assert rig.output == b"12"
    assert rig.kinds == ["input-changed"]


def test_lenient_exact_leaves_out_the_rest_of_the_line() -> None:
    """It looks for the key that ends it."""
    rig = Rig(
        Typed(0, b"one\r"), Output(1, b"1"), Typed(2, b"two\r"), Output(3, b"2"),
        Finished(t_us=4, exit=EXIT), lenient=True, strategy="exact",
    )  # fmt: skip

    assert rig.send(b"uno\rtwo\r") == Over(EXIT)
    assert rig.kinds == ["input-changed"]


@pytest.mark.parametrize("missing", [Typed(0, b"x\r"), Resized(0, OTHER), Signalled(0, "term")])
def test_lenient_goes_on_without_what_is_missing(missing: JournalEvent) -> None:
    """After the timeout."""
    rig = Rig(
        missing, Output(1, b"1"), Finished(t_us=4, exit=EXIT), lenient=True, input_timeout_us=5
    )

    assert rig.run(wait_us=5) == Over(EXIT)
    assert rig.kinds == ["input-missing"]


def test_lenient_reports_extra_input_and_other_sizes_and_goes_on() -> None:
    """Each once."""
    rig = Rig(
        Output(0, b"x"), Resized(1, OTHER), Output(9_000_000, b"y"),
        Finished(t_us=9_000_000, exit=EXIT),
        lenient=True, mode="realtime", recorded_size=SIZE, size=Size(rows=9, cols=9),
    )  # fmt: skip
    rig.run(wait_us=500_000)
    rig.send(b"extra")
    rig.engine.resized(Size(rows=5, cols=5), rig.now)

    assert rig.run(wait_us=10_000_000) == Over(EXIT)
    assert rig.kinds == ["size-mismatch", "input-extra", "resize-changed"]


def test_timing_is_checked_when_asked_for() -> None:
    """The pause before an input, in realtime."""
    recorded = [Output(0, b"?"), Typed(1_000_000, b"y\r"), Finished(t_us=1_000_001, exit=EXIT)]
    late = Rig(*recorded, mode="realtime", timing_tolerance_us=100_000)
    late.run()
    late.now = 1_200_000
    late.send(b"y\r")
    right = Rig(*recorded, mode="realtime", timing_tolerance_us=100_000)
    right.run()
    right.now = 1_050_000

    assert late.kinds == ["timing"]
    assert right.send(b"y\r", wait_us=10) == Over(EXIT)


def test_a_line_feed_for_a_return_is_noted() -> None:
    """It is no divergence."""
    rig = Rig(*hello())
    rig.send(b"hi\n")

    assert not rig.engine.diverged
    assert "line feed" in rig.engine.notes[0]


def test_frames_and_the_missing_final_are_no_obstacle() -> None:
    """A slice of a recording has no end."""
    frame = FrameRecord(
        seq=0, t_ms=0, size=SIZE, text=("x",), cursor=Cursor(row=0, col=0), raw_start=0, raw_end=1,
        parser_offset=1,
    )  # fmt: skip
    rig = Rig(Output(0, b"x"), frame)

    assert rig.run() == Over(None)
    assert rig.output == b"x"
    assert not rig.engine.unplayed()


def test_stopping_leaves_the_rest_unplayed() -> None:
    """The driver closed the terminal: nothing can be written any more."""
    rig = Rig(Output(0, b"x"), Output(1_000_000, b"yy"), mode="realtime")
    rig.run()
    rig.engine.stop()

    assert rig.run() == Over(None, complete=False)
    assert rig.engine.unplayed().output_bytes == 2


def test_a_recorded_sequence_split_over_records_waits_for_its_last() -> None:
    """The record that only begins a key is passed by."""
    rig = Rig(Typed(0, b"\x1b"), Typed(1, b"[A"), Output(2, b"up"), Finished(t_us=3, exit=EXIT))

    assert rig.send(b"\x1b[A") == Over(EXIT)
