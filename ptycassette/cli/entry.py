"""``main``: parse, run, turn every outcome into a message and a documented exit status.

Commands are found in a table and imported only when they run, so that
``ptycassette --help`` costs no more than importing click.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ptycassette.errors import CassetteError, NotFoundError, StorageError, UnreadableError
from ptycassette.version import __version__

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


# A stdout whose errors can be recognised as its own.


_REFUSES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What writing to stdout says when its disk is full or broken."""


class StdoutError(OSError):
    """Writing to stdout failed: its disk is full or broken."""


@contextmanager
def direct_writes() -> Iterator[None]:
    """A context for code that writes only to the descriptor of stdout.

    Raises:
        StdoutError: writing failed.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno in _REFUSES:
            raise StdoutError(exc.errno, exc.strerror) from exc
        raise


class _Guarded(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int | None:  # type: ignore[override]
        """As ``FileIO``; raises as ``direct_writes``."""
        with direct_writes():
            return super().write(data)


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """While entered, ``sys.stdout`` raises ``StdoutError`` if writing fails.

    A replacement of ``sys.stdout`` (by a test or an embedding program) is not changed.
    """
    before = sys.stdout
    buffer = getattr(before, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer in between
    if not isinstance(before, io.TextIOWrapper) or type(raw) is not io.FileIO:
        yield
        return
    before.flush()  # earlier output comes first
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Guarded(raw.fileno(), "w", closefd=False)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
    try:
        yield
    finally:
        sys.stdout = before


# section -> name -> (module, one line for the list of commands), in the order of the list. The
# command object in the module is called ``command``.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Record": {
        "rec": ("ptycassette.cli.rec", "Record a program into a new cassette."),
        "watch": ("ptycassette.cli.watch", "Follow a recording in progress."),
        "recover": ("ptycassette.cli.recover", "Turn journals left by a crash into cassettes."),
        "import": ("ptycassette.cli.import_", "Make a cassette from another tool's file."),
    },
    "Look": {
        "play": ("ptycassette.cli.play", "Play a cassette in the terminal."),
        "view": ("ptycassette.cli.view", "Scrub through a recording in the viewer."),
        "info": ("ptycassette.cli.info", "Describe a cassette on one screen."),
        "ls": ("ptycassette.cli.ls", "List the cassettes in a directory."),
        "frames": ("ptycassette.cli.frames", "Show the screens of a cassette."),
        "events": ("ptycassette.cli.events", "List the events of a cassette."),
        "cat": ("ptycassette.cli.cat", "Write the recorded output to stdout, byte for byte."),
        "diff": ("ptycassette.cli.diff", "Show what changed between two cassettes."),
    },
    "Test": {
        "stand-in": (
            "ptycassette.cli.stand_in",
            "Pose as the recorded program and check the input.",
        ),
        "shim": ("ptycassette.cli.shim", "Make executables that play cassettes."),
        "check": ("ptycassette.cli.check", "Check recordings against their scenarios."),
        "verify": ("ptycassette.cli.verify", "Check everything in a cassette."),
        "promote": (
            "ptycassette.cli.promote",
            "Make a test from a trace, or a fixture from a run.",
        ),
    },
    "Edit": {
        "edit": (
            "ptycassette.cli.edit",
            "Cut, join, speed up, mask or annotate recordings.",
        ),
        "migrate": (
            "ptycassette.cli.migrate",
            "Convert a cassette to another version of the format.",
        ),
    },
    "Share": {
        "export": (
            "ptycassette.cli.export",
            "Write a recording as a picture, film, page, text or log.",
        ),
        "scrub": ("ptycassette.cli.scrub", "Remove secrets from an existing cassette."),
        "verify-scrub": (
            "ptycassette.cli.verify_scrub",
            "Check that no secret is left in a cassette.",
        ),
        "textconv": ("ptycassette.cli.textconv", "Print a file of a cassette for git diff."),
    },
    "Model traffic": {
        "tape": ("ptycassette.cli.tape", "List the model traffic of a cassette."),
        "rerun": ("ptycassette.cli.rerun", "Run the real program again, offline, from its tape."),
        "fork": ("ptycassette.cli.fork", "Run a recording again with one change."),
        "blame": ("ptycassette.cli.blame", "Find the exchange that caused the outcome."),
        "lineage": ("ptycassette.cli.lineage", "Show which recordings were forked from which."),
        "offline": ("ptycassette.cli.offline", "Run an agent CLI against a scripted provider."),
        "fake-provider": ("ptycassette.cli.fake_provider", "Serve a scripted model provider."),
        "probe": ("ptycassette.cli.probe", "Ask a CLI for its quota, account and models."),
    },
    "Trust": {
        "seal": ("ptycassette.cli.seal", "Sign the content of a cassette with a key."),
        "bundle": ("ptycassette.cli.bundle", "Make and verify bundles of agent-rerun."),
    },
    "Set up": {
        "doctor": (
            "ptycassette.cli.doctor",
            "Check what works on this machine and what is missing.",
        ),
        "completion": ("ptycassette.cli.completion", "Print the completion script for a shell."),
        "man": ("ptycassette.cli.man", "Print the manual page."),
        "demo": ("ptycassette.cli.demo", "Record, verify and replay a small program, as a tour."),
    },
}
COMMANDS = {name: row for rows in SECTIONS.values() for name, row in rows.items()}
MOVED = dict.fromkeys(("trim", "cut", "join", "speed", "idle", "mask", "annotate"), "edit")
"""Commands that are now in a group. Their old names work in this release, but are not listed."""

_OWN_SIGNALS = frozenset(
    ("fake-provider", "offline", "play", "probe", "rec", "stand-in", "view", "watch")
)
"""Commands that do something else when a signal comes, or that must be gone at once."""

BUG_STATUS = 5
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)
"""What the system says of a path that was given, and that we did not foresee: no bug of ours."""
PIPE_STATUS = 128 + 13
"""What a shell reports for a program that SIGPIPE ended."""


_OF_THE_MACHINE = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: end something",
    errno.ENOMEM: "end something, or raise the limits (ulimit -v)",
    errno.EAGAIN: "end something, or raise the limits (ulimit -u)",
}
"""Errors that any call may meet and that are no bug: what to do."""
_OF_A_DISK = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space: the disk quota is used up",
    errno.EROFS: "choose a place that is not read-only",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
}
"""The same of a file that is named."""


class _PipeClosedError(Exception):
    """The reader of our stdout has closed it (``| head``), which is normal."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name in MOVED:
            group = self.get_command(ctx, MOVED[cmd_name])
            return group.get_command(ctx, cmd_name) if isinstance(group, click.Group) else None
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = importlib.import_module(entry[0]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry[0]}.command is not a click command")
        return _reading_for_itself(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with suggestions for an unknown name, and a note for an old one."""
        name = args[0]
        if ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if name in MOVED:
            with suppress(OSError):  # stderr may be full or gone; the command works all the same
                click.echo(
                    f"note: `ptycassette {name}` is now `ptycassette {MOVED[name]} {name}`",
                    err=True,
                )
        elif name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(_no_such_command(name), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would end with status 1 when the reader of stdout goes away."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as exc:
            raise _PipeClosedError from exc

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, section by section, without importing them."""
        width = max(map(len, COMMANDS))
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in rows.items()])


