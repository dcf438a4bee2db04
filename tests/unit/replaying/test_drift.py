"""Drift between two recordings: what was added, removed, changed, moved; ends and binaries."""

from __future__ import annotations

from difflib import SequenceMatcher

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.records import (
    STREAMS_KEY,
    EmulatorId,
    ExitStatus,
    Finished,
    FrameRecord,
    JournalEvent,
    Output,
    StreamKinds,
    Typed,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.replaying.divergence import (
    MOST_STEPS,
    Drift,
    Side,
    aligned,
    drift_lines,
    drift_of_sides,
    semantic_drift_of_sides,
)
from ptycassette.testing import events_of, manifest_of
from tests.examples import examples

OK = ExitStatus(code=0, exited=True, signaled=False)


def side(
    *lines: str, screens: dict[str, str] | None = None, status: ExitStatus | None = OK
) -> Side:
    """A recording in which each line is sent and echoed, and shown as a frame."""
    items: list[JournalEvent | FrameRecord] = [Output(0, b"> ")]
    for number, line in enumerate(lines, 1):
        shown = (screens or {}).get(line, f"you said {line}")
        items += [
            Typed(number * 10_000, line.encode() + b"\r"),
            Output(number * 10_000 + 1, shown.encode()),
            FrameRecord(
                seq=0, t_ms=number * 10 + 5, size=Size(rows=2, cols=40), text=(shown, ""),
                cursor=Cursor(row=0, col=0), raw_start=0, raw_end=0, parser_offset=0,
            ),
        ]  # fmt: skip
    return Side(manifest_of(), events_of(*items, Finished(t_us=900_000, exit=status)))


def kinds(found: Drift) -> list[tuple[str, int, int]]:
    """What happened to exchanges."""
    return [(change.kind, change.old, change.new) for change in found.exchanges]


def test_the_same_recording_has_no_drift() -> None:
    """By bytes and by meaning."""
    assert not drift_of_sides(side("a", "b"), side("a", "b"))
    assert not semantic_drift_of_sides(side("a", "b"), side("a", "b"))
    assert list(drift_lines(Drift())) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a", "b"], ["a", "x", "b"], [("added", 0, 2)]),
        (["a", "x", "b"], ["a", "b"], [("removed", 2, 0)]),
        (["a", "b"], ["a", "c"], [("changed", 2, 2)]),
        (["a", "b"], ["b", "a"], [("reordered", 2, 1)]),
        (
            ["a", "b", "c"],
            ["c", "a", "d"],
            [("reordered", 3, 1), ("removed", 2, 0), ("added", 0, 3)],
        ),
        (["a", "b"], ["b", "x"], [("removed", 1, 0), ("added", 0, 2)]),
        (["a", "b"], ["b", "a", "a"], [("reordered", 2, 1), ("added", 0, 3)]),
    ],
)
def test_exchanges_are_aligned_by_their_input(
    old: list[str], new: list[str], expected: list[tuple[str, int, int]]
) -> None:
    """What was added does not make all behind it differ."""
    assert sorted(kinds(drift_of_sides(side(*old), side(*new)))) == sorted(expected)


def test_output_and_screen_that_changed_are_shown() -> None:
    """From the first byte and the rows that differ."""
    found = drift_of_sides(side("a", screens={"a": "one two"}), side("a", screens={"a": "one six"}))
    text = "\n".join(drift_lines(found))

    assert [change.what for change in found.exchanges] == ["output from byte 4 on"]
    assert [change.what for change in found.screens] == ["screen, rows 0"]
    assert "recorded: two" in text
    assert "now:      one six" in text


def test_output_that_was_cut_off_differs_from_its_end_on() -> None:
    """One is the head of the other."""
    found = drift_of_sides(side("a", screens={"a": "one"}), side("a", screens={"a": "one more"}))

    assert found.exchanges[0].what == "output from byte 3 on"


def test_screens_that_mean_the_same_are_no_semantic_drift() -> None:
    """Above the threshold, by the scorer."""
    old = side("a", screens={"a": "The answer is forty two."})
    new = side("a", screens={"a": "the answer is: forty two"})
    other = side("a", screens={"a": "I do not know at all"})

    assert not semantic_drift_of_sides(old, new)
    assert drift_of_sides(old, new)
    assert semantic_drift_of_sides(old, other).screens[0].score is not None
    assert "% alike" in "\n".join(drift_lines(semantic_drift_of_sides(old, other)))
    assert not semantic_drift_of_sides(old, other, scorer=lambda got, want: 1.0)


def test_an_empty_screen_is_alike_only_to_an_empty_one() -> None:
    """No text is no ground for a match."""
    empty = side("a", screens={"a": ""})

    assert not semantic_drift_of_sides(empty, empty)
    assert semantic_drift_of_sides(empty, side("a"))


