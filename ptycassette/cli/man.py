"""``ptycassette man``: the manual page, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ptycassette.cli._present import write_lines
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.cli.entry import LazyGroup


@click.command("man")
def command() -> None:
    """Print the manual page, in the format of man(7).

    To read it: ptycassette man | man -l -

    To install it: ptycassette man > ~/.local/share/man/man1/ptycassette.1

    Example: ptycassette man | man -l -
    """
    from ptycassette.cli.entry import cli

    write_lines(manual_lines(cli))


def manual_lines(group: LazyGroup) -> Iterator[str]:
    """The page: every command with its options, then statuses, variables and files."""
    yield f'.TH PTYCASSETTE 1 "" "ptycassette {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "ptycassette \\- record terminal programs once, replay them in tests"
    yield ".SH SYNOPSIS"
    yield ".B ptycassette"
    yield "COMMAND [OPTIONS] [ARGUMENTS]"
    yield ".SH COMMANDS"
    context = click.Context(group, info_name="ptycassette", **group.context_settings)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is not None:
            yield from _command_lines(found, click.Context(found, info_name=name, parent=context))
    for title, rows in (
        ("EXIT STATUS", EXIT_STATUSES), ("ENVIRONMENT", VARIABLES), ("FILES", FILES),
    ):  # fmt: skip
        yield f".SH {title}"
        for term, text in rows:
            yield from _entry(term, text)


def _command_lines(found: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_roff(context.command_path)}"
    usage = found.get_usage(context).removeprefix("Usage: ")
    yield f".B {_roff(' '.join(usage.split()))}"
    yield ".PP"
    for paragraph in (found.help or "").split("\n\n"):
        if paragraph.lstrip().startswith("\b"):  # click's mark for lines that stay as they are
            yield ".nf"
            yield from (_roff(line) for line in paragraph.split("\n")[1:])
            yield ".fi"
        else:
            yield _roff(" ".join(paragraph.split()))
        yield ".PP"
    if found.epilog:
        yield _roff(found.epilog)
    formatter = click.HelpFormatter(width=10_000)
    found.format_options(context, formatter)
    for line in formatter.getvalue().splitlines():
        term, _, text = line.strip().partition("  ")
        if line.startswith("  ") and text:
            yield from _entry(term, text.strip())
    if isinstance(found, click.Group):
        for name in found.list_commands(context):
            inner = found.get_command(context, name)
            if inner is not None:
                yield from _command_lines(
                    inner, click.Context(inner, info_name=name, parent=context)
                )


def _entry(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_roff(term)}"
    yield _roff(text)


def _roff(text: str) -> str:
    """Text escaped for roff: no line is a request, and hyphens can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped) or "\\&"


# Every variable, file and exit status, for the man page; ``docs/reference.md`` has the same.


EXIT_STATUSES: tuple[tuple[str, str], ...] = (
    ("0", "success"),
    (
        "1",
        (
            "a check failed; diff found a difference; verify --rederive found frames that differ; a"
            " probe is not ok; doctor found a defect; a step of demo failed"
        ),
    ),
    ("2", "wrong usage; a file that is not a scenario; an invalid project file; hooks that fail"),
    ("3", "not found, or not readable"),
    ("4", "not a valid cassette, never scrubbed, or different from its pinned digest"),
    ("5", "a bug in ptycassette"),
    ("6", "refused: the target exists or is in use, or a secret is left"),
    ("7", "not sealed, changed since it was sealed, or sealed with a key that is not trusted"),
    ("125", "a stand-in or a shim diverged or failed; rec failed; a write to disk failed"),
    ("126", "rec and shims: the program cannot be executed"),
    ("127", "rec and shims: the program was not found"),
    ("128 + n", "ended by signal n (130: ctrl-c; 141: the reader of the output closed it)"),
)

