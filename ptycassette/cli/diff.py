"""``ptycassette diff OLD NEW``: the changes between two recordings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import (
    allow_unscrubbed_option,
    follow_links_option,
    json_option,
    opened,
)
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.model.visible_text import printable, visible

if TYPE_CHECKING:
    from ptycassette.replaying.divergence import Drift, DriftChange

DIFFER_STATUS = 1
PATH_LIMIT = 200
LINE_LIMIT = 500

Paint = Callable[[str], str]


@click.command("diff")
@click.argument("old", metavar="OLD", type=click.Path())
@click.argument("new", metavar="NEW", type=click.Path())
@click.option("--semantic", is_flag=True, help="Compare the words on the screens, not the bytes.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="With --semantic: report screens with a similarity below SCORE (0 to 1). Default: 0.75.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@allow_unscrubbed_option
@follow_links_option
@json_option
def command(
    old: str,
    new: str,
    semantic: bool,
    threshold: float | None,
    quiet: bool,
    allow_unscrubbed: bool,
    as_json: bool,
) -> int:
    """Show what changed from the cassette OLD to the cassette NEW.

    Inputs are aligned, so that an added one does not make all later ones differ.
    For each input it compares the output and the screen at the end; then the exit,
    the emulator and the binary. Recordings of use_tape are compared turn by turn.

    Ends with 0 if nothing differs, with 1 if something does, with 3 or 4 if a
    cassette cannot be opened.

    Example: ptycassette diff before.cassette after.cassette
    """
    from contextlib import ExitStack

    from ptycassette.agents.inprocess.drifting import drift, semantic_drift
    from ptycassette.cassette.timeline.match import DEFAULT_THRESHOLD

    if threshold is not None and not semantic:
        raise click.UsageError("--threshold goes with --semantic")
    with ExitStack() as stack:
        before, after = (
            stack.enter_context(opened(path, allow_unscrubbed=allow_unscrubbed, full=True))
            for path in (old, new)
        )
        if semantic:
            score = DEFAULT_THRESHOLD if threshold is None else threshold
            found = semantic_drift(before, after, score)
        else:
            found = drift(before, after)
    if as_json:
        write_lines([_json(found, old, new)])
    elif not quiet:
        write_lines(diff_lines(found, old, new, painted=_painted()))
    return DIFFER_STATUS if found else 0


def _painted() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _json(found: Drift, old: str, new: str) -> str:
    from ptycassette.cli._reports import DiffReport
    from ptycassette.replaying.divergence import divergence_object

    return json_text(
        DiffReport(
            old=old,
            new=new,
            same=not found,
            exchanges=found.exchanges,
            screens=found.screens,
            divergences=tuple(divergence_object(one) for one in found.divergences),
        )
    )


def diff_lines(found: Drift, old: str, new: str, *, painted: bool = False) -> Iterator[str]:
    """The changes as text: what changed, then the old lines with ``-``, the new with ``+``."""
    names = [visible(path, limit=PATH_LIMIT) for path in (old, new)]
    if not found:
        yield f"{names[0]} and {names[1]} are the same"
        return
    minus, plus = (_painter(color if painted else None) for color in ("31", "32"))
    yield minus(f"--- {names[0]}")
    yield plus(f"+++ {names[1]}")
    yield _summary(found)
    seen = {(change.old, change.new) for change in found.screens}
    for change in sorted((*found.exchanges, *found.screens), key=lambda one: one.new or one.old):
        if change.what.startswith("output") and (change.old, change.new) in seen:
            continue  # the screen shows it better than the bytes
        yield _what(change)
        yield from _changed_lines(change.expected, change.got, minus, plus)
    for divergence in found.divergences:
        yield f"{divergence.kind}: {printable(divergence.message)}"
        expected, got = divergence.expected, divergence.got
        yield from _changed_lines(
            expected.text if expected else "", got.text if got else "", minus, plus
        )


def _painter(color: str | None) -> Paint:
    return str if color is None else lambda text: f"\x1b[{color}m{text}\x1b[0m"


def _summary(found: Drift) -> str:
    turns = sum(change.of_turn for change in found.exchanges)
    inputs = sum(change.what == "input" for change in found.exchanges)
    outputs = len(found.exchanges) - inputs - turns
    counts = [
        count_text(count, one)
        for count, one in (
            (turns, "turn"),
            (inputs, "input"),
            (outputs, "output"),
            (len(found.screens), "screen"),
            (len(found.divergences), "other difference"),
        )
        if count
    ]
    return f"changed: {', '.join(counts)}"


def _what(change: DriftChange) -> str:
    number = change.old or change.new
    score = "" if change.score is None else f" ({change.score:.0%} alike)"
    if change.of_turn:
        return f"turn {number} {change.kind}: {visible(change.what, limit=LINE_LIMIT)}{score}"
    match change.kind, change.what:
        case "changed", "input":
            return f"input {number} changed"
        case "changed", what:
            place = f"after input {number}" if number else "before any input"
            part = "the screen" if what.startswith("screen") else f"the {visible(what)}"
            return f"{place}: {part} differs{score}"
        case "reordered", _:
            return f"input {change.old} is input {change.new} now"
        case kind, _:
            return f"input {number} {kind}"


def _changed_lines(old: str, new: str, minus: Paint, plus: Paint) -> Iterator[str]:
    """The lines that only one text has, except blank ones and those that only moved."""
    from difflib import SequenceMatcher

    before, after = _split(old), _split(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield from (minus(f"  - {line}") for line in before[i1:i2] if line)
            yield from (plus(f"  + {line}") for line in after[j1:j2] if line)


def _split(text: str) -> Sequence[str]:
    return (
        [visible(line, limit=LINE_LIMIT) for line in text.rstrip("\n").split("\n")] if text else []
    )
