"""``ptycassette fork CASSETTE --at K --change NAME=VALUE -o CHILD [-- ARGV...]``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import json_option, opened
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli._rec_plan import LimitArguments, limit_options, refuse_without, terms_of
from ptycassette.cli._running_options import (
    CommandWithProgram,
    is_of_code,
    program_options,
    run_options,
)
from ptycassette.extras import needing_extra

if TYPE_CHECKING:
    from ptycassette.agents.fork.io.live import LiveTerms
    from ptycassette.agents.fork.places import Change, ForkPlace
    from ptycassette.recording.input_script import ScriptStep


# The options of ``ptycassette fork`` about a live tail: its provider, and the limits.


_Command = TypeVar("_Command", bound=Callable[..., object])
_OPTIONS = (
    click.option(
        "--provider",
        metavar="NAME",
        help="With --tail live: ask this provider: anthropic, openai, gemini, or a base URL."
        " Default: the recorded one.",
    ),
    click.option(
        "--key-env",
        metavar="NAME",
        help="With --tail live: read your key from the variable NAME. Default: the usual one of"
        " the API.",
    ),
    click.option(
        "--yes", is_flag=True, help="With --tail live: agree that data is sent to the provider."
    ),
    *limit_options("--tail live"),
)


def live_options(command: _Command) -> _Command:
    """Add them to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def live_terms_of(given: dict[str, Any]) -> LiveTerms:
    """The limits for live requests.

    Raises:
        UsageError: an option has no effect without a live tail.
        CassetteError: the approval cannot be read, or is over.
    """
    from ptycassette.agents.fork.io.live import LiveTerms

    limits = LimitArguments.__struct_fields__
    if given["tail"] != "live":
        refuse_without("--tail live", ("key_env", *limits), given.__getitem__)
        return LiveTerms()
    return LiveTerms(
        provider=given["provider"] or "",
        terms=terms_of(LimitArguments(**{name: given[name] for name in limits})),
        key_variable=given["key_env"] or "",
    )


REFUSED_STATUS = 6
"""A live tail was not sent all that the program asked, as with ``rec --tape``."""
_MOST_SCRIPT = 1 << 20


