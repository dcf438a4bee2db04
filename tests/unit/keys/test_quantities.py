"""Times, sizes and numbers of bytes as text, and that every option reads them alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.agents.faults.registry import parse_fault
from ptycassette.cli._options import SIZE, TimeType
from ptycassette.cli.entry import cli
from ptycassette.errors import UsageError
from ptycassette.keys.quantities import (
    bytes_text,
    clock_text,
    parse_bytes,
    parse_size,
    parse_time,
    time_text,
    window_text,
)
from ptycassette.model.screen import Size
from ptycassette.recording.input_script import parse_script
from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS, parse_settings
from ptycassette.system.files.project_file import find_project

TIMES = {
    "0": 0.0, "90": 90.0, "12.5": 12.5, ".5": 0.5, "5.": 5.0, " 3s ": 3.0, "1.5s": 1.5,
    "250ms": 0.25, "2m": 120.0, "1h": 3600.0, "1h30m": 5400.0, "7d": 604_800.0, "2w": 1_209_600.0,
    "1:30": 90.0, "1:02:03.5": 3723.5, "2:00:03": 7203.0, "90:00": 5400.0, "12.5 s": 12.5,
}  # fmt: skip
NO_TIMES = (
    "", "soon", "-1", "1:2:3:4", "1:02ms", "nan", "inf", "1e3", "9" * 40, "5 x", "5M", "1:", ":5",
    "\u0663s", "1s,5", "0x10",
)  # fmt: skip
_ABOUT_TIME = re.compile(r"time|seconds|pause|interval|gap|delay|patience|wait|fresh|older|younger")
_OTHER_NUMBERS = {"FACTOR", "SCORE", "COSINE", "USD"}


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_times_are_written_as_people_type_them(text: str, seconds: float) -> None:
    """As for asciinema and ffmpeg, and as Go prints durations."""
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_time(text: str) -> None:
    """The message shows the text and how to write one."""
    with pytest.raises(ValueError, match=r"write 90, 1.5s, 250ms, 2m, 1h or 1:30|is longer than"):
        parse_time(text)


def test_a_plain_number_may_count_milliseconds() -> None:
    """Where it always did; a unit or a clock decides."""
    assert [parse_time(text, unit="ms") for text in ("5", "5s", "0:05")] == [0.005, 5.0, 5.0]


def test_a_limit_is_named() -> None:
    """A day for a step of a script."""
    assert parse_time("24h", longest_s=86_400) == 86_400
    with pytest.raises(ValueError, match="'25h' is longer than 24 hours"):
        parse_time("25h", longest_s=86_400)


@given(st.text(max_size=30) | st.from_regex(r"[0-9.:]{0,8}(ms|[smhdw])?", fullmatch=True))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    """No other error, and no time that is negative, endless or no number."""
    try:
        seconds = parse_time(text)
    except ValueError:
        return
    assert 0 <= seconds <= 1e9


@given(st.integers(0, 10**15))
def test_what_is_printed_can_be_typed(us: int) -> None:
    """Lengths and moments alike, to the microsecond."""
    assert round(parse_time(time_text(us / 1e6)) * 1e6) == us
    assert round(parse_time(clock_text(us, decimals=6)) * 1e6) == us
    assert round(parse_time(clock_text(us, decimals=6, minutes=True)) * 1e6) == us


def test_moments_are_rounded_down() -> None:
    """With as many decimals as there is room for."""
    assert clock_text(12_345_678) == "12.345"
    assert clock_text(62_399_999, decimals=1) == "1:02.3"
    assert clock_text(3_723_456_000) == "1:02:03.456"
    assert clock_text(5_000_000, decimals=2, minutes=True) == "0:05.00"


def test_a_window_is_stored_with_its_units() -> None:
    """As Go reads it; other readers of the format do not know plain numbers and clocks."""
    texts = ("24h", "7d", "1 h 30 m", "90", "1:30", "1:30s")
    assert [window_text(text) for text in texts] == ["24h", "7d", "1h30m", "90s", "90s", "90s"]


@given(st.integers(1, 65_535), st.integers(1, 65_535))
def test_sizes_are_read_as_they_are_printed(rows: int, cols: int) -> None:
    """Columns first, as asciinema writes them."""
    assert parse_size(str(Size(rows, cols))) == Size(rows, cols)


@pytest.mark.parametrize("text", ["", "80", "0x24", "80x0", "80X24", "-1x5", "80x24x2", "70000x1"])
def test_no_size(text: str) -> None:
    """The message shows the text and how to write one."""
    with pytest.raises(ValueError, match=f"'{text}' is not a size; write COLSxROWS"):
        parse_size(text)


def test_numbers_of_bytes() -> None:
    """Thousands, or 1024 with an i; a plain number counts what the option says."""
    amounts = ("300", "64M", "10MiB", "1.5 GB", "2k", "7B", "1Gi")
    assert [parse_bytes(text, unit=10**6) for text in amounts] == [
        300_000_000, 64_000_000, 10 << 20, 1_500_000_000, 2000, 7, 1 << 30,
    ]  # fmt: skip
    for text in ("", "M", "5iB", "-1", "5T", "much"):
        with pytest.raises(ValueError, match="is not a number of bytes"):
            parse_bytes(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (20_300_000, "20.3 MB"), (10**13, "10000.0 GB")],
)
def test_bytes_for_people(count: int, text: str) -> None:
    """Decimal units; bytes are exact."""
    assert bytes_text(count) == text


@given(st.integers(0, 10**12))
def test_printed_bytes_can_be_typed(count: int) -> None:
    """Within the rounding of one decimal."""
    assert parse_bytes(bytes_text(count)) == pytest.approx(count, rel=0.05)


# -- who uses them -----------------------------------------------------------------------


def parameters(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Parameter]]:
    """Every parameter of every command, with the command."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from parameters(found, (*path, name))
    for one in command.params:
        yield " ".join(path), one