VARIABLES: tuple[tuple[str, str], ...] = (
    ("PTYCASSETTE_MODE", "the mode of use, the pytest plugin and shims"),
    ("PTYCASSETTE_SECRETS", "how secrets are compared in replay and rerun: same (default) or any"),
    ("PTYCASSETTE_PROVIDER", "the provider of rec --tape, like --provider; offline sets it"),
    ("PTYCASSETTE_DISABLE_NETWORK", "1: started programs cannot reach other machines"),
    (
        "PTYCASSETTE_REPORT",
        "where stand-ins write their report; in a directory, each writes its own file",
    ),
    (
        "PTYCASSETTE_FAULT",
        "a fault for every replay (as stand-in --fault) or rerun (as fork --fault)",
    ),
    ("PTYCASSETTE_FORK", "set for a command of fork and blame: the fork that use_tape makes"),
    ("PTYCASSETTE_FAULT_LOG", "a file that gets a line when a driver meets the fault"),
    ("PTYCASSETTE_SCRUB_CONFIG", "the file with your own scrub rules"),
    ("PTYCASSETTE_PROJECT", "the project file, instead of the nearest one"),
    ("PTYCASSETTE_SEAL_KEY", "the private key of seal itself, instead of --key"),
    (
        "SIGSTORE_IDENTITY_TOKEN",
        "the identity token for seal --identity, if no CI system provides one",
    ),
    ("PTYCASSETTE_STATE_DIR", "where journals and locks are"),
    ("PTYCASSETTE_EVENTS", "set for the recorded program: where it may write service events"),
    ("PTYCASSETTE_DRAWS", "where draws are logged or served from (docs/tape.md)"),
    ("PTYCASSETTE_FOLLOW_LINKS", "1: cassettes and their files may be links (docs/safety.md)"),
    ("PTYCASSETTE_VIEWER_CACHE", "off: the viewer caches nothing of long recordings"),
    ("PTYCASSETTE_PURE_PYTHON", "any value: use Python instead of the compiled C parts"),
    ("PTYCASSETTE_NO_SAVER", "any value: save nothing before the program has ended"),
    ("CI", "set and not false: mode auto records nothing"),
    ("NO_COLOR", "any value: no colours"),
    ("SHELL", "the program that rec records if you name no program"),
    ("TERM", "in your terminal: the terminal type that the program gets"),
    ("COLUMNS", "the width of help and tables"),
    ("LC_ALL, LC_CTYPE, LANG", "the locale; a recording stores its name"),
    ("HOME", "the directory of credential files and of the default directories below"),
    ("XDG_STATE_HOME", "the parent of the state directory; default ~/.local/state"),
    (
        "XDG_RUNTIME_DIR, TMPDIR",
        "the parent of the state directory if that one cannot be used; else /tmp",
    ),
    ("PWD", "the name of the current directory if it was deleted"),
    ("XDG_CONFIG_HOME", "the directory of your own profiles and probes; default ~/.config"),
    ("XDG_CACHE_HOME", "the directory of caches and temporary folders; default ~/.cache"),
    ("PATH", "where programs are found; a shim looks for the real program after itself"),
)

FILES: tuple[tuple[str, str], ...] = (
    ("pyproject.toml, ptycassette.toml", "the project file"),
    ("library.yaml", "in a library: the rules for which cassette a shim plays"),
    ("NAME.scenario.yaml", "assertions over a recording"),
    ("NAME.diagnostic", "in place of a cassette that was not made: the data of a failed run"),
    ("NAME.notes.json", "beside a cassette: markers and notes of the viewer"),
    ("NAME.seal.json", "beside a cassette: its seal"),
    (".ptycassette-shim.json", "in a directory of shims: their settings"),
    (".ptycassette-traces", "traces of failed tests, in the root directory of pytest"),
    ("~/.local/state/ptycassette/journals", "recordings in progress, or left by a crash; private"),
    ("~/.local/state/ptycassette/locks", "locks of accounts and targets"),
    ("~/.config/ptycassette/harnesses", "your own profiles, NAME.toml"),
    ("~/.config/ptycassette/probes", "your own probes, NAME.toml"),
    ("~/.cache/ptycassette", "the viewer's cache, probes, and temporary homes and folders"),
)