@click.command("fork", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument("cassette", metavar="CASSETTE [-- ARGV...]", type=click.Path(), required=False)
@click.option(
    "--at",
    metavar="PLACE",
    help="Fork at exchange:3 (or 3), a typed exchange, at tape:2, a request, or in code at tool:1.",
)
@click.option(
    "--change", metavar="NAME=VALUE", help="Change this one thing at PLACE (docs/fork.md)."
)
@click.option(
    "--fault",
    metavar="NAME[@N]",
    help="Let request N of the tape fail, for example truncated@2; replaces --change.",
)
@click.option("--list-faults", is_flag=True, help="List all faults and run nothing.")
@click.option(
    "-o",
    "--output",
    metavar="CHILD",
    type=click.Path(path_type=Path),
    help="Write the new cassette to CHILD.",
)
@click.option(
    "--tail",
    type=click.Choice(["scripted", "held", "fake", "live"]),
    default="scripted",
    show_default=True,
    help="Choose who answers afterwards; scripted: the recording or --script; held: the recording"
    " in its order, whatever is asked; live: a provider.",
)
@click.option(
    "--script",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --tail scripted: answer from FILE (docs/fake-provider.md) instead of the recording.",
)
@click.option(
    "--input",
    "typed",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Type this script afterwards (as rec --input), instead of the rest of the recorded input.",
)
@live_options
@click.option("--places", is_flag=True, help="List the places for --at and run nothing.")
@program_options
@click.option("--overwrite", is_flag=True, help="Replace an existing CHILD.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@json_option
def command(cassette: str | None, quiet: bool, as_json: bool, **given: Any) -> int:
    """Run a recording again up to a place, change one thing there, and record what follows.

    The real program runs as in `rerun`. Up to PLACE every request and screen must
    match the recording; otherwise it ends with 1 and writes no child. Then one
    thing changes. At an exchange of the terminal: the typed input (input=TEXT, or
    skip). At a request of the tape: the answer of the model (response=TEXT, or
    @FILE), the result of a tool (tool-result=TEXT), a fault (--fault: rate-limit,
    truncated, stalled, ...), or the answer to another request (swap=tape:N). At
    both: the model (model=NAME), the program, which must behave the same up to
    there (binary=PATH), the size of the terminal (size=COLSxROWS), the end
    (exit=STATUS), or no change (none).

    CHILD is a cassette that can be played and run again. See docs/fork.md. A
    cassette of use_tape takes the command that runs its code, above all a test; it
    can also be forked at a tool call (tool:1) (docs/in-process.md).

    Example: ptycassette fork --trust a.cassette --at tape:2 --change response=No -o b.cassette

    Example: ptycassette fork --trust a.cassette --fault overloaded@2 -o b.cassette

    Example: ptycassette fork a.cassette --at tool:1 --change tool-result=No -o b.cassette -- pytest

    Example: ptycassette fork --places a.cassette
    """
    if given["list_faults"]:
        from ptycassette.agents.faults.registry import fault_lines, faults_json

        write_lines([json_text(faults_json())] if as_json else fault_lines())
        return 0
    if cassette is None:
        raise click.UsageError("CASSETTE is missing")
    if given["places"]:
        from ptycassette.agents.fork.io.listing import place_lines

        with opened(cassette) as parent:
            if is_of_code(parent.manifest):
                from ptycassette.agents.inprocess.commands import call_places as place_lines
            write_lines(place_lines(parent))
        return 0
    change, place = _changed(given)
    if given["output"] is None:
        raise click.UsageError("--output is missing (or --places)")
    if given["script"] and given["tail"] != "scripted":
        raise click.UsageError("--script goes with --tail scripted only")
    with needing_extra("tape"):
        from ptycassette.agents.fork.io.forking import fork
        from ptycassette.agents.fork.io.live import ForkOptions
        from ptycassette.agents.fork.report import fork_json, fork_lines

    options = run_options(
        ForkOptions,
        given,
        at=place,
        change=change,
        tail=given["tail"],
        script=given["script"],
        inputs=_steps(given["typed"]),
        live=live_terms_of(given),
        overwrite=given["overwrite"],
    )
    with opened(cassette) as parent:
        if is_of_code(parent.manifest):
            from ptycassette.agents.inprocess.commands import fork_command as fork
        report = fork(parent, given["output"], options)
    if as_json:
        write_lines([json_text(fork_json(report))])
    elif not quiet:
        write_lines(fork_lines(report))
    return REFUSED_STATUS if report.refused else 0


def _changed(given: dict[str, Any]) -> tuple[Change, ForkPlace]:
    """The change and its place: ``--change`` with ``--at``, or ``--fault``."""
    from ptycassette.agents.fork.places import Change, ForkPlace

    if given["fault"] is None:
        for name in ("at", "change"):
            if given[name] is None:
                raise click.UsageError(f"--{name} is missing (or --fault, or --places)")
        return Change.parse(given["change"]), ForkPlace.parse(given["at"])
    from ptycassette.agents.faults.registry import parse_fault

    if given["change"] is not None:
        raise click.UsageError("a fault is the one thing that is changed: no --change with --fault")
    fault = parse_fault(given["fault"])
    if (fault.at is None) == (given["at"] is None):
        raise click.UsageError(
            "the fault has no place: write --fault NAME@2 for tape:2, or --fault NAME --at tape:2"
        )
    change = Change.of(fault)
    return change, ForkPlace.parse(given["at"] or f"tape:{fault.at}")


def _steps(path: Path | None) -> tuple[ScriptStep, ...] | None:
    if path is None:
        return None
    from ptycassette.errors import UsageError
    from ptycassette.recording.input_script import parse_script
    from ptycassette.system.files.whole_file import read_plain

    text = read_plain(path, max_bytes=_MOST_SCRIPT).decode("utf-8", "replace")
    steps = parse_script(text, name=str(path))
    for step in steps:
        if step.kind in {"secret-env", "secret-file"}:
            raise UsageError(f"a fork takes no {step.kind}", where=f"{path} line {step.line}")
    return steps
