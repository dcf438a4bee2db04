"""Pages of runs over several recordings, which have the recordings in them, and of a blame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ptycassette.errors import CassetteError
from ptycassette.model.visible_text import printable

if TYPE_CHECKING:
    from ptycassette.blame.labels import Count, Judged, JudgedStep
    from ptycassette.blame.report import BlameReport
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.export.page.item import Item
    from ptycassette.export.page.runs import RunPart
    from ptycassette.export.page.styles import StyleClasses
    from ptycassette.scenario.evaluation import CheckOutcome, ScenarioOutcome


ItemsOf = Callable[["Cassette"], "Iterable[Item]"]
"""What was found, as items of a list beside the screen."""


def played(
    path: str | Path, classes: StyleClasses, items: ItemsOf = lambda _: ()
) -> Callable[[str], Iterable[str]]:
    """What ``RunPart`` wants to have of the recording at ``path``."""
    return lambda anchor: _section(path, classes, anchor, items)


def _section(path: str | Path, classes: StyleClasses, anchor: str, items: ItemsOf) -> Iterator[str]:
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.export.page.recording import recording_section
    from ptycassette.export.page.shell import text

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
    from ptycassette.export.page.runs import RunPart, run_page
    from ptycassette.export.page.styles import StyleClasses

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
    from ptycassette.export.page.item import Item

    where = f"{check.group}/{check.name}"
    return Item(
        kind="divergence", seq=None, t_us=check.t_ms * 1000,
        label="failed check", text=f"{where}: {check.message}",
    )  # fmt: skip


def _checks(outcome: ScenarioOutcome) -> Iterator[str]:
    from ptycassette.export.page.shell import lines, text

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


# -- blame ---------------------------------------------------------------------------------

_BLAME_CSS = """
.scroll{overflow-x:auto}.blame{background:var(--card);border:1px solid var(--line)}
.blame td,.blame th{white-space:nowrap}.blame .what{white-space:normal;min-width:12em}
.blame svg{width:15em;height:1.6em;display:block}.blame .axis{stroke:var(--line);stroke-width:1}
.blame .zero{stroke:var(--dull);stroke-dasharray:2 2}
.blame .range{stroke:var(--link);stroke-width:4}
.blame .seen{fill:var(--ink)}.blame .cause .range{stroke:var(--bad)}
.blame .no-effect .range{stroke:var(--good)}.label{font-weight:600}
.cause .label{color:var(--bad)}.no-effect .label{color:var(--good)}
.blame .step-head th{background:var(--page)}
"""


def blame_page(report: BlameReport, children: str = "") -> Iterator[bytes]:
    """The page of ``ptycassette blame``: steps with their intervals, controls, and limits.

    Args:
        report: what was found.
        children: the folder in which the cassettes of the runs were kept; empty for none.
    """
    from ptycassette.blame.report import limits
    from ptycassette.export.page.shell import document, part, text

    title = f"Blame of {Path(report.cassette).name}"
    causes = ", ".join(report.causes) or "none was found"
    how = "the run repeats itself" if report.deterministic else "the run is random"
    facts = (
        ("causes", causes),
        ("outcome", f"{report.outcome} ({report.oracle})"),
        ("unmodified", f"{_rate(report.control)} had another outcome: {how}"),
        ("tail", report.tail),
        ("neutral text", report.neutral),
        ("runs", f"{report.runs} of {report.budget} in {report.seconds:.1f} s"),
        ("not run", f"the budget ended before {report.stopped} more" if report.stopped else ""),
        ("recordings", children),
    )
    body = [f"<h1>{text(title)}</h1>", '<table class="steps">']
    body += [f"<tr><th>{name}</th><td>{text(said)}</td></tr>" for name, said in facts if said]
    body += ["</table>", "<h2>Steps</h2>", *_blame_table(report.steps, report.texts)]
    if report.shams:
        body += ["<h2>Controls: nothing was changed at these steps</h2>"]
        body += _blame_table(report.shams, [""] * len(report.shams))
    body += ["<h2>Limits</h2><ul>"]
    body += [f"<li>{text(one)}</li>" for one in limits(report)]
    body += ["</ul>"]
    style = (part("page.css"), _BLAME_CSS)
    for piece in document(body, title=title, style=style):
        yield piece.encode("utf-8", "replace")


def _blame_table(steps: Sequence[JudgedStep], texts: Sequence[str]) -> Iterator[str]:
    from ptycassette.export.page.shell import text

    yield '<div class="scroll"><table class="blame"><tr><th>what was done</th>'
    yield "<th>another outcome</th><th>unmodified</th><th>undefined</th>"
    yield "<th>difference of the rates, -1 to 1 (95 %)</th><th></th><th></th></tr>"
    for step, said in zip(steps, texts, strict=True):
        found = "" if step.q is None else f" (q {step.q:.3g})"
        yield f'<tr class="step-head {_kind(step.label)}"><th colspan="6" class="what">'
        yield f"{text(step.at)} <small>{text(said)}</small></th>"
        yield f'<th class="label">{text(step.label + found)}</th></tr>'
        for one in step.interventions:
            yield f'<tr class="{_kind(one.label)}"><td>{text(one.intervention)}'
            yield f" <small>{text(one.change, limit=80)}</small></td>"
            yield f"<td>{_rate(one.runs)}</td><td>{_rate(one.control)}</td>"
            yield f"<td>{one.runs.undefined or ''}</td><td>{_interval_svg(one)}</td>"
            low, high = one.difference
            yield f"<td>[{low:.2f}, {high:.2f}]</td>" if one.runs.total else "<td></td>"
            yield f'<td class="label">{text(one.label)}</td></tr>'
            for reason in one.reasons:
                yield f'<tr><td></td><td colspan="6" class="what dull">{text(reason)}</td></tr>'
    yield "</table></div>"


def _kind(label: str) -> str:
    return label.replace(" ", "-")


def _rate(count: Count) -> str:
    return f"{count.flips} of {count.total}"


def _interval_svg(one: Judged) -> str:
    """The interval of the difference on a line from -1 to 1, and the difference that was seen."""
    if not one.runs.total or not one.control.total:
        return ""
    low, high = (100 + 90 * max(-1.0, min(1.0, value)) for value in one.difference)
    seen = one.runs.flips / one.runs.total - one.control.flips / one.control.total
    return (
        '<svg viewBox="0 0 200 20" role="img"><title>'
        f"{seen:+.2f}, between {one.difference[0]:.2f} and {one.difference[1]:.2f}</title>"
        '<line class="axis" x1="10" x2="190" y1="10" y2="10"/>'
        '<line class="axis zero" x1="100" x2="100" y1="2" y2="18"/>'
        f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="10" y2="10"/>'
        f'<circle class="seen" cx="{100 + 90 * seen:.1f}" cy="10" r="3.5"/></svg>'
    )
