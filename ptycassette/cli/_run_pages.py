"""Pages of runs over several recordings, which have the recordings in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ptycassette.errors import CassetteError
from ptycassette.model import printable

if TYPE_CHECKING:
    from ptycassette.cassette.io import Cassette
    from ptycassette.export.page import Item, RunPart, StyleClasses
    from ptycassette.scenario import CheckOutcome, ScenarioOutcome


ItemsOf = Callable[["Cassette"], "Iterable[Item]"]
"""What was found, as items of a list beside the screen."""


def played(
    path: str | Path, classes: StyleClasses, items: ItemsOf = lambda _: ()
) -> Callable[[str], Iterable[str]]:
    """What ``RunPart`` wants to have of the recording at ``path``."""
    return lambda anchor: _section(path, classes, anchor, items)


def _section(path: str | Path, classes: StyleClasses, anchor: str, items: ItemsOf) -> Iterator[str]:
    from ptycassette.cassette.io import open_cassette
    from ptycassette.export.page import recording_section, text

    try:
        with open_cassette(path, check="manifest") as source:
            found = tuple(items(source))
            yield from recording_section(source, classes, name="", anchor=anchor, others=found)
    except CassetteError as exc:
        yield f'<p class="why">{text(printable(str(exc)))}</p>'


def check_page(checked: Sequence[tuple[ScenarioOutcome, Path | None]]) -> Iterator[bytes]:
    """The page of ``ptycassette check``: of each scenario its checks, and its recording.

    Args:
        checked: what was found, and where the recording is, if it is known.
    """
    from ptycassette.export.page import RunPart, StyleClasses, run_page

    classes = StyleClasses()
    failed = sum(not outcome.passed for outcome, _ in checked)
    parts: list[RunPart] = []
    for outcome, path in checked:
        items = tuple(_item(one) for one in outcome.failures)
        parts.append(
            RunPart(
                name=outcome.scenario,
                passed=outcome.passed,
                found=_checks(outcome),
                played=None if path is None else played(path, classes, partial(_same, items)),
            )
        )
    return run_page(parts, classes, title=f"{len(checked)} scenarios, {failed} failed")


def _same(items: Sequence[Item], _: Cassette) -> Sequence[Item]:
    return items


def _item(check: CheckOutcome) -> Item:
    from ptycassette.export.page import Item

    where = f"{check.group}/{check.name}"
    return Item(
        kind="divergence", seq=None, t_us=check.t_ms * 1000,
        label="failed check", text=f"{where}: {check.message}",
    )  # fmt: skip


def _checks(outcome: ScenarioOutcome) -> Iterator[str]:
    from ptycassette.export.page import lines, text

    for check in outcome.failures:
        yield f'<div class="why"><h3>{text(check.group)}/{text(check.name)}, {check.t_ms} ms</h3>'
        yield f"<pre>{lines(check.message)}</pre>"
        if check.screen:
            shown = lines("\n".join(check.screen).rstrip())
            yield f'<details><summary>The screen</summary><pre class="screen">{shown}</pre>'
            yield "</details>"
        yield "</div>"
    names = [f"{text(one.group)}/{text(one.name)}" for one in outcome.checks if one.passed]
    if names:
        yield f"<details><summary>{len(names)} passed</summary><p>{', '.join(names)}</p></details>"
