"""``ptycassette ls``: what a library holds, without reading it all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.agents.harness.probe import ProbeResult
from ptycassette.cassette.freshness import age_text
from ptycassette.cassette.io.listing import STATES as LISTED_STATES
from ptycassette.cassette.io.listing import listed_in
from ptycassette.cli._present import table_lines
from ptycassette.cli.ls import COLUMNS, SPARE, STATES
from ptycassette.cli.probe import _tell
from ptycassette.cli.recover import _age as journal_age
from ptycassette.model.records import Output
from ptycassette.testing import manifest_of, write_cassette
from tests.unreadable import unreadable

Run = Callable[..., Any]
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def _written(path: Path, *, harness: str = "claude", days: int = 0, **more: Any) -> None:
    base = manifest_of()
    when = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    manifest = msgspec.structs.replace(
        base,
        harness=msgspec.structs.replace(base.harness, name=harness, captured_at=when, **more),
    )
    write_cassette(path, Output(1_000_000 + days, b"x" * (1 + days)), manifest=manifest)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A young one, an old one that is stale, one that is broken, one of a failed run, one below."""
    place = tmp_path / "library"
    (place / "below").mkdir(parents=True)
    _written(place / "young.cassette", binary_version="1.2")
    _written(place / "old.cassette", harness="codex", days=40, freshness_window="24h")
    _written(place / "below" / "deep.cassette", days=3)
    _written(place / "broken.cassette")
    (place / "broken.cassette" / "manifest.json").write_text("{")
    (place / "failed.diagnostic").mkdir()
    (place / "failed.diagnostic" / "diagnostic.json").write_text("{}")
    (place / "no-cassette").mkdir()
    return place


def _names(ran: Any) -> list[str]:
    return [Path(one["path"]).name for one in json.loads(ran.text)["cassettes"]]


def test_one_line_a_cassette(run: Run, library: Path) -> None:
    """With what a person asks first, and the reason of what cannot be opened."""
    lines = run("ls", library).text.splitlines()

    assert [line.split()[0] for line in lines[:5]] == [
        "NAME", "broken.cassette", "failed.diagnostic", "old.cassette", "young.cassette",
    ]  # fmt: skip
    assert lines[3].split("  ")[-1] == "stale"
    assert "1 month ago" in lines[3]
    assert lines[4].split()[1:3] == ["claude", "1.2"]
    assert lines[5].startswith("broken.cassette: ")


def test_the_states_are_told_apart(run: Run, library: Path) -> None:
    """Each by its own word, which can be asked for."""
    found = {
        Path(one["path"]).stem: one["state"]
        for one in json.loads(run("ls", library, "--json").text)["cassettes"]
    }

    assert found == {"young": "ok", "old": "stale", "broken": "invalid", "failed": "failed"}
    assert _names(run("ls", library, "--json", "--state", "failed", "--state", "stale")) == [
        "failed.diagnostic", "old.cassette",
    ]  # fmt: skip
    assert set(STATES) == set(LISTED_STATES)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("-R", "--state", "ok"), ["deep", "young"]),
        (("-R", "--sort", "age", "--newer", "7d"), ["young", "deep"]),
        (("-R", "--sort", "age", "--newer", "7d", "-r"), ["deep", "young"]),
        (("--older", "7d"), ["old"]),
        (("--harness", "c*x"), ["old"]),
        (("-R", "--harness", "claude", "--sort", "length"), ["young", "deep"]),
        (("--harness", "none"), []),
    ],
)
def test_sorted_and_filtered(
    words: tuple[str, ...], names: list[str], run: Run, library: Path
) -> None:
    """As asked."""
    ran = run("ls", library, "--json", *words)

    assert [name.removesuffix(".cassette") for name in _names(ran)] == names


def test_an_age_that_is_none_is_refused(run: Run, library: Path) -> None:
    """With what can be written."""
    ran = run("ls", library, "--newer", "soon")

    assert (ran.status, "250ms, 2m, 1h" in ran.err) == (2, True)


def test_a_directory_without_cassettes_is_no_error(run: Run, tmp_path: Path) -> None:
    """It says so, and one that is not there is."""
    empty, missing = run("ls", tmp_path), run("ls", tmp_path / "none")

    assert (empty.status, empty.text) == (0, "")
    assert "-R" in empty.err
    assert missing.status == 3


