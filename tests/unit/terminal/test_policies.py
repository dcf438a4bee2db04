"""Which moments of a session become frames."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ptycassette.cli.rec import command as rec
from ptycassette.model import Finished, JournalEvent, Noted, Output, Resized, Size, Typed
from ptycassette.terminal import POLICY_NAMES, frame_policy


def frames(
    name: str, events: list[JournalEvent], *, open_at: frozenset[int] = frozenset()
) -> list[int]:
    """The indexes of the events after which the policy takes a frame."""
    policy = frame_policy(name, resolution_ms=100)
    following = [*events[1:], None]
    return [
        at
        for at, (event, after) in enumerate(zip(events, following, strict=True))
        if policy.due(event, after, synchronized=at in open_at)
    ]


def out(t_ms: int) -> Output:
    """Output at a moment."""
    return Output(t_ms * 1000, b"x")


@pytest.mark.parametrize(
    ("events", "taken"),
    [
        ([out(0), out(10), out(20), Finished(t_us=21_000)], [2]),
        ([out(0), out(10), out(200), Finished(t_us=500_000)], [1, 2]),
        ([out(0), Typed(1_000, b"k"), Typed(2_000, b"k"), out(3)], [0, 3]),
        ([out(0), Resized(1_000, Size(2, 2)), out(2), Finished(t_us=3_000)], [1, 2]),
        ([out(t) for t in range(0, 2500, 20)], [50, 101, 124]),
        ([Typed(0, b"k"), Finished(t_us=1)], []),
        ([Noted(0, {}), Finished(t_us=90_000)], []),
        ([out(0), Finished(t_us=1_000)], [0]),
        ([out(0), Noted(10_000, {}), Noted(90_000, {}), out(95)], [1, 3]),
    ],
)
def test_settled_takes_a_frame_when_the_screen_is_at_rest(
    events: list[JournalEvent], taken: list[int]
) -> None:
    """Before a pause, before input, after a resize, each second of noise, at the end."""
    assert frames("settled", events) == taken


def test_settled_waits_for_the_end_of_a_synchronised_update() -> None:
    """A pause in the middle of an update is no rest."""
    events: list[JournalEvent] = [out(0), out(200), out(400), Finished(t_us=900_000)]

    assert frames("settled", events, open_at=frozenset({0})) == [1, 2]


def test_settled_waits_no_longer_than_a_second_and_never_past_the_end() -> None:
    """An update that is never closed still gives frames."""
    events: list[JournalEvent] = [out(0), out(600), out(1200), out(1300), Finished(t_us=9_000_000)]

    assert frames("settled", events, open_at=frozenset(range(5))) == [2, 3]


def test_tick_takes_the_last_change_of_each_tick() -> None:
    """Ticks of 100 ms; a tick without a change gives nothing."""
    events: list[JournalEvent] = [
        out(0),
        out(50),
        out(110),
        Typed(150_000, b"k"),
        Typed(250_000, b"k"),
        out(420),
        Finished(t_us=430_000),
    ]

    assert frames("tick", events) == [1, 3, 5]


def test_tick_holds_a_frame_while_an_update_is_open() -> None:
    """The frame comes with the first tick at whose end the update is closed."""
    events: list[JournalEvent] = [out(0), out(150), out(250), Finished(t_us=300_000)]

    assert frames("tick", events, open_at=frozenset({0})) == [1, 2]


def test_chunk_takes_each_output_and_resize() -> None:
    """And nothing else."""
    events: list[JournalEvent] = [out(0), Typed(1, b"k"), Resized(2, Size(2, 2)), Noted(3, {})]

    assert frames("chunk", events) == [0, 2]


def test_final_takes_one_frame_at_the_end() -> None:
    """Once, however the session ends."""
    assert frames("final", [out(0), out(900), Finished(t_us=901_000)]) == [1]
    assert frames("final", [out(0), out(900)]) == [1]


def test_policies_know_their_names() -> None:
    """Each name gives the policy of that name, and an unknown one says what there is."""
    for name in ("settled", "tick", "chunk", "final"):
        assert frame_policy(name).name == name
    with pytest.raises(ValueError, match="one of settled, tick, chunk, final"):
        frame_policy("never")


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_can_be_asked_for_and_is_explained(name: str) -> None:
    """By ``rec --frame-policy``, in the table of the guide."""
    (choice,) = (one.type for one in rec.params if one.name == "frame_policy")
    guide = Path(__file__).resolve().parents[3] / "docs" / "screens.md"

    assert isinstance(choice, click.Choice)
    assert name in choice.choices
    assert f"\n| `{name}`" in guide.read_text(encoding="utf-8")
