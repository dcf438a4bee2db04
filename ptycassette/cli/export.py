"""``ptycassette export CASSETTE OUT``: a cassette in another format.

The formats and their options are in the registry of ``ptycassette.formats.export``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from ptycassette.cli._options import (
    TIME,
    SectionedCommand,
    allow_unscrubbed_option,
    cassette_argument,
    opened,
)
from ptycassette.cli._present import check_stdout_takes
from ptycassette.errors import UsageError
from ptycassette.formats.export.asciicast import left_out
from ptycassette.formats.export.options import (
    EXPORT_OPTIONS,
    FONT_PIXELS,
    MAX_ROWS,
    MAX_SPEED,
    ExportOption,
)
from ptycassette.formats.export.registry import (
    ExportFormat,
    export_named,
    export_of_file,
    exports_of,
)
from ptycassette.model.visible_text import visible

FORMATS = exports_of("recording")
_FEW = 2


def _help(option: ExportOption) -> str:
    """The help of an option, preceded by the formats that take it, unless many do."""
    takers = _takers(option)
    text = option.help
    return text if len(takers) > _FEW else f"{', '.join(takers)}: {text[0].lower()}{text[1:]}"


def _takers(option: ExportOption) -> list[str]:
    return [one.name for one in FORMATS if option.name in one.options]


def _click_option(option: ExportOption) -> Callable[[Any], Any]:
    names = [*([f"-{option.short}"] if option.short else []), option.flag, option.name]
    settings: dict[str, Any] = {"help": _help(option)}
    match option.kind:
        case "flag":
            settings["is_flag"] = True
        case "seconds":
            settings["type"] = TIME
        case "rows":
            settings |= {"type": click.IntRange(0, MAX_ROWS), "metavar": "ROWS"}
        case "factor":
            settings |= {"type": click.FloatRange(0, MAX_SPEED, min_open=True), "metavar": "FACTOR"}
        case "pixels":
            settings |= {"type": click.IntRange(*FONT_PIXELS), "metavar": "PIXELS"}
        case "choice":
            settings |= {"type": click.Choice(option.choices), "show_default": True}
            settings["default"] = option.choices[0]
        case "range":
            settings |= {"metavar": "N-M", "callback": _read_range}
        case "reports":
            settings |= {"metavar": "PATH", "callback": _read_reports, "default": None}
        case "text":
            pass
    return click.option(*names, **settings)


def _read_range(_: click.Context, __: click.Parameter, given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    found = re.fullmatch("([0-9]{1,9})(?:-([0-9]{1,9}))?", given)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise click.BadParameter(f"{given!r} is not a range such as 3-7, or a number")
    return first, last


def _read_reports(_: click.Context, __: click.Parameter, path: str | None) -> tuple[Any, ...]:
    if path is None:
        return ()
    from ptycassette.replaying.standin.io.process import read_reports

    found = tuple(read_reports(path))
    if not found:
        raise UsageError("there is no report", where=path, hint="PTYCASSETTE_REPORT names it")
    return found


def _format_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(EXPORT_OPTIONS):
        function = _click_option(option)(function)
    return function


class ExportCommand(SectionedCommand):
    """Lists the formats of the registry below the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections of options, then a line for each format."""
        super().format_options(ctx, formatter)
        with formatter.section("Formats"):
            formatter.write_dl([(one.name, _line(one)) for one in FORMATS])


def _line(one: ExportFormat) -> str:
    """A format in the help: its endings, and what it is."""
    return ": ".join(filter(None, (", ".join(one.endings), one.writes)))


def _sections() -> dict[str, tuple[str, ...]]:
    """Options of all or most formats, and those of a few."""
    few = {one.flag for one in EXPORT_OPTIONS if len(_takers(one)) <= _FEW}
    most = tuple(one.flag for one in EXPORT_OPTIONS if one.flag not in few)
    common = ("--format", "--html", *most, "--overwrite", "--allow-unscrubbed", "--help")
    rest = tuple(one.flag for one in EXPORT_OPTIONS if one.flag in few)
    return {"Options": common, "Options of some formats (docs/cli.md)": rest}


@click.command("export", cls=ExportCommand, sections=_sections())
@cassette_argument
@click.argument("out", metavar="OUT", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice([one.name for one in FORMATS]),
    help="Write this format (see below). Default: the ending of OUT decides.",
)
@click.option("--html", "as_page", is_flag=True, help="Write a page, as --format html does.")
@_format_options
@click.option("--overwrite", is_flag=True, help="Replace an existing file OUT.")
@allow_unscrubbed_option
def command(
    cassette: str,
    out: str,
    kind: str | None,
    as_page: bool,
    overwrite: bool,
    allow_unscrubbed: bool,
    **options: Any,
) -> None:
    """Write CASSETTE to OUT in another format: a page, picture, film, text, test, ...

    OUT is written whole or not at all; `-` is stdout. The formats are listed below.

    Example: ptycassette export hello.cassette hello.html

    Example: ptycassette export hello.cassette hello.svg

    Example: ptycassette export hello.cassette hello.gif --from 2 --to 10 --speed 2 --caption

    Example: ptycassette export hello.cassette hello.cast --idle-limit 1

    Example: ptycassette export hello.cassette hello.txt --all

    Example: ptycassette export hello.cassette test_hello.py
    """
    if as_page:
        if kind not in {None, "html"}:
            raise click.UsageError(f"--html and --format {kind} do not go together")
        kind = "html"
    chosen = _format_of(out) if kind is None else export_named(kind)
    taken = {name: value for name, value in options.items() if name in chosen.options}
    _refuse_others(chosen)
    if out == "-":
        check_stdout_takes(chosen.name, is_binary=chosen.is_binary)
    with opened(cassette, allow_unscrubbed=allow_unscrubbed, shown=not chosen.of_records) as source:
        parts = chosen.recording(source, **taken)
        _write(out, parts, overwrite=overwrite)
        for note in getattr(parts, "notes", ()):
            click.echo(visible(f"{out}: {note}"), err=True)
        _report_losses(
            out, left_out(source, chosen, with_input=bool(taken.get("with_input"))), chosen
        )


def _format_of(out: str) -> ExportFormat:
    try:
        return export_of_file(out, of="recording")
    except UsageError as wrong:
        for one in exports_of("screen"):
            if out.lower().endswith(one.endings):
                raise UsageError(
                    f"a session cannot be written as {one.name}: it is a format of one screen",
                    where=out,
                    hint=f"write: ptycassette frames CASSETTE --last --format {one.name} > {out}",
                ) from wrong
        raise UsageError(
            "the format of OUT is not clear from its ending",
            where=out,
            hint=f"{wrong.hint}, or set --format",
        ) from wrong


def _refuse_others(chosen: ExportFormat) -> None:
    ctx = click.get_current_context()
    for option in EXPORT_OPTIONS:
        given = ctx.get_parameter_source(option.name) is not click.core.ParameterSource.DEFAULT
        if given and option.name not in chosen.options:
            takers = [one.name for one in FORMATS if option.name in one.options]
            raise UsageError(
                f"{chosen.name} takes no {option.flag}",
                hint=f"leave it out, or write {' or '.join(takers)}",
            )


def _report_losses(out: str, lost: dict[str, int], chosen: ExportFormat) -> None:
    """Report on stderr the content that the format cannot hold."""
    if not lost:
        return
    parts = [f"{count} x {kind}" for kind, count in sorted(lost.items())]
    typed = "input" in lost and "with_input" in chosen.options
    hint = " (--with-input writes what was typed)" if typed else ""
    click.echo(visible(f"{out}: {chosen.name} leaves out {', '.join(parts)}{hint}"), err=True)


def _write(out: str, parts: Iterable[bytes], *, overwrite: bool) -> None:
    if out == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
        return
    from ptycassette.system.files.whole_file import write_whole

    write_whole(out, parts, overwrite=overwrite)