def _reading_for_itself(command: click.Command) -> click.Command:
    """The command, which finds out by itself whether it may read a path.

    click would call a path that may not be read a wrong use (2); it is unreadable (3).
    """
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            parameter.type.readable = False
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _reading_for_itself(below)
    return command


MEANT = {
    "asciicast": "export", "codegen": "export", "compare": "diff", "convert": "export",
    "dump": "cat", "list": "ls", "open": "view", "record": "rec", "replay": "play",
    "serve": "view", "sign": "seal", "show": "info", "show-trace": "view", "stream": "watch",
    "test": "check", "trace": "view", "upload": "export",
}  # fmt: skip
"""What other tools call our commands, where the spelling is too far off to be found by likeness."""


def _no_such_command(name: str) -> str:
    from difflib import get_close_matches

    if name == "version":
        return "no such command: 'version'. Write: ptycassette --version"
    if name == "help":
        return "no such command: 'help'. Write: ptycassette --help, or ptycassette COMMAND --help"
    if name in {"rm", "delete", "remove"}:
        return f"no such command: {name!r}. A cassette is a directory: rm -r CASSETTE"
    likely = [MEANT[name]] if name in MEANT else get_close_matches(name, [*COMMANDS, *MOVED], n=3)
    if not likely and Path(name, "manifest.json").exists():
        return f"no such command: {name!r}. It is a cassette: ptycassette info {name}"
    spelt = [f"{MOVED[one]} {one}" if one in MOVED else one for one in likely]
    meant = f" Did you mean {' or '.join(spelt)}?" if spelt else ""
    return f"no such command: {name!r}.{meant}"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: ptycassette rec hello.cassette -- bash -c 'echo hello'",
)
@click.version_option(__version__, "-V", "--version", prog_name="ptycassette")
def cli() -> None:
    """Record terminal programs once; replay them in tests forever."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments without the program name; ``sys.argv[1:]`` when None.

    Returns:
        The exit status, as documented in the package docstring.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    _open_what_is_closed()
    _escape_unencodable()
    with guarded_stdout():
        status = _run(args) if args and args[0] in _OWN_SIGNALS else _run_unwinding(args)
        try:
            sys.stdout.flush()  # of a command that failed in another way, too
        except OSError:
            _drop(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:  # the terminal is gone; an end with unwritten output would be status 120
        _drop(sys.stderr)
    return status


def _run_unwinding(args: list[str]) -> int:
    from ptycassette.system.ownership import unwound

    return unwound(lambda: _run(args))


def _run(args: list[str]) -> int:  # noqa: PLR0911 - one per outcome
    try:
        result = cli.main(args=args, prog_name="ptycassette", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return 130
    except click.ClickException as wrong:
        vars(wrong)["message"] = _escaped(wrong.message)  # final for type checkers alone
        wrong.show()
        return wrong.exit_code
    except CassetteError as failed:
        _report(failed)
        return failed.exit_status
    except (_PipeClosedError, BrokenPipeError):
        _drop(sys.stdout)
        return PIPE_STATUS
    except KeyboardInterrupt:
        return 130
    except StdoutError as exc:
        _drop(sys.stdout)
        refused = StorageError(
            f"cannot be written: {exc.strerror}",
            where="stdout",
            hint="make room, or write elsewhere",
        )
        _report(refused)
        return refused.exit_status
    except OSError as exc:
        found = _of_the_machine(exc)
        if found is None:
            _report_bug(exc)
            return BUG_STATUS
        _report(found)
        return found.exit_status
    except Exception as bug:  # noqa: BLE001 - the last net: say that it is our fault
        _report_bug(bug)
        return BUG_STATUS
    return result if isinstance(result, int) else 0


def _of_the_machine(exc: OSError) -> CassetteError | None:
    """The report for an error whose cause is this machine rather than our code; else None."""
    missing = isinstance(exc, FileNotFoundError)
    where = None if exc.filename is None else os.fsdecode(exc.filename)
    hint = _OF_THE_MACHINE.get(exc.errno or 0)
    if hint is None and where is not None:
        hint = _OF_A_DISK.get(exc.errno or 0)
    if hint is not None:
        return StorageError(f"the system refuses: {exc.strerror}", where=where, hint=hint)
    if missing and where is not None and where.startswith(("/dev/", "/proc/")):
        return StorageError("is not there", where=where, hint="mount it, as containers usually do")
    if missing and where is None and "temporary directory" in (exc.strerror or ""):
        return StorageError(
            "there is no temporary directory to write to",
            hint="set TMPDIR to a directory that you can write to",
        )
    try:
        Path.cwd()
    except OSError:
        return NotFoundError("the current directory was deleted", hint="cd to one that exists")
    if exc.errno in _REFUSALS and where is not None:
        return UnreadableError(str(exc.strerror), where=where)
    return None


def _escaped(message: str) -> str:
    """A message of click, escaped, because it quotes arguments, which may be file names."""
    if all(char.isprintable() or char == "\n" for char in message):
        return message
    from ptycassette.model.visible_text import visible

    return "\n".join(visible(line) for line in message.split("\n"))


def _open_what_is_closed() -> None:
    """Open ``/dev/null`` for standard streams that were closed.

    Otherwise the next file that is opened would get the number, and our messages.
    """
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(fd)
            except OSError:
                while os.open(os.devnull, os.O_RDWR) < fd:  # the lowest number that is free
                    pass
            mode = "r" if fd == 0 else "w"
            stream = open(fd, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - to stay
            setattr(sys, name, stream)


def _escape_unencodable() -> None:
    """Print escapes where the locale lacks a character, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop(stream: TextIO) -> None:
    """Discard what is still buffered, so that the interpreter ends without a message."""
    try:
        fd = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def _report(failed: CassetteError) -> None:
    """Print a handled error to stderr, with invisible characters escaped."""
    from ptycassette.cli._present import error_lines

    with suppress(OSError):  # it has no reader
        for line in error_lines(failed):
            click.echo(line, err=True)


def _report_bug(bug: Exception) -> None:
    """Print an unexpected exception with its traceback and where to report it."""
    from ptycassette.cli._present import bug_lines

    with suppress(OSError):
        for line in bug_lines(bug):
            click.echo(line, err=True)