def test_a_threshold_out_of_range_is_an_error() -> None:
    """Also when nothing is compared."""
    with pytest.raises(ValueError, match="threshold"):
        semantic_drift_of_sides(side(), side(), threshold=2)


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (ExitStatus(code=1, exited=True, signaled=False), "status 1"),
        (ExitStatus(code=-1, signal="killed", exited=False, signaled=True), "signal killed"),
        (None, "no exit status"),
    ],
)
def test_another_end_is_a_divergence(status: ExitStatus | None, shown: str) -> None:
    """Status, signal, or none."""
    (found,) = drift_of_sides(side("a"), side("a", status=status)).divergences

    assert found.kind == "exit-changed"
    assert found.got is not None
    assert found.got.text == shown


def test_another_emulator_and_another_binary_are_divergences() -> None:
    """They explain what else changed."""
    old, new = side("a"), side("a")
    manifest = msgspec.structs.replace(
        new.manifest,
        terminal=msgspec.structs.replace(
            new.manifest.terminal, emulator=EmulatorId(name="none", version="1")
        ),
        harness=msgspec.structs.replace(new.manifest.harness, binary_version="2"),
    )
    before = msgspec.structs.replace(
        old.manifest,
        harness=msgspec.structs.replace(old.manifest.harness, binary_version="1"),
    )
    found = drift_of_sides(Side(before, old.events), Side(manifest, new.events))

    assert [one.kind for one in found.divergences] == ["emulator-changed", "binary-changed"]
    assert "binary-changed: another binary was run" in "\n".join(drift_lines(found))


def test_a_binary_that_is_not_known_did_not_change() -> None:
    """One of the two says nothing."""
    old = side("a")
    manifest = msgspec.structs.replace(
        old.manifest, harness=msgspec.structs.replace(old.manifest.harness, binary_version="2")
    )

    assert not drift_of_sides(old, Side(manifest, old.events))


def test_nothing_at_all_can_be_compared() -> None:
    """An empty list of events."""
    assert drift_of_sides(Side(manifest_of(), []), side("a")).divergences[0].kind == "exit-changed"
    assert not drift_of_sides(Side(manifest_of(), []), Side(manifest_of(), []))


def test_streams_over_pipes_are_compared_apart() -> None:
    """In which order two of them were read is chance; screens of both together are, too."""
    kinds = StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")
    manifest = msgspec.structs.replace(manifest_of(), optional={STREAMS_KEY: kinds.written()})
    out = Output(1, b"out", stream="stdout")
    err, other = Output(1, b"err", stream="stderr"), Output(1, b"eRr", stream="stderr")
    shown = FrameRecord(
        seq=0, t_ms=5, size=Size(rows=1, cols=9), text=("errout",),
        cursor=Cursor(row=0, col=0), raw_start=0, raw_end=0, parser_offset=0,
    )  # fmt: skip
    old = Side(manifest, events_of(out, err))

    assert not drift_of_sides(old, Side(manifest, events_of(err, out, shown)))
    (change,) = drift_of_sides(old, Side(manifest, events_of(other, out, shown))).exchanges
    assert (change.what, change.expected, change.got) == ("stderr from byte 1 on", "rr", "Rr")


@given(
    st.lists(st.sampled_from("yna"), max_size=30),
    st.lists(st.sampled_from("ynb"), max_size=30),
    st.sampled_from([0, 20, 200, MOST_STEPS]),
)
@examples(200)
def test_an_alignment_leads_from_the_old_items_to_the_new(
    old: list[str], new: list[str], steps: int
) -> None:
    """It covers both in order, and what counts as equal is. With enough steps it is difflib's."""
    found = aligned(old, new, steps=steps)

    assert [item for _, i, end, _, _ in found for item in old[i:end]] == old
    assert [item for _, _, _, i, end in found for item in new[i:end]] == new
    assert all(old[i:i_end] == new[j:j_end] for tag, i, i_end, j, j_end in found if tag == "equal")
    if steps == MOST_STEPS:
        assert found == SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


@pytest.mark.parametrize("count", [2000, 200_000])
def test_the_steps_of_an_alignment_are_bounded(count: int) -> None:
    """Equal lists are equal however long they are; else what takes too long counts as replaced."""
    same = ["y"] * count

    assert aligned(same, same) == [("equal", 0, count, 0, count)]
    assert aligned(["a", *same, "b"], ["c", *same, "d"]) == [
        ("replace", 0, count + 2, 0, count + 2)
    ]
    assert aligned([*same, "b"], [*same, "d"])[0] == ("equal", 0, count, 0, count)
