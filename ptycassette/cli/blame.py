"""``ptycassette blame CASSETTE --oracle ... --budget N [-- ARGV...]``, and ``blame --validate``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import TIME, json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli._running_options import (
    CommandWithProgram,
    copied_program_options,
    is_of_code,
    run_options,
)
from ptycassette.cli.fork import live_options, live_terms_of
from ptycassette.errors import CassetteError
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import printable

if TYPE_CHECKING:
    from ptycassette.agents.blame.io.blaming import BlameOptions
    from ptycassette.agents.blame.report import BlameReport, Count, Judged, JudgedStep
    from ptycassette.agents.blame.steps import Intervention
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.formats.export.page.recording import Item
    from ptycassette.formats.export.page.runs import RunPart
    from ptycassette.formats.export.page.styles import StyleClasses
    from ptycassette.replaying.scenario.evaluation import CheckOutcome, ScenarioOutcome


STOPPED_STATUS = 6
"""The budget ended before all was run, as where a limit refuses what a program asks."""
_ORDER: tuple[Intervention, ...] = ("neutral", "drop", "tool-result", "swap")


@click.command("blame", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument(
    "cassette", metavar="[CASSETTE] [-- ARGV...]", type=click.Path(path_type=Path), required=False
)
@click.option(
    "--oracle",
    metavar="ORACLE",
    help="Judge each run by its exit, text:PATTERN, scenario:FILE, or the status of command:WORDS.",
)
@click.option(
    "--budget", type=click.IntRange(1), metavar="N", help="Run the program at most N times."
)
@click.option(
    "--at",
    "places",
    multiple=True,
    metavar="PLACE",
    help="Change only the step at PLACE, written as for `fork --at`.",
)
@click.option(
    "--intervention",
    "interventions",
    multiple=True,
    type=click.Choice(_ORDER),
    help="Change each step in this way only. Default: try all of them.",
)
@click.option(
    "--neutral",
    metavar="TEXT",
    default="OK.",
    show_default=True,
    help="Replace the changed step with TEXT.",
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    metavar="N",
    help="Treat the program as random and run each change N times. Default: 10 if repeated runs"
    " differ, else 1.",
)
@click.option(
    "--tail",
    type=click.Choice(["held", "scripted", "fake", "live"]),
    default="held",
    show_default=True,
    help="Choose who answers after a change; held: give the recorded answers, whatever is asked.",
)
@click.option(
    "--script",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --tail scripted: answer from FILE (docs/fake-provider.md) instead of the recording.",
)
@live_options
@click.option(
    "--oracle-timeout",
    type=TIME,
    default=60.0,
    show_default=True,
    help="Stop command:WORDS after this time.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Run N programs at the same time. Default: 4 for each CPU, at most 8.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the cassettes of all runs in DIR.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a page to FILE: steps, intervals, controls.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file of --html.")
@click.option(
    "--validate",
    is_flag=True,
    help="Test the method on sessions with planted causes; end with 1 if it fails.",
)
@copied_program_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@json_option
def command(cassette: Path | None, quiet: bool, as_json: bool, **given: Any) -> int:
    """Find the exchange that caused the outcome of a recording, by changing one at a time.

    A step is an input, or a request to the model with its answer. At each step the
    run is forked (docs/fork.md) with one change: a neutral text instead of the
    answer or input (neutral), no answer or input (drop), that of the next step
    (swap), or a neutral tool result (tool-result, if the tail reads it).

    The oracle decides whether the outcome changed: FLIP or NO_FLIP. A run is
    UNDEFINED and not counted if it crashes, does not end, asks an unanswered
    question, or differs from the recording before the step. If the unmodified run
    repeats itself, each change is made once, otherwise 10 times. A step counts as a
    cause, or as having no effect, only if the confidence interval supports it. See
    docs/blame.md.

    Example: ptycassette blame --trust a.cassette --oracle exit --budget 50

    Example: ptycassette blame --trust a.cassette --oracle 'text:2 failed' --budget 50 --copy work

    Example: ptycassette blame --trust a.cassette --oracle exit --budget 50 --html blame.html

    Example: ptycassette blame run.cassette --oracle exit --budget 30 -- pytest test_x.py::test_y

    Example: ptycassette blame --validate
    """
    jobs = given["jobs"] or min(8, 4 * (os.cpu_count() or 1))
    with needing_extra("tape"):
        from ptycassette.agents.blame.io.blaming import validate
    from ptycassette.agents.blame.report import (
        blame_json,
        blame_lines,
        validation_json,
        validation_lines,
    )

    if given["validate"]:
        if cassette is not None:
            raise click.UsageError("--validate takes no CASSETTE: it makes its own")
        checked = validate(jobs=jobs)
        if as_json:
            write_lines([json_text(validation_json(checked))])
        elif not quiet:
            write_lines(validation_lines(checked))
        return 0 if checked.passed else 1
    for value, name in (
        (cassette, "CASSETTE"), (given["oracle"], "--oracle"), (given["budget"], "--budget")
    ):  # fmt: skip
        if value is None:
            raise click.UsageError(f"{name} is missing (or --validate)")
    assert cassette is not None  # noqa: S101 - narrows the type
    page: Path | None = given["html"]
    if page is not None:  # before minutes of work
        from ptycassette.system.files.whole_file import check_replaceable

        check_replaceable(page, overwrite=given["overwrite"])
    report = _blamed(cassette, _options(given, jobs))
    if page is not None:
        from ptycassette.system.files.whole_file import write_whole

        kept = "" if given["keep"] is None else str(given["keep"])
        write_whole(page, blame_page(report, kept), overwrite=given["overwrite"])
    if as_json:
        write_lines([json_text({**blame_json(report), "page": page and str(page)})])
    elif not quiet:
        write_lines(blame_lines(report))
        if page is not None:
            write_lines([f"page: {printable(str(page))}"])
    return STOPPED_STATUS if report.stopped else 0


def _blamed(cassette: Path, options: BlameOptions) -> BlameReport:
    from ptycassette.agents.blame.io.blaming import blame
    from ptycassette.cassette.io.reader import open_cassette

    with open_cassette(cassette, check="manifest") as source:
        of_code = is_of_code(source.manifest)
    if not of_code:
        return blame(cassette, options)
    from ptycassette.agents.inprocess.commands import blame_command

    return blame_command(cassette, options)


def _options(given: dict[str, Any], jobs: int) -> BlameOptions:
    from ptycassette.agents.blame.io.blaming import BlameOptions
    from ptycassette.agents.blame.oracle import Oracle
    from ptycassette.agents.fork.places import ForkPlace

    kept = given["keep"]
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    defaults = {"runs": given["runs"]} if given["runs"] else {}
    if given["script"] and given["tail"] != "scripted":
        raise click.UsageError("--script goes with --tail scripted only")
    return run_options(
        BlameOptions,
        given,
        oracle=Oracle.parse(given["oracle"]),
        budget=given["budget"],
        tail=given["tail"],
        script=given["script"] and given["script"].resolve(),
        live=live_terms_of(given),
        steps=tuple(map(ForkPlace.parse, given["places"])),
        interventions=tuple(one for one in _ORDER if one in (given["interventions"] or _ORDER)),
        neutral=given["neutral"],
        random=bool(given["runs"]),
        jobs=jobs,
        oracle_s=given["oracle_timeout"],
        kept=kept and kept.resolve(),
        **defaults,
    )


# Pages of runs over several recordings, which have the recordings in them, and of a blame.


ItemsOf = Callable[["Cassette"], "Iterable[Item]"]
"""What was found, as items of a list beside the screen."""


def played(
    path: str | Path, classes: StyleClasses, items: ItemsOf = lambda _: ()
) -> Callable[[str], Iterable[str]]:
    """The texts that ``RunPart`` needs from the recording at ``path``."""
    return lambda anchor: _section(path, classes, anchor, items)


def _section(path: str | Path, classes: StyleClasses, anchor: str, items: ItemsOf) -> Iterator[str]:
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.formats.export.page.recording import recording_section, text

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
    from ptycassette.formats.export.page.runs import RunPart, run_page
    from ptycassette.formats.export.page.styles import StyleClasses

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
    from ptycassette.formats.export.page.recording import Item

    where = f"{check.group}/{check.name}"
    return Item(
        kind="divergence", seq=None, t_us=check.t_ms * 1000,
        label="failed check", text=f"{where}: {check.message}",
    )  # fmt: skip


def _checks(outcome: ScenarioOutcome) -> Iterator[str]:
    from ptycassette.formats.export.page.recording import lines, text

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
    from ptycassette.agents.blame.report import limits
    from ptycassette.formats.export.page.recording import document, part, text

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
    from ptycassette.formats.export.page.recording import text

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
