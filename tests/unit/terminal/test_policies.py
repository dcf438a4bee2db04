"""Which moments of a session become frames."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ptycassette.cli.rec import command as rec
from ptycassette.model.records import Finished, JournalEvent, Noted, Output, Resized, Typed
from ptycassette.model.screen import Size
from ptycassette.terminal.policies import POLICY_NAMES, SettledPolicy, frame_policy


def frames(name: str, events: list[JournalEvent], open_at: set[int]) -> list[int]:
    """The indexes of the events after which the policy takes a frame; updates that are open."""
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


def end(t_ms: int) -> Finished:
    """The end at a moment."""
    return Finished(t_us=t_ms * 1000)


KEY = Typed(150_000, b"k")
TAKEN: list[tuple[str, list[JournalEvent], list[int], set[int]]] = [
    # Before a pause, before input, after a resize, each second of noise, at the end.
    ("settled", [out(0), out(10), out(20), end(21)], [2], set()),
    ("settled", [out(0), out(10), out(200), end(500)], [1, 2], set()),
    ("settled", [out(0), Typed(1_000, b"k"), Typed(2_000, b"k"), out(3)], [0, 3], set()),
    ("settled", [out(0), Resized(1_000, Size(2, 2)), out(2), end(3)], [1, 2], set()),
    ("settled", [out(t) for t in range(0, 2500, 20)], [50, 101, 124], set()),
    ("settled", [Typed(0, b"k"), Finished(t_us=1)], [], set()),
    ("settled", [Noted(0, {}), end(90)], [], set()),
    ("settled", [out(0), end(1)], [0], set()),
    ("settled", [out(0), Noted(10_000, {}), Noted(90_000, {}), out(95)], [1, 3], set()),
    # A pause in the middle of a synchronised update is no rest.
    ("settled", [out(0), out(200), out(400), end(900)], [1, 2], {0}),
    # One that is never closed still gives frames: each second, and none behind the end.
    ("settled", [out(0), out(600), out(1200), out(1300), end(9000)], [2, 3], {0, 1, 2, 3, 4}),
    # The last change of each tick of 100 ms; a tick without a change gives nothing.
    ("tick", [out(0), out(50), out(110), KEY, Typed(250_000, b"k"), out(420), end(430)],
     [1, 3, 5], set()),
    # The first tick at whose end the update is closed.
    ("tick", [out(0), out(150), out(250), end(300)], [1, 2], {0}),
    # Each output and resize, and nothing else.
    ("chunk", [out(0), Typed(1, b"k"), Resized(2, Size(2, 2)), Noted(3, {})], [0, 2], set()),
    # Once, however the session ends.
    ("final", [out(0), out(900), end(901)], [1], set()),
    ("final", [out(0), out(900)], [1], set()),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "events", "taken", "open_at"), TAKEN)
def test_a_policy_takes_its_frames(
    policy: str, events: list[JournalEvent], taken: list[int], open_at: set[int]
) -> None:
    """After these events."""
    assert frames(policy, events, open_at) == taken


SIZE = 1000


def kept(policy: SettledPolicy, events: list[JournalEvent], *, repaint: bool) -> list[int]:
    """The indexes of the events whose frame, of ``SIZE`` bytes, is kept."""
    following = [*events[1:], None]
    return [
        at
        for at, (event, after) in enumerate(zip(events, following, strict=True))
        if policy.due(event, after) and policy.affords(SIZE, repaint=repaint)
    ]


def test_what_others_rely_on_is_kept_without_any_budget() -> None:
    """Before an input, after a resize, the last one; all else needs a budget."""
    events = [
        out(0), out(100), Typed(110_000, b"k"), out(200), out(290), Resized(300_000, Size(2, 2)),
        out(400), out(500), end(900),
    ]  # fmt: skip

    assert kept(SettledPolicy(budget=0), events, repaint=False) == [1, 5, 7]
    assert kept(SettledPolicy(), events, repaint=False) == [0, 1, 3, 5, 6, 7]


def test_a_spinner_leaves_room_for_screens_that_are_new() -> None:
    """Repaints stop at half of the budget; new screens still get the rest; output adds to it."""
    policy = SettledPolicy(budget=10 * SIZE)
    spinner = [out(t) for t in range(0, 2000, 100)]

    assert len(kept(policy, spinner, repaint=True)) == 5 + 1  # the last one is kept in any case
    assert len(kept(policy, spinner, repaint=False)) == 4 + 1
    paid: list[JournalEvent] = [Output(t * 1000, b"x" * 2 * SIZE) for t in range(0, 2000, 100)]
    assert kept(policy, paid, repaint=False) == [*range(1, 20)]  # the first pays the overdraft


@pytest.mark.parametrize("name", ["tick", "chunk", "final"])
def test_other_policies_have_no_budget(name: str) -> None:
    """They are asked for by name, for their moments."""
    assert frame_policy(name).affords(1 << 40, repaint=True)


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
