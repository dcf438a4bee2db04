"""The player, with a terminal and a clock made of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ptycassette.model.records import (
    Event,
    FinalRecord,
    Finished,
    JournalEvent,
    Manifest,
    Output,
    Resized,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.replaying.io.replayer import (
    Checkpoints,
    PaintedView,
    Player,
    PlayOptions,
    RawView,
    status_line,
)
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.state import load_emulator, save_emulator
from ptycassette.testing import ManualClock, events_of, manifest_of

SIZE = Size(rows=3, cols=20)
STORY = (
    Output(1_000_000, b"one\r\n"),
    Typed(2_000_000, b"x"),
    Output(2_000_000, b"two\r\n"),
    Typed(6_000_000, b"y"),
    Output(8_000_000, b"three"),
    Finished(t_us=10_000_000),
)


class Tape:
    """A cassette made of a list."""

    def __init__(self, *items: JournalEvent) -> None:
        self._events = events_of(*items)
        self.passes = 0

    @property
    def manifest(self) -> Manifest:
        """Names the size."""
        return manifest_of(size=SIZE)

    @property
    def final(self) -> FinalRecord:
        """The last event."""
        record = self._events[-1].record
        assert isinstance(record, FinalRecord)
        return record

    def events(self) -> Iterator[Event]:
        """A fresh pass."""
        self.passes += 1
        return iter(self._events)


class FakeTerminal:
    """Waiting lets the clock pass; keys come at the moments that a test names."""

    def __init__(self, clock: ManualClock, size: Size, keys: dict[float, str]) -> None:
        self._clock = clock
        self._keys = sorted(keys.items())
        self.size = size
        self.resized = False
        self.suspended = 0
        self.written: list[tuple[float, bytes]] = []

    def write(self, data: bytes) -> None:
        """Keep it, with its moment."""
        self.written.append((self._clock.now_us() / 1e6, data))

    def keys(self, timeout_s: float) -> list[str]:
        """Let time pass up to the next key."""
        now_s = self._clock.now_us() / 1e6
        if self._keys and self._keys[0][0] <= now_s + timeout_s:
            at_s, names = self._keys.pop(0)
            self._clock.advance(max(0.0, at_s - now_s))
            return names.split()
        self._clock.advance(timeout_s)
        return []

    def suspend(self) -> None:
        """An hour passes."""
        self.suspended += 1
        self._clock.advance(3600)

    def shown(self) -> str:
        """What a terminal of this size shows after all that was written."""
        emulator = default_emulator(self.size)
        for _, data in self.written:
            emulator.feed(data)
        return emulator.snapshot().text


class Show:
    """A player on a fake terminal."""

    def __init__(
        self,
        keys: dict[float, str] | None = None,
        *,
        size: Size = SIZE,
        raw: bool = False,
        tape: Tape | None = None,
        **options: object,
    ) -> None:
        self.clock = ManualClock()
        self.terminal = FakeTerminal(self.clock, size, keys or {})
        self.tape = tape or Tape(*STORY)
        self.view = (
            RawView(self.terminal) if raw else PaintedView(self.terminal, default_emulator, SIZE)
        )
        self.player = Player(
            self.tape,
            self.terminal,
            self.view,
            options=PlayOptions(**options),  # type: ignore[arg-type]
            clock=self.clock,
        )

    def run(self) -> float:
        """Play; returns how many seconds passed."""
        self.player.run()
        return self.clock.now_us() / 1e6


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 10.0),
        ({"mode": "scaled", "speed": 2.0}, 5.0),
        ({"mode": "scaled", "speed": 0.5}, 20.0),
        ({"mode": "collapsed"}, 0.0),
        ({"idle_limit": 1.0}, 5.0),
        ({"end": 2.0}, 2.0),
        ({"start": 7.0}, 3.0),
        ({"start": 7.0, "idle_limit": 0.5}, 1.0),
    ],
)
def test_playing_takes_as_long_as_asked(options: dict[str, object], seconds: float) -> None:
    """The recorded time, divided by the speed, without what is cut."""
    show = Show(**options)

    assert show.run() == pytest.approx(seconds, abs=1e-5)
    assert show.terminal.shown().startswith("one\ntwo")


TALL = Size(rows=4, cols=70)
GROWS = (Resized(1, Size(rows=4, cols=20)), Output(2, b"a\r\nb\r\nc\r\nd"), Finished(t_us=3))
HOURS = (Output(0, b"x"), Finished(t_us=3_723_400_000))
SHOWN: dict[str, tuple[dict[float, str], dict[str, Any], str]] = {
    # Keys at their moments, the player, and what its terminal shows at the end.
    "a pause covers the last row where there is no room": (
        {1.5: "space", 4.5: "q"}, {}, r"one\n\n paused 0:01\.5  1x"),
    "back is the screen that was there": (
        {9.0: "space left", 9.5: "q"}, {"size": TALL}, r"one\ntwo\n\n paused 0:0.*"),
    "a larger terminal has a status below": (
        {}, {"size": TALL},
        r"one\ntwo\nthree\n playing 0:10\.0 / 0:10\.0  1x  space pause.*"),
    "a smaller one is cut, and has the room again": (
        {}, {"size": Size(rows=2, cols=75)}, r"one\ntwo"),
    "a recorded resize": ({}, {"size": Size(rows=4, cols=20), "story": GROWS}, r"a\nb\nc\nd"),
    "hours are hours": (
        {0.5: "space", 1.0: "q"}, {"size": TALL, "story": HOURS},
        r"x\n\n\n paused 0:00\.5 / 1:02:03\.4.*"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHOWN)
def test_a_terminal_shows_the_recording_and_its_status(case: str) -> None:
    """As far as there is room for them."""
    keys, given, shown = SHOWN[case]
    options = {**given}
    show = Show(keys, tape=Tape(*options.pop("story", STORY)), **options)
    show.run()

    assert re.fullmatch(shown, show.terminal.shown())


@pytest.mark.parametrize(
    ("size", "cut"), [(Size(2, 30), b"recorded at 20x3, cut to 30x2"),
                      (Size(2, 75), b"recorded at 20x3, cut to 75x2")],
)  # fmt: skip
def test_a_terminal_that_is_too_small_is_told_that_the_screen_is_cut(
    size: Size, cut: bytes
) -> None:
    """Rather than how far it is: that is said afterwards."""
    show = Show(size=size)
    show.run()

    assert any(cut in data for _, data in show.terminal.written)


def test_output_is_painted_when_it_is_due() -> None:
    """Not earlier and not later; what lies before the start of a slice is there at once."""
    whole, part = Show(), Show(start=7.0)
    for show in (whole, part):
        show.run()

    assert [at for at, data in whole.terminal.written if b"two" in data] == [2.0]
    assert part.terminal.written[0][0] == 0.0
    assert b"two" in part.terminal.written[0][1]


def test_a_step_shows_the_next_output_and_stands_still() -> None:
    """One output a step, inputs on the way are passed over."""
    show = Show({0.5: ". .", 50.0: "q"})

    assert show.run() == pytest.approx(50.0)
    assert "two" in show.terminal.shown()
    assert "three" not in show.terminal.shown()


@pytest.mark.parametrize(
    ("keys", "seconds"),
    [
        # From input to input, by five seconds, by tenths, to the ends and never beyond them.
        ({1.0: "right"}, 5.0),
        ({7.0: "left"}, 15.0),
        ({1.0: "left"}, 11.0),
        ({1.0: "end"}, 1.0),
        ({7.0: "home"}, 17.0),
        ({1.0: "5"}, 6.0),
        ({7.0: "0"}, 17.0),
        ({0.5: "]"}, 8.5),
        ({0.5: "] ]"}, 4.5),
        ({7.0: "["}, 11.0),
        ({7.0: "[ ["}, 15.0),
        ({7.0: "[ [ ["}, 15.0),
        ({7.0: "]"}, 10.0),
        ({7.0: "x"}, 10.0),
        # A pause makes it longer by itself; what was played before a change of speed stays played.
        ({1.5: "space", 4.5: "space"}, 13.0),
        ({4.0: "+"}, 4.0 + 6.0 / 1.5),
        ({4.0: "-"}, 4.0 + 6.0 * 1.5),
    ],
)
def test_keys_change_how_long_it_takes(keys: dict[float, str], seconds: float) -> None:
    """All is on the screen at the end."""
    show = Show(keys)

    assert show.run() == pytest.approx(seconds)
    assert show.terminal.shown() == "one\ntwo\nthree"


@pytest.mark.parametrize(
    ("keys", "options", "seconds"),
    [
        ({1.0: "home"}, {"start": 6.0}, 5.0),
        ({1.0: "5"}, {"start": 6.0, "end": 8.0}, 2.0),
        ({0.0: "> " * 99}, {}, 0.1),
        ({0.5: ". . . . . .", 50.0: "q"}, {}, 50.0),  # there is no output behind the last
        *(({3.0: key}, {}, 3.0) for key in ("q", "Q", "ctrl-c", "ctrl-d")),
    ],
)
def test_bounds_slices_and_quitting_have_their_time(
    keys: dict[float, str], options: dict[str, object], seconds: float
) -> None:
    """Home is the start of the slice, and percents are of the slice."""
    assert Show(keys, **options).run() == pytest.approx(seconds)


def test_looping_goes_on_until_the_user_quits() -> None:
    """Each time round takes as long, and starts on an empty screen."""
    show = Show({25.0: "q"}, loop=True)

    assert show.run() == pytest.approx(25.0)
    assert show.tape.passes == 3
    assert "three" not in show.view.screen.text  # type: ignore[union-attr]


def test_an_empty_recording_does_not_spin_when_looped() -> None:
    """There is a breath between two rounds."""
    show = Show({1.0: "q"}, loop=True, tape=Tape(Finished(t_us=0)))
    show.run()

    assert show.tape.passes < 40


def test_a_stopped_player_goes_on_where_it_was() -> None:
    """The hour in the background is no part of the recording."""
    show = Show({4.0: "ctrl-z"})

    assert show.run() == pytest.approx(3610.0)
    assert show.terminal.suspended == 1


@pytest.mark.parametrize(
    ("cols", "line"),
    [
        (80, " playing 0:01.0 / 0:10.0  1x  space pause  q quit"),
        (40, " playing 0:01.0 / 0:10.0  1x  q quit"),
        (24, " playing 0:01.0 / 0:10.0"),
        (23, " playing 0:01.0  1x"),
        (10, " 0:01.0"),
        (3, "0:0"),
    ],
)
def test_a_status_line_fits(cols: int, line: str) -> None:
    """Whole words of it, whatever the width."""
    states = ["playing 0:01.0 / 0:10.0", "playing 0:01.0", "0:01.0"]

    assert status_line(states, ("1x", "space pause", "q quit"), cols) == line


def test_a_terminal_that_changed_its_size_is_painted_anew() -> None:
    """From a cleared screen."""
    show = Show({3.0: "x"})
    show.terminal.resized = True
    show.run()

    assert sum(b"\x1b[2J" in data for _, data in show.terminal.written) == 2


def test_under_continuous_output_painting_is_limited() -> None:
    """A thousand outputs within one moment are not a thousand paintings."""
    outputs = [Output(1, b"%d\r\n" % number) for number in range(1000)]
    show = Show(tape=Tape(*outputs, Finished(t_us=1)))
    show.run()

    assert len(show.terminal.written) < 5


def test_raw_writes_the_bytes_and_knows_no_way_back() -> None:
    """Seeking keys do nothing, all others work; nothing else is written."""
    show = Show({5.0: "left 0", 6.0: "space", 7.0: "space", 8.0: "+"}, raw=True)
    show.terminal.resized = True

    assert show.run() == pytest.approx(8.0 + 3.0 / 1.5)
    assert b"".join(data for _, data in show.terminal.written) == b"one\r\ntwo\r\nthree"


def test_raw_looping_clears_between_rounds() -> None:
    """The second time round starts on a cleared screen."""
    show = Show({11.5: "q"}, raw=True, loop=True)
    show.run()

    assert [data for _, data in show.terminal.written][-2:] == [b"\x1b[0m\x1b[2J\x1b[H", b"one\r\n"]


def test_a_long_seek_says_that_it_is_under_way() -> None:
    """Every now and then, while nothing else moves."""
    show = Show({0.5: "end"}, size=Size(rows=4, cols=70))
    feed = show.view.feed

    def slow(event: Event) -> None:
        show.clock.advance(0.3)
        feed(event)

    show.view.feed = slow  # type: ignore[method-assign]
    show.run()

    assert any(b"seeking 0:0" in data for _, data in show.terminal.written)


def test_seeking_back_goes_on_from_a_kept_state() -> None:
    """Nothing is fed twice, and nothing is left out."""
    outputs = [Output(n * 1_000_000, b"%d," % n) for n in range(10)]
    clock = ManualClock()
    terminal = FakeTerminal(clock, SIZE, {})
    kept = Checkpoints(save_emulator, load_emulator, every_bytes=6)
    view = PaintedView(terminal, default_emulator, SIZE, checkpoints=kept)
    tape = Tape(*outputs, Finished(t_us=10_000_000))
    player = Player(tape, terminal, view, clock=clock)
    seen = []
    for moment_us in (9_500_000, 6_500_000, 7_000_000, 2_000_000, 9_000_000):
        player._seek(moment_us)
        seen.append(view.screen.text)

    assert seen == [
        "0,1,2,3,4,5,6,7,8,9,",
        "0,1,2,3,4,5,6,",
        "0,1,2,3,4,5,6,7,",
        "0,1,2,",
        "0,1,2,3,4,5,6,7,8,9,",
    ]
