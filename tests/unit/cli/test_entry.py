"""Outcomes of the command line: statuses and messages."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from ptycassette import __version__
from ptycassette.cli import entry
from ptycassette.cli._rec_plan import LimitArguments, RecArguments
from tests.unreadable import unreadable

Run = Callable[..., Any]


def _command_that(raises: BaseException) -> Callable[..., click.Command]:
    @click.command()
    def command() -> None:
        raise raises

    return lambda self, ctx, name: command


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("--version",), 0),
        (("--help",), 0),
        (("nonsense",), 2),
        (("info",), 2),
        (("info", "--nonsense", "x"), 2),
        (("info", "no-such.cassette"), 3),
        (("info", "corrupt/manifest-missing"), 4),
        (("info", "corrupt/seq-gap"), 4),
        (("info", "v1/minimal"), 0),
    ],
)
def test_statuses_are_the_documented_ones(
    args: tuple[str, ...], status: int, run: Run, in_fixtures: Path
) -> None:
    """0 ok, 2 usage, 3 not there, 4 not valid."""
    assert run(*args).status == status


_LOOKS_AT_PACKAGES = pytest.mark.skipif(
    os.geteuid() == 0, reason="root's packages may be in a folder that is closed to others"
)


@pytest.mark.parametrize(
    "words",
    [
        "cat CLOSED",
        "check CLOSED/x.yaml",
        "edit cut CLOSED --exchanges 1 -o new.cassette",
        "demo --keep CLOSED/x",
        "diff CLOSED CLOSED",
        "doctor --drift CLOSED",
        "events CLOSED",
        "export CLOSED out.txt",
        "fake-provider CLOSED/x.toml --check",
        "frames CLOSED",
        "import CLOSED/x.cast -o new.cassette",
        "info CLOSED",
        "info CLOSED/manifest.json",
        "lineage CLOSED",
        "ls CLOSED",
        "migrate CLOSED",
        "play CLOSED",
        "rec --headless --input CLOSED/x new.cassette -- true",
        pytest.param("recover CLOSED/x", marks=_LOOKS_AT_PACKAGES),
        pytest.param("scrub CLOSED", marks=_LOOKS_AT_PACKAGES),
        "tape CLOSED",
        "textconv CLOSED/output.raw",
        "verify CLOSED",
        "verify --files CLOSED/output.raw",
        pytest.param("verify-scrub CLOSED", marks=_LOOKS_AT_PACKAGES),
        "view CLOSED",
    ],
)
def test_a_path_that_may_not_be_read_is_neither_a_wrong_use_nor_a_bug(
    words: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the command, it names the path, and why."""
    with tempfile.TemporaryDirectory() as name, monkeypatch.context() as patch:
        place = Path(name)  # in no folder of pytest, which are closed to others
        place.chmod(0o777)
        (place / "closed").mkdir()
        patch.chdir(place)
        for variable in ("HOME", "XDG_CONFIG_HOME", "PTYCASSETTE_STATE_DIR"):
            patch.setenv(variable, name)
        run(*words.replace("CLOSED", "missing").split())  # what it imports is there now
        with unreadable(place / "closed"):
            ran = run(*words.replace("CLOSED", "closed").split())

    printed = ran.text + ran.err
    assert ran.status == 3, printed
    assert re.search("closed.*Permission denied", printed), printed


def test_the_version_is_the_packages(run: Run) -> None:
    """Name and number."""
    assert run("--version").text == f"ptycassette, version {__version__}\n"


def test_a_bug_says_that_it_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 5, with a traceback, and nothing of it acts on the terminal."""
    monkeypatch.setattr(entry.LazyGroup, "get_command", _command_that(RuntimeError("odd \x1b[2J")))
    ran = run("info")

    assert ran.status == 5
    assert "this is a bug in ptycassette" in ran.err
    assert "odd \\e[2J" in ran.err


def test_an_interrupt_ends_as_a_shell_reports_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """128 and the number of SIGINT."""
    monkeypatch.setattr(entry.LazyGroup, "get_command", _command_that(KeyboardInterrupt()))

    assert run("info").status == 130


def test_a_reader_that_went_away_is_no_error(
    monkeypatch: pytest.MonkeyPatch, cassette: Path
) -> None:
    """Nothing is said, the status is that of SIGPIPE, and leaving is silent."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        status = entry.main(["info", str(cassette)])

    assert status == 141