def test_every_option_about_time_reads_it_with_the_one_reader() -> None:
    """Found by what it is called and by its help: an option that forgets it fails here."""
    found = []
    for command, one in parameters():
        text = f"{one.name} {getattr(one, 'help', '')} {one.metavar or ''}".lower()
        flag = getattr(one, "is_flag", False) or isinstance(one.type, click.Choice)
        if flag or not _ABOUT_TIME.search(text) or one.metavar in _OTHER_NUMBERS:
            continue
        shown = one.make_metavar(click.Context(cli)).strip("[]")
        if shown == "TIME" or isinstance(one.type, click.types.FloatParamType):
            found.append((command, one))
    assert len(found) > 20
    for command, one in found:
        reads = isinstance(one.type, TimeType) or getattr(one.type, "_reader", "") == "window_text"
        assert reads, f"{command} {one.opts}"


def test_no_option_takes_a_number_of_seconds() -> None:
    """``SECONDS`` or ``MS`` as the name of a value was another language of time."""
    names = {(command, one.opts[0]): one.metavar or "" for command, one in parameters()}
    names |= {("stand-in", one.name): one.value for one in STANDIN_OPTIONS}
    assert not [key for key, name in names.items() if name in {"SECONDS", "MS", "AGE", "MB"}]


def test_every_size_option_reads_it_with_the_one_reader() -> None:
    """Found by the name of its value."""
    found = [one for _, one in parameters() if one.metavar == "COLSxROWS"]
    assert len(found) >= 2
    assert all(one.type is SIZE for one in found)


@pytest.mark.parametrize("text", [text for text, seconds in TIMES.items() if 0 < seconds < 600])
def test_scripts_faults_stand_ins_and_the_project_file_read_the_same(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One language of time, wherever a time is typed."""
    seconds = TIMES[text]
    (tmp_path / "ptycassette.toml").write_text(f'idle_limit = "{text}"')
    monkeypatch.delenv("PTYCASSETTE_PROJECT", raising=False)

    assert parse_script(f"pause {text}")[0].seconds == seconds
    assert parse_fault(f"stalled:{text}@2").value == seconds
    assert parse_settings(["--input-timeout", text, "c"]).input_timeout_us == seconds * 1e6
    assert find_project(tmp_path).idle_limit_s == seconds


@pytest.mark.parametrize("text", ["soon", "-1", "1:02ms"])
def test_all_of_them_refuse_the_same_with_the_same_words(text: str) -> None:
    """What was given, where, and an example."""
    wanted = re.escape(f"'{text}' is not a time; write 90, 1.5s, 250ms, 2m, 1h or 1:30")
    with pytest.raises(UsageError, match=wanted):
        parse_script(f"pause {text}")
    with pytest.raises(UsageError, match=f"stalled: {wanted}"):
        parse_fault(f"stalled:{text}")
    with pytest.raises(UsageError, match=f"--input-timeout: {wanted}"):
        parse_settings(["--input-timeout", text, "c"])
    with pytest.raises(click.BadParameter, match=wanted):
        TimeType().convert(text, None, None)
