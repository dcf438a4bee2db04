"""The stand-in as a state machine: what it plays, awaits and complains about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from ptycassette.model.records import (
    ExitStatus,
    Finished,
    FrameRecord,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.replaying.standin.comparison import Halt, Listen
from ptycassette.replaying.standin.comparison import RunEnded as Over
from tests.standins import OTHER, SIZE, Rig

EXIT = ExitStatus(code=3, exited=True, signaled=False)


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


def test_a_sequence_split_into_single_bytes_is_one_key() -> None:
    """An arrow key, a byte at a time."""
    rig = Rig(Typed(0, b"\x1b[A"), Output(1, b"up"), Finished(t_us=2, exit=EXIT))
    for byte in (b"\x1b", b"["):
        rig.send(byte)
        assert rig.output == b""

    assert rig.send(b"A") == Over(EXIT)


def test_a_lone_escape_waits_where_the_terminal_was_asked_something() -> None:
    """It could be the head of an answer for 50 ms."""
    rig = Rig(
        Output(0, b"\x1b[c"), Typed(1, b"\x1b"), Output(2, b"esc"), Finished(t_us=3, exit=EXIT)
    )

    rig.run()

    assert rig.send(b"\x1b") == Listen(50_000)
    assert rig.run(wait_us=50_000) == Over(EXIT)


END, END_OF_PIPE = "the terminal hangs up", "the pipe ends"
QUIET = ("cont", "winch", "urg", "chld")
Act = bytes | Size | str | int
"""What a driver does: it types, sets a size, sends a signal, ends its input, or waits (in us)."""


class Case(NamedTuple):
    """What was recorded, what the driver does, and what comes of it."""

    recorded: list[JournalEvent]
    acts: list[Act]
    kinds: tuple[str, ...] = ()
    over: Over | None = Over(EXIT)  # None: whatever
    output: bytes | None = None
    expected: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})


def to_end(*items: JournalEvent) -> list[JournalEvent]:
    """A recording that ends as ``EXIT`` says."""
    return [*items, Finished(t_us=9_000_000, exit=EXIT)]


TWO_LINES = to_end(Typed(0, b"one\r"), Output(1, b"1"), Typed(2, b"two\r"), Output(3, b"2"))
COLON_Q = to_end(Output(0, b":"), Typed(1, b"q"))
MIDDLE, TINY = Size(rows=26, cols=90), Size(rows=5, cols=5)
CHANGED, MISSING, EXTRA = ("input-changed",), ("input-missing",), ("input-extra",)
RESIZED = ("resize-changed",)
LATE_SIZE = {"recorded_size": SIZE, "size": OTHER}
CASES = {
    # -- lines and keys
    "a pasted script is taken apart": Case(TWO_LINES, [b"one\rtwo\r"], output=b"12"),
    "a lone Escape is taken at once where it was recorded, and nothing else is awaited": Case(
        to_end(Typed(0, b"\x1b"), Output(1, b"esc")), [b"\x1b"]
    ),
    "a recorded key split over records waits for its last": Case(
        to_end(Typed(0, b"\x1b"), Typed(1, b"[A"), Output(2, b"up")), [b"\x1b[A"]
    ),
    "a typo that is corrected means the same": Case(hello(), [b"hx\x7fi\r"]),
    "a key may be corrected for a while": Case(COLON_Q, [b"x", 1_000_000, b"\x7fq"]),
    "a line may be corrected at any time": Case(
        hello(), [b"hx", 30_000_000, b"\x7fi", 30_000_000, b"\r"]
    ),
    "half a line stays the driver's": Case(
        to_end(Typed(0, b"he"), Resized(1, OTHER), Typed(2, b"y\r")),
        [b"hx", 30_000_000, b"\x7fe", OTHER, b"y\r"],
    ),
    "a key that was typed for any other ends at its timeout": Case(
        hello(), [b"q", 60_000_000], output=b"> HI\r\nbye", options={"strategy": "any"}
    ),
    "a wrong line is certain with its Enter": Case(hello(), [b"ho\r"], CHANGED, None),
    "a paste that never ends is not that paste": Case(
        to_end(Typed(0, b"\x1b[200~hi\x1b[201~\r")), [b"\x1b[200~ho", 60_000_000], CHANGED, None
    ),
    "exact finds the first byte that differs": Case(
        hello(), [b"hi\n"], CHANGED, None, b"> HI", options={"strategy": "exact"}
    ),
    "an Escape whose sequence never went on is extra at the end": Case(
        to_end(Typed(0, b"a\r")), [b"a\r\x1b"], EXTRA, None
    ),
    "who hangs up in the middle of a line changed it": Case(hello(), [b"h", END], CHANGED, None),
    "the end of a pipe is what Ctrl-D was typed for": Case(
        to_end(Typed(0, b"1+1\r"), Output(1, b"2"), Typed(2, b"\x04")), [b"1+1\n", END_OF_PIPE]
    ),
    "a terminal that was closed sent no Ctrl-D": Case(
        to_end(Typed(2, b"\x04")), [END], MISSING, None
    ),
    "answers are known by their shape where other recorders wrote no source": Case(
        to_end(Output(0, b"\x1b[c"), Typed(1, b"\x1b[?62c"), Output(2, b"ok")), []
    ),
    # -- sizes
    "a size that is set late is neither a wrong start nor a resize": Case(
        hello(), [0, SIZE], over=None, output=b"> ", options=LATE_SIZE
    ),
    "a resize before the first step is no wrong start": Case(
        to_end(Resized(1, OTHER)), [OTHER], options={"recorded_size": SIZE}
    ),
    "resizes that the system merged are the recorded ones": Case(
        to_end(Resized(1, MIDDLE), Resized(2, OTHER), Output(3, b"b")), [0, OTHER]
    ),
    "a resize to another size": Case(
        to_end(Resized(1, OTHER)), [0, TINY], RESIZED, None, expected="30 rows x 100 columns"
    ),
    "a resize that nobody recorded": Case(hello(), [0, OTHER], RESIZED, None),
    "a resize that never comes is missing": Case(
        to_end(Resized(1, OTHER)), [1000], MISSING, None,
        expected="resize to 30 rows x 100 columns", options={"input_timeout_us": 1000},
    ),
    "over pipes there is no size": Case(
        to_end(Resized(1, OTHER), Output(2, b"x")), [], options={"size": None}
    ),
    # -- signals
    "a signal may come before its place": Case(
        to_end(Output(0, b"a"), Signalled(1, "term"), Output(2, b"b")), ["term"], output=b"ab"
    ),
    "a signal that is recorded later waits for its place": Case(
        to_end(Typed(0, b"a\r"), Signalled(1, "term")), ["term", b"a\r"]
    ),
    "a signal waits while a key other than its own is recorded": Case(
        to_end(Typed(0, b"a\r"), Typed(1, b"\x03")), ["int", 0, b"a\r"]
    ),
    "a signal that never comes is missing": Case(
        to_end(Signalled(1, "term")), [1000], MISSING, None,
        expected="signal term", options={"input_timeout_us": 1000},
    ),
    "Ctrl-C is the signal int": Case(to_end(Signalled(1, "int"), Output(2, b"b")), [b"\x03"]),
    "the signal int is Ctrl-C": Case(to_end(Typed(1, b"\x03"), Output(2, b"b")), ["int"]),
    "the signal quit is Ctrl-backslash": Case(to_end(Typed(1, b"\x1c")), ["quit"]),
    "exact tells a signal from a key": Case(
        to_end(Typed(1, b"\x03")), ["int"], EXTRA, None, options={"strategy": "exact"}
    ),
    "a signal that nobody recorded ends the run": Case(
        hello(), [0, "hup"], EXTRA, Over(None, complete=False, killed_by="hup"),
        options={"lenient": True},
    ),
    **{
        f"{name} need not be sent": Case(to_end(Signalled(1, name), Output(2, b"b")), [])
        for name in QUIET
    },
    **{
        f"{name} may be sent": Case(to_end(Typed(1, b"a\r")), [name, 0, b"a\r"])
        for name in QUIET
    },
    # -- lenient
    "one mistake is one divergence, and the rest is played": Case(
        TWO_LINES, [b"uno\rtwo\r"], CHANGED, output=b"12", options={"lenient": True}
    ),
    "exact leaves out the rest of the line": Case(
        TWO_LINES, [b"uno\rtwo\r"], CHANGED, options={"lenient": True, "strategy": "exact"}
    ),
    **{
        f"goes on without a missing {type(missing).__name__}": Case(
            to_end(missing, Output(1, b"1")), [5], MISSING,
            options={"lenient": True, "input_timeout_us": 5},
        )
        for missing in (Typed(0, b"x\r"), Resized(0, OTHER), Signalled(0, "term"))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_what_a_driver_does(name: str) -> None:
    """How the run ends, what diverged, what was played, and what was expected instead."""
    case = CASES[name]
    rig = Rig(*case.recorded, **case.options)
    for act in case.acts:
        match act:
            case bytes():
                rig.send(act)
            case int():
                rig.run(wait_us=act)
            case Size():
                rig.engine.resized(act, rig.now)
            case "the terminal hangs up" | "the pipe ends":
                rig.engine.input_ended(of_pipe=act == END_OF_PIPE)
            case str():
                rig.engine.signalled(act, rig.now)
    over = rig.run()

    assert case.over in {None, over}
    assert tuple(rig.kinds) == case.kinds
    assert case.output in {None, rig.output}
    expected = [found.expected for found in rig.engine.divergences]
    assert case.expected is None or [one and one.text for one in expected] == [case.expected]


SPEEDS_US = (50_000, 500_000, 1_900_000, 2_500_000, 6_000_000, 30_000_000)
STRATEGIES = ("exact", "prompt", "normalised", "semantic", "any")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("pause_us", SPEEDS_US)
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([b"h", b"i", b"\r"], id="a line"),
        pytest.param([b"j", b"j", b" ", b"q"], id="keys of a pager"),
        pytest.param([b"\x1b[A", b"\x1b[B", b"\r"], id="keys of a menu"),
        pytest.param(
            [b"\xc3", b"\xa9", b"\xe2", b"\x82", b"\xac", b"\r"], id="bytes of characters"
        ),
        pytest.param([b"\x1b[", b"1;", b"5C", b"a", b"\r"], id="bytes of a key"),
        pytest.param([b"\x1b[200~a ", b"b\n", b"c\x1b[201~", b"\r"], id="pieces of a paste"),
    ],
)
def test_no_pause_between_keys_changes_the_result(
    sent: list[bytes], pause_us: int, strategy: str
) -> None:
    """However slowly a driver types, also where each key was echoed."""
    recorded: list[JournalEvent] = [Output(0, b"> ")]
    for number, piece in enumerate(sent):
        recorded += [Typed(number * 1000, piece), Output(number * 1000 + 1, b".")]
    rig = Rig(*recorded, Finished(t_us=9_000_000, exit=EXIT), strategy=strategy)
    rig.run()
    for piece in sent:
        rig.send(piece)
        over = rig.run(wait_us=pause_us)

    assert (over, rig.kinds, rig.output) == (Over(EXIT), [], b"> " + b"." * len(sent))


@pytest.mark.parametrize("pause_us", SPEEDS_US)
def test_a_recording_that_was_typed_byte_by_byte_is_read_as_one_typed_at_once(
    pause_us: int,
) -> None:
    """A character or a paste in pieces is one, however long it took."""
    keys = (b"\xc3", b"\xa9", b"\x1b[200~a", b"b\x1b[201~", b"\r")
    slow = [Typed(number * pause_us, key) for number, key in enumerate(keys)]
    rig = Rig(*slow, Finished(t_us=200_000_000, exit=EXIT))

    assert rig.send(b"".join(keys)) == Over(EXIT)
    assert [entry.text for entry in rig.engine.entries] == ["éab"]


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


def test_a_line_left_wrong_is_a_divergence_after_a_while() -> None:
    """A driver that waits for a reaction to a wrong key would wait for ever."""
    rig = Rig(Output(0, b":"), Typed(1, b"q"), Finished(t_us=2, exit=EXIT))

    assert rig.send(b"x") == Listen(2_000_000)
    rig.run(wait_us=2_000_000)
    assert rig.kinds == ["input-changed"]


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


def test_another_size_at_the_start_is_a_divergence_after_a_grace() -> None:
    """Some drivers set the size only after the start."""
    rig = Rig(*hello(), recorded_size=SIZE, size=OTHER)

    assert rig.run() == Listen(500_000)
    rig.run(wait_us=500_000)
    assert rig.kinds == ["size-mismatch"]
    assert rig.output == b""


def test_a_recorded_resize_is_awaited() -> None:
    """And nothing plays before it came."""
    rig = Rig(Output(0, b"a"), Resized(1, OTHER), Output(2, b"b"), Finished(t_us=3, exit=EXIT))
    rig.run()
    assert rig.output == b"a"

    rig.engine.resized(SIZE, rig.now)  # a signal without a change
    rig.run()
    rig.engine.resized(OTHER, rig.now)

    assert rig.run() == Over(EXIT)


@pytest.mark.parametrize("name", ["tstp", "ttin", "ttou"])
def test_a_program_that_was_stopped_stops_where_it_was_continued(name: str) -> None:
    """After what it wrote on the way, once, and only if the driver has sent the signal."""
    recorded = [
        Signalled(1, name), Output(2, b"bye"), Signalled(3, "cont"), Output(4, b"back"),
        Signalled(5, "cont"), Finished(t_us=6, exit=EXIT),
    ]  # fmt: skip
    rig = Rig(*recorded)
    rig.run()
    rig.engine.signalled(name, rig.now)

    assert (rig.run(), rig.output) == (Halt(name), b"bye")
    assert (rig.run(), rig.output) == (Over(EXIT), b"byeback")
    assert not rig.engine.diverged

    unstopped = Rig(*recorded, lenient=True, input_timeout_us=5)
    assert unstopped.run(wait_us=5) == Over(EXIT)
    assert unstopped.kinds == list(MISSING)


def test_a_program_that_handled_its_stop_signal_goes_on() -> None:
    """Nothing continued it, so it never stood still."""
    rig = Rig(Signalled(1, "tstp"), Output(2, b"no"), Finished(t_us=6, exit=EXIT))
    rig.engine.signalled("tstp", rig.now)

    assert rig.run() == Over(EXIT)


def test_a_recorded_kill_is_announced_because_nobody_learns_of_it() -> None:
    """A stand-in says before that all went well."""
    rig = Rig(Signalled(1, "term"), Signalled(2, "kill"), Finished(t_us=3, exit=EXIT))
    rig.run()
    assert not rig.engine.awaits_kill

    rig.engine.signalled("term", rig.now)
    rig.run()

    assert rig.engine.awaits_kill


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