def test_commands_are_imported_when_they_run() -> None:
    """An unknown name is none; a module without a command is our own mistake."""
    context = click.Context(entry.cli)

    assert entry.cli.get_command(context, "nonsense") is None


def test_a_table_entry_without_a_command_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found when it is looked up."""
    monkeypatch.setitem(entry.COMMANDS, "odd", ("ptycassette.errors", "Odd."))
    monkeypatch.setattr("ptycassette.errors.command", 1, raising=False)

    with pytest.raises(TypeError, match="not a click command"):
        entry.cli.get_command(click.Context(entry.cli), "odd")


def _shell(words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What a shell makes of it; ``ptycassette`` is ours, and buffers as it does for users."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["/bin/sh", "-c", words.replace("ptycassette", f"{sys.executable} -m ptycassette", 1)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "words", ["info v1/minimal", "cat v1/minimal", "events v1/minimal", "--version"]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_stdout_is_no_bug_of_ours(
    words: str, unbuffered: str, in_fixtures: Path
) -> None:
    """It says what, where and what to do, and ends as when any disk is full."""
    command = f"PYTHONUNBUFFERED={unbuffered} ptycassette {words} >/dev/full"
    ended = _shell(command, in_fixtures)

    assert ended.returncode == 125
    assert ended.stderr.startswith("ptycassette: stdout: cannot be written: No space left")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG])
def test_what_another_file_refuses_is_not_said_of_stdout(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """An error without a name that nobody handled is a fault of ours, whatever its number."""
    refused = OSError(number, os.strerror(number))
    monkeypatch.setattr(entry.LazyGroup, "get_command", _command_that(refused))
    ran = run("info")

    assert ran.status == 5
    assert "stdout" not in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "words", ["play --raw v1/minimal", "play v1/minimal", "export v1/minimal - --format text"]
)
def test_what_goes_past_the_buffer_is_said_of_stdout_too(words: str, in_fixtures: Path) -> None:
    """Bytes that are written to the descriptor, and binary ones."""
    ended = _shell(f"ptycassette {words} >/dev/full", in_fixtures)

    assert ended.returncode == 125
    assert ended.stderr.startswith("ptycassette: stdout: cannot be written: No space left")


def test_stdout_is_given_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With all that was printed in it, whoever calls ``main`` as a function."""
    with (tmp_path / "out").open("w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        out.write("before\n")
        status = entry.main(["--version"])
        same = sys.stdout is out
        out.write("after\n")

    assert (status, same) == (0, True)
    text = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert text == ["before", f"ptycassette, version {__version__}", "after"]


@pytest.mark.parametrize("words", ["info v1/minimal", "cat v1/minimal", "--help"])
def test_a_stdout_that_is_closed_is_as_good_as_none(words: str, in_fixtures: Path) -> None:
    """Nothing else takes its number, and nobody is told of a bug."""
    ended = _shell(f"ptycassette {words} >&-", in_fixtures)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_recording_with_all_streams_closed_is_one(tmp_path: Path) -> None:
    """The files that it opens take none of the three numbers."""
    ended = _shell(f"ptycassette rec -q {tmp_path}/c -- echo hi <&- >&- 2>&-", tmp_path)

    assert ended.returncode == 0
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"hi\r\n"


@pytest.mark.parametrize(
    ("name", "words", "struct"),
    [
        ("rec", ["c.cassette", "--", "true"], RecArguments),
        (
            "rec",
            ["--size", "100x30", "-i", "1:30", "--env", "A=1", "--tape", "--max-usd", "1",
             "--forbid", "k", "--retries", "2", "--durability", "disk", "c", "--", "true"],
            RecArguments,
        ),
        ("fork", ["--tail", "live", "--max-tokens", "5", "--yes", "c.cassette"], LimitArguments),
        ("blame", ["--tail", "live", "--approval", "f", "c.cassette"], LimitArguments),
    ],
)  # fmt: skip
def test_options_have_the_types_that_are_promised(
    name: str, words: list[str], struct: type[msgspec.Struct]
) -> None:
    """Each parameter of ``rec`` is a field, and its value has the type of the field."""
    command = entry.cli.get_command(click.Context(entry.cli), name)
    assert command is not None
    given = command.make_context(name, words).params
    fields = {field.name for field in msgspec.structs.fields(struct)} - {"streams"}

    assert fields <= set(given)
    if name == "rec":
        assert set(given) == fields | {"cassette", "argv"}
    taken = {field: given[field] for field in fields}
    assert msgspec.convert(taken, struct) == struct(**taken)
