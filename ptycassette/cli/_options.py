"""Parameters that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.system.files.project_file import Project

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:  # generic for type checkers only, depending on the version of click
    _ParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])
_PROJECT = f"{__name__}.project"


def project() -> Project:
    """The project file of the current folder; each command reads it once.

    Raises:
        CassetteError: it cannot be read, or is wrong.
    """
    from ptycassette.system.files.project_file import find_project

    known = click.get_current_context().meta
    if _PROJECT not in known:
        known[_PROJECT] = find_project()
    found: Project = known[_PROJECT]
    return found


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections.

    Args:
        sections: the options in each, by one of their names, in the order of the help. Options
            without a section follow in a separate section.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.sections = sections or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections, one after the other."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        section_of = {name: title for title, names in self.sections.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in self.sections}
        order = {name: at for at, name in enumerate(section_of)}
        for option in sorted(
            options, key=lambda one: min(order.get(o, len(order)) for o in one.opts)
        ):
            title = next((section_of[o] for o in option.opts if o in section_of), "Other options")
            row = option.get_help_record(ctx)
            if row is not None:
                rows.setdefault(title, []).append(row)
        for title, lines in rows.items():
            with formatter.section(title):
                formatter.write_dl(lines)


class TextType(_ParamType):
    """A parameter whose text a function of ``ptycassette.keys`` reads; other values stay.

    Args:
        name: its kind.
        reader: the name of the function, which is loaded when a value is given.
        least: the smallest value that is allowed.
        given: further arguments of the function.
    """

    def __init__(self, name: str, reader: str, *, least: float = 0, **given: Any) -> None:
        self.name = name
        self._reader, self._least, self._given = reader, least, given

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The result of the function; its ``ValueError`` becomes a usage error."""
        from ptycassette.keys import quantities

        if not isinstance(value, str):
            return value
        try:
            found = getattr(quantities, self._reader)(value, **self._given)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)
        if self._least and found < self._least:
            self.fail(f"'{value}' is less than {self._least:g}, the least allowed", param, ctx)
        return found


class TimeType(TextType):
    """A moment or a length of time, in seconds.

    Args:
        least: the shortest time that is allowed.
        given: further arguments of ``parse_time``.
    """

    def __init__(self, *, least: float = 0, **given: Any) -> None:
        super().__init__("time", "parse_time", least=least, **given)


TIME = TimeType()
SIZE = TextType("size", "parse_size")


def cassette_argument(function: F) -> F:
    """The argument CASSETTE, the directory of a cassette, and ``--follow-links``."""
    argument = click.argument("cassette", metavar="CASSETTE", type=click.Path())
    return argument(follow_links_option(function))


def follow_links_option(function: F) -> F:
    """The flag ``--follow-links``, which is the variable of the environment for this command."""
    return click.option(
        "--follow-links",
        is_flag=True,
        expose_value=False,
        callback=_follow_links,
        help="Allow the cassette, or files in it, to be links.",
    )(function)


def _follow_links(context: click.Context, option: click.Parameter, asked: bool) -> None:
    del option
    if not asked:
        return
    from ptycassette.system.files.directory_handle import FOLLOW_LINKS_VARIABLE

    before = os.environ.get(FOLLOW_LINKS_VARIABLE)
    os.environ[FOLLOW_LINKS_VARIABLE] = "1"

    def restore() -> None:
        os.environ.pop(FOLLOW_LINKS_VARIABLE, None)
        if before is not None:
            os.environ[FOLLOW_LINKS_VARIABLE] = before

    context.call_on_close(restore)


def json_option(function: F) -> F:
    """The flag ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object (docs/json.md)."
    )(function)


def allow_unscrubbed_option(function: F) -> F:
    """The flag ``--allow-unscrubbed``."""
    return click.option(
        "--allow-unscrubbed",
        is_flag=True,
        help="Also open a cassette that was recorded without scrubbing.",
    )(function)


def script_options(function: F) -> F:
    """The options ``--set``, ``--log`` and ``--port`` of commands that run the fake provider."""
    for option in (
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            metavar="PORT",
            default=0,
            help="Listen on this port; 0 takes any free one.",
        ),
        click.option(
            "--log",
            type=click.Path(path_type=Path),
            help="Append each request to this file, as a line of JSON.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Replace ${NAME} in the script with VALUE. Repeatable.",
        ),
    ):
        function = option(function)
    return function


def path_option(*names: str, metavar: str, text: str) -> Callable[[F], F]:
    """An option that takes a path; ``text`` is its help."""
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, help=text)


def pairs_of(
    words: tuple[str, ...], *, option: str, own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """``NAME=VALUE`` pairs. With ``own``, an environment, a NAME alone takes its value there."""
    pairs = {}
    for word in words:
        name, sign, value = word.partition("=")
        is_named = name.isidentifier() if own is None else bool(name)
        if not is_named or (not sign and (own is None or name not in own)):
            asked = "NAME=VALUE" if own is None else "NAME=VALUE, or the NAME of a variable"
            raise click.UsageError(f"{option} takes {asked}, not {word!r}")
        pairs[name] = value if sign or own is None else own[name]
    return pairs


def opened(
    path: str, *, allow_unscrubbed: bool = False, full: bool = False, shown: bool = False
) -> Cassette:
    """Open the cassette of a command: documents checked, or, ``full``, every byte.

    With ``shown`` the turns of one that has no screen are its output.
    """
    from ptycassette.cassette.io.reader import open_cassette

    cassette = open_cassette(
        path, allow_unscrubbed=allow_unscrubbed, check="full" if full else "manifest"
    )
    if not shown or cassette.output_size:
        return cassette
    from ptycassette.agents.inprocess.drifting import with_turns

    return with_turns(cassette)


class FilesCommand(click.Command):
    """A command with ``files_option``: behind ``--files`` there are names of files alone.

    Git hooks put names there that a pull request chose. A folder may be called ``--config=x``.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them; after ``--files``, a word that looks like an option must be a file."""
        options = args[: args.index("--")] if "--" in args else args
        if "--files" in options:
            at = options.index("--files") + 1
            names = args[at + 1 :] if args[at : at + 1] == ["--"] else args[at:]
            for name in names:
                if name.startswith("-") and not ("/" in name and os.path.lexists(name)):
                    raise click.UsageError(
                        f"{name!r} comes after --files: put options before it", ctx=ctx
                    )
            args = [*args[:at], "--", *names]
        return super().parse_args(ctx, args)


def files_option(function: F) -> F:
    """The flag ``--files``, of a ``FilesCommand``."""
    return click.option(
        "--files",
        is_flag=True,
        help="Take all that follows as files inside cassettes, for git hooks.",
    )(function)


def cassettes_with(files: Sequence[str]) -> list[str]:
    """The cassettes that contain the files, each once.

    Files outside of a cassette or gone are skipped.
    """
    found = dict.fromkeys(str(Path(file).parent) for file in files)
    return [path for path in found if (Path(path) / "manifest.json").is_file()]
