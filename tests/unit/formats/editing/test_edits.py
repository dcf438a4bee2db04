"""Edits of a session: what is left, when it happens, and what the screen shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.formats.editing.masking import (
    BadEditError,
    Region,
    Take,
    annotate,
    change_speed,
    cut,
    join,
    limit_pauses,
    mask_region,
    mask_stretch,
    trim,
)
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    Harness,
    JournalEvent,
    Noted,
    Output,
    Resized,
    SessionMeta,
    StreamKinds,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from tests.examples import examples

SIZE = Size(rows=5, cols=20)
EXIT = ExitStatus(code=0, exited=True, signaled=False)
SESSION: tuple[JournalEvent, ...] = (
    Output(100, b"\x1b]2;shell\x07$ "),
    Typed(200, b"ls\r"),
    Output(300, b"ls\r\n\x1b[31mone"),
    Output(400, b"  two\x1b[m\r\n$ "),
    Typed(500, b"vi\r"),
    Output(600, b"\x1b[?1049h\x1b[2;3Hedit\xe6\xbc"),
    Output(700, b"\xa2\x1b[1;3r"),
    Resized(800, Size(rows=4, cols=16)),
    Noted(900, {"note": 1}),
    Output(1_000, b"\x1b[5Cmore"),
    Output(1_100, b"\x1b[r\x1b[?1049l$ bye"),
    Finished(t_us=1_200, exit=EXIT),
)


def take_of(*events: JournalEvent, size: Size = SIZE, streams: StreamKinds | None = None) -> Take:
    """A session of these events."""
    meta = SessionMeta(
        id="id",
        argv=("sh",),
        size=size,
        recorded_at="",
        harness=Harness(name="sh"),
        streams=streams,
    )
    return Take(meta=meta, source=lambda: iter(events), end_us=events[-1].t_us, name="it")


def shown(take: Take) -> Iterator[tuple[int, JournalEvent, object]]:
    """Each event, with the screen after it."""
    screen = PyteEmulator(take.meta.size)
    for event in take.source():
        match event:
            case Output(data=data):
                screen.feed(data)
            case Resized(size=size):
                screen.resize(size)
        yield event.t_us, event, screen.snapshot()


@pytest.mark.parametrize("start_us", range(0, 1_150, 50))
@pytest.mark.parametrize("length_us", [50, 100, 250, 600])
def test_what_follows_a_cut_finds_the_screen_that_was_cut_out(
    start_us: int, length_us: int
) -> None:
    """Before the cut nothing changes; after it every event has its screen, and came sooner."""
    whole = list(shown(take_of(*SESSION)))
    stop_us = min(start_us + length_us, 1_200)
    made = list(shown(cut(take_of(*SESSION), start_us, stop_us)))

    before = [one for one in whole if one[0] < start_us]
    after = [(t_us - (stop_us - start_us), *rest) for t_us, *rest in whole if t_us >= stop_us]
    assert made[: len(before)] == before
    assert [(t_us, screen) for t_us, _, screen in made[-len(after) :]] == [
        (t_us, screen) for t_us, _, screen in after
    ]
    assert [type(one[1]) for one in made[-len(after) :]] == [type(one[1]) for one in after]
    between = [one[1] for one in made[len(before) : -len(after)]]
    assert all(isinstance(event, Output | Resized) for event in between)
    assert all(one[0] <= other[0] for one, other in pairwise(made))


def test_a_cut_leaves_no_byte_of_what_is_not_shown_any_more() -> None:
    """Typed and painted over: neither is in what is left."""
    made = list(cut(take_of(*SESSION), 450, 1_050).source())

    assert not any(isinstance(event, Typed) and event.data == b"vi\r" for event in made)
    assert not any(isinstance(event, Noted) for event in made)
    tail = list(cut(take_of(*SESSION), 450, 1_150).source())
    assert b"edit" not in b"".join(one.data for one in tail if isinstance(one, Output))
    assert tail[-1] == Finished(t_us=500, exit=EXIT)


@pytest.mark.parametrize("start_us", [0, 50, 350, 650, 850, 1_050])
@pytest.mark.parametrize("stop_us", [1_060, 1_100, 5_000])
def test_trimming_keeps_one_stretch_and_its_screens(start_us: int, stop_us: int) -> None:
    """From its beginning, which is at 0, to its end, which is the end; both included."""
    if (start_us, stop_us) == (0, 5_000):
        return
    whole = list(shown(take_of(*SESSION)))
    take = trim(take_of(*SESSION), start_us, stop_us)
    made = list(shown(take))

    kept = [
        (t_us - start_us, screen)
        for t_us, event, screen in whole
        if start_us <= t_us <= stop_us and not isinstance(event, Finished)
    ]
    left = [(t_us, screen) for t_us, event, screen in made if not isinstance(event, Finished)]
    assert left[len(left) - len(kept) :] == kept
    assert len(left) - len(kept) <= 1
    assert made[-1][1] == Finished(t_us=take.end_us, exit=EXIT)
    assert take.end_us == min(stop_us + 1, 1_200) - start_us


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda take: cut(take, 1_200, 1_300), "nothing to cut"),
        (lambda take: cut(take, 500, 500), "nothing to cut"),
        (trim, "keeps all of it"),
        (lambda take: trim(take, 800, 700), "is before"),
        (lambda take: join([take]), "two recordings or more"),
        (lambda take: change_speed(take, 0), "above 0"),
        (lambda take: change_speed(take, float("nan")), "above 0"),
        (lambda take: change_speed(take, 2, 5_000, 6_000), "there is nothing between"),
        (lambda take: limit_pauses(take, -1), "0 or more"),
        (lambda take: annotate(take, 5_000, "x"), "ends at"),
        (lambda take: annotate(take, 0, " "), "has a text"),
        (lambda take: mask_stretch(take, 1_150), "nothing was shown"),
        (
            lambda take: mask_region(take, Region(row=5, column=1, rows=1, columns=9), 0, 400),
            "nothing was shown",
        ),
    ],
)  # fmt: skip
def test_an_edit_that_does_not_fit_says_why(edit: Callable[[Take], Take], reason: str) -> None:
    """Before anything is written."""
    with pytest.raises(BadEditError, match=reason):
        edit(take_of(*SESSION))


def test_joined_recordings_begin_on_a_fresh_screen_of_their_own_size() -> None:
    """The second one's screens are what they were; only the last one's end is left."""
    second = take_of(Output(10, b"hi"), Finished(t_us=20), size=Size(rows=2, cols=9))
    take = join([take_of(*SESSION), second], gap_us=300)
    made = list(shown(take))

    assert made[: len(SESSION) - 1] == list(shown(take_of(*SESSION)))[:-1]
    assert [(t_us, screen) for t_us, _, screen in made[-2:]] == [
        (1_500 + t_us, screen) for t_us, _, screen in shown(second)
    ]
    assert take.end_us == 1_520
    assert [type(one[1]) for one in made].count(Finished) == 1


def test_what_ran_over_pipes_is_not_joined_to_what_ran_at_a_terminal() -> None:
    """There is no screen to show both on."""
    pipes = take_of(
        Finished(t_us=1), streams=StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")
    )
    with pytest.raises(BadEditError, match="did not run in the same way"):
        join([take_of(*SESSION), pipes])
    with pytest.raises(BadEditError, match="there is no screen"):
        mask_region(pipes, Region(row=1, column=1, rows=1, columns=1))


@pytest.mark.parametrize(
    ("edit", "times"),
    [
        (lambda take: change_speed(take, 2), [0, 50, 500, 1_000, 1_005]),
        (lambda take: change_speed(take, 0.5), [0, 200, 2_000, 4_000, 4_020]),
        (lambda take: change_speed(take, 10, 100, 1_000), [0, 100, 190, 1_190, 1_200]),
        (lambda take: limit_pauses(take, 50), [0, 50, 100, 150, 160]),
        (lambda take: limit_pauses(take, 0), [0, 0, 0, 0, 0]),
        (lambda take: limit_pauses(take, 5_000), [0, 100, 1_000, 2_000, 2_010]),
    ],
)
def test_times_change_and_nothing_else(edit: Callable[[Take], Take], times: list[int]) -> None:
    """Order and content stay."""
    events = [Output(t_us, b"x") for t_us in (0, 100, 1_000, 2_000)]
    take = edit(take_of(*events, Finished(t_us=2_010)))
    made = list(take.source())

    assert [event.t_us for event in made] == times
    assert take.end_us == times[-1]
    assert [type(event) for event in made] == [Output] * 4 + [Finished]


@pytest.mark.parametrize("t_us", [0, 250, 300, 1_200])
def test_a_marker_comes_behind_what_happened_at_its_moment(t_us: int) -> None:
    """And before the end; the rest is as it was."""
    made = list(annotate(take_of(*SESSION), t_us, "look").source())
    (marker,) = [event for event in made if isinstance(event, Noted) and event.t_us == t_us]

    assert marker.payload == {"type": "marker", "label": "look"}
    at = made.index(marker)
    assert all(event.t_us <= t_us for event in made[:at])
    assert all(event.t_us > t_us or isinstance(event, Finished) for event in made[at + 1 :])
    assert [one for one in made if one is not marker] == list(SESSION)


def test_what_stands_still_in_a_region_is_seen() -> None:
    """Although nothing was printed between the two moments."""
    take = take_of(Output(0, b"secret"), Output(900, b" and more"), Finished(t_us=1_000))
    made = mask_region(take, Region(row=1, column=1, rows=1, columns=6), 300, 400)

    assert [event.data for event in made.source() if isinstance(event, Output)] == [
        b"xxxxxx",
        b" and more",
    ]


def test_a_masked_stretch_has_neither_what_was_typed_nor_what_was_printed() -> None:
    """As many bytes, and the same screens elsewhere."""
    take = mask_stretch(take_of(*SESSION), 450, 1_050)
    made = list(take.source())

    assert [len(one.data) for one in made if isinstance(one, Output)] == [
        len(one.data) for one in SESSION if isinstance(one, Output)
    ]
    assert made[4] == Typed(500, b"**\r", masked=True)
    assert (made[2], made[3], made[10]) == (SESSION[2], SESSION[3], SESSION[10])
    texts = [screen.text for t_us, _, screen in shown(take) if t_us == 1_000]
    assert "xxxx" in texts[0]
    assert "edit" not in texts[0]
    assert not take.keeps_tape


@given(st.integers(0, 1_200), st.integers(1, 5), st.integers(1, 20))
@examples(60)
def test_no_letter_of_a_masked_region_is_seen(start_us: int, row: int, column: int) -> None:
    """At no moment from then on, whatever moved there, also where a character is cut in two."""
    region = Region(row=row, column=column, rows=2, columns=6)
    try:
        take = mask_region(take_of(*SESSION), region, start_us)
    except BadEditError:
        return
    screen = PyteEmulator(SIZE)
    for event in take.source():
        match event:
            case Output(data=data):
                screen.feed(data)
            case Resized(size=size):
                screen.resize(size)
        part = [cell for line in screen.cells()[row - 1 : row + 1] for cell in line]
        if event.t_us >= start_us:
            width = len(screen.cells()[0])
            seen = [cell for at, cell in enumerate(part) if column <= at % width + 1 < column + 6]
            assert not set(seen) & {*"lsonetwdimrby$", "漢"}, (event, seen)