def test_a_cassette_is_a_list_of_one(run: Run, library: Path) -> None:
    """Whoever names it wants its line."""
    assert _names(run("ls", library / "young.cassette", "--json")) == ["young.cassette"]


def test_no_stream_is_read(library: Path) -> None:
    """What only the streams say is not looked at: a library of any size is listed at once."""
    (library / "young.cassette" / "output.jsonl").write_bytes(b"no records")

    states = {Path(one.path).stem: one.state for one in listed_in(library, now=NOW)}
    assert states["young"] == "ok"


def test_links_and_hidden_directories_are_left_out(library: Path) -> None:
    """A link may lead anywhere, into itself too."""
    (library / "below" / "up").symlink_to(library)
    (library / ".hidden").mkdir()
    _written(library / ".hidden" / "x.cassette")

    found = [Path(one.path).name for one in listed_in(library, now=NOW, recursive=True)]
    assert sorted(found) == [
        "broken.cassette", "deep.cassette", "failed.diagnostic", "old.cassette", "young.cassette",
    ]  # fmt: skip


def test_links_to_cassettes_are_listed_where_links_are_followed(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the size of their files; a link to any other directory is not searched."""
    shelf = tmp_path / "shelf"
    (shelf / "files").mkdir(parents=True)
    (shelf / "link.cassette").symlink_to(library / "young.cassette")
    (shelf / "loop").symlink_to(shelf)
    for file in (library / "young.cassette").iterdir():
        (shelf / "files" / file.name).symlink_to(file)

    monkeypatch.setenv("PTYCASSETTE_FOLLOW_LINKS", "1")
    found = list(listed_in(shelf, now=NOW, recursive=True))
    (young,) = listed_in(library / "young.cassette", now=NOW)
    assert [(Path(one.path).name, one.state, one.bytes) for one in found] == [
        ("files", "ok", young.bytes),
        ("link.cassette", "ok", young.bytes),
    ]


def test_nothing_of_a_hostile_cassette_acts_on_the_terminal(run: Run, hostile: Path) -> None:
    """Neither its name nor what its manifest says."""
    ran = run("ls", hostile.parent)

    assert ran.status == 0
    assert [char for char in ran.text if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_300, "2 hours ago"),
        (86_400 * 6, "6 days ago"),
        (86_400 * 20, "2 weeks ago"),
        (86_400 * 800, "2 years ago"),
        (-5, "in the future"),
    ],
)
def test_ages_are_words(seconds: int, said: str) -> None:
    """The largest unit of which there is one."""
    assert age_text(timedelta(seconds=seconds)) == said


def test_a_table_fits_a_narrow_terminal() -> None:
    """Columns go, the first of ``spare`` first; the end of a long name stays."""
    rows = [("a/very/long/path/to/a/cassette-1", "claude", "1.0", "1 s", "1 kB", "1 day ago", "ok")]
    wide = list(table_lines(COLUMNS, rows, width=None, spare=SPARE))
    narrow = list(table_lines(COLUMNS, rows, width=40, spare=SPARE))

    assert wide[0].split() == list(COLUMNS)
    assert narrow[0].split() == ["NAME", "AGE", "STATE"]
    assert max(len(line) for line in narrow) <= 40
    assert "cassette-1  1 day ago" in narrow[1]


def test_a_directory_that_may_not_be_read_is_said(run: Run, tmp_path: Path) -> None:
    """With the status of what is not readable."""
    readable = run("ls", tmp_path).status
    with unreadable(tmp_path):
        status = run("ls", tmp_path).status

    assert (readable, status) == (0, 3)


@pytest.mark.parametrize(
    ("recorded_at", "said"),
    [
        ("2020-01-01T00:00:00Z", "years ago"),
        ("2020-01-01T00:00:00", "2020-01-01T00:00:00"),
        ("\x1b[2J", "\\e[2J"),
    ],
)
def test_the_age_of_a_journal_is_words(recorded_at: str, said: str) -> None:
    """What is no time stays as it is, escaped."""
    assert journal_age(recorded_at).endswith(said)


def test_the_age_of_a_probe_is_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Rounded down."""
    result = ProbeResult(
        probe="p",
        harness="codex",
        source="cli",
        status="ok",
        captured_at="2026-01-01T00:00:00Z",
        freshness_window="1h",
        age_s=151,
    )
    _tell(result, as_json=False)

    assert capsys.readouterr().out.startswith(
        "codex: ok (captured 2026-01-01T00:00:00Z, 2 minutes ago)\n"
    )
