"""``ptycassette view`` and ``watch``: what they hand to the viewer, and what they refuse."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cli import main, view, watch
from ptycassette.errors import UsageError
from ptycassette.model.records import Harness, Output, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.testing import fixed_id
from ptycassette_viewer.keys import moment


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the viewer was called with; it shows nothing and ends with status 3."""
    seen: list[Any] = []

    def viewer(name: str) -> Callable[..., int]:
        def show(*arguments: object, **options: object) -> int:
            seen.append((name, arguments, options))
            return 3

        return show

    monkeypatch.setattr(view, "viewer", viewer)
    monkeypatch.setattr(watch, "viewer", viewer)
    return seen


def test_view_hands_over_its_options(calls: list[Any]) -> None:
    """And ends with the status of the viewer."""
    options = ["--start", "1:02", "--memory", "50", "--allow-unscrubbed", "--report", "r.json"]
    options += ["--no-cache"]
    status = main(["view", "a", "b", *options])

    assert status == 3
    assert calls == [
        (
            "view",
            ("a",),
            {
                "other": "b",
                "memory_mb": 50,
                "allow_unscrubbed": True,
                "start": 62.0,
                "report": "r.json",
                "cache": False,
                "traces": [],
            },
        )
    ]


def test_serve_hands_over_the_same_command(calls: list[Any]) -> None:
    """What the browser shows is what the terminal would."""
    options = ["--serve", "--port", "8000", "--start", "2", "--report", "r", "--no-cache"]

    assert main(["view", "a", *options]) == 3
    assert calls == [
        (
            "serve",
            (["a", "--memory=300", "--start=2.0", "--report=r", "--no-cache"],),
            {"host": "127.0.0.1", "port": 8000, "traces": False},
        )
    ]


def test_a_path_that_looks_like_an_option_is_served_as_a_path(calls: list[Any]) -> None:
    """Whoever made the folder chose its name."""
    assert main(["view", "--serve", "--", "--allow-unscrubbed", "-b"]) == 3
    assert calls[0][1][0][:2] == ["./--allow-unscrubbed", "./-b"]


def test_a_viewer_that_is_not_installed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    with pytest.raises(Exception, match="no viewer is installed"):
        view.viewer("no-such")


def test_the_viewers_are_found_through_their_entry_points() -> None:
    """The library imports none of them itself."""
    assert {view.viewer(name).__name__ for name in ("view", "serve", "watch")} == {
        "view",
        "serve",
        "watch",
    }


def test_watch_without_a_recording_says_how_to_start_one(
    calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 3: nothing is there."""
    assert main(["watch"]) == 3
    assert "ptycassette rec" in capsys.readouterr().err
    assert calls == []


def test_watch_finds_the_recording_by_its_target(calls: list[Any], tmp_path: Path) -> None:
    """The newest, that of a target, or a journal by its own name."""
    target = tmp_path / "to-be.cassette"
    meta = SessionMeta(
        id=fixed_id(),
        argv=("sh",),
        size=Size(5, 30),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        target=str(target),
    )
    place = journal_dir()
    place.mkdir(parents=True, exist_ok=True)
    journal = JournalFile(meta, directory=place)
    for arguments in ([], [str(target)], [str(journal.path)]):
        main(["watch", *arguments])
    status = main(["watch", str(tmp_path / "other")])
    journal.close()

    assert [call[1] for call in calls] == [(str(journal.path),)] * 3
    assert status == 3


def test_watch_of_a_finished_recording_points_to_view(
    calls: list[Any], make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a cassette now."""
    path = make(Output(0, b"x"))

    assert main(["watch", str(path)]) == 2
    assert "ptycassette view" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("#12", ("seq", 12)),
        ("12.5", ("us", 12_500_000)),
        ("250ms", ("us", 250_000)),
        ("1:02", ("us", 62_000_000)),
        ("1:00:00", ("us", 3_600_000_000)),
        (" 3s ", ("us", 3_000_000)),
    ],
)
def test_moments_are_read(text: str, wanted: tuple[str, int]) -> None:
    """Events and times as people write them."""
    assert moment(text) == wanted


@pytest.mark.parametrize("text", ["", "abc", "#", "-1", "1:2:3:4", "9" * 40])
def test_nonsense_is_no_moment(text: str) -> None:
    """An error in words."""
    with pytest.raises(ValueError, match=r"nor an event \(#120\)"):
        moment(text)


@pytest.mark.parametrize(
    ("arguments", "where", "status"),
    [
        (["{tmp}/no-such"], "no-such", 3),
        (["{made}", "{tmp}/no-such"], "no-such", 3),
        (["{made}", "--report", "{tmp}/no-report.json"], "no-report.json", 3),
        (["{made}/manifest.json"], "manifest.json", 4),
        (["--serve", "{tmp}/no-such"], "no-such", 3),
    ],
)
def test_what_is_not_there_is_a_line(
    *,
    arguments: list[str],
    where: str,
    status: int,
    make: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is drawn and nothing is served: one error, and its exit status."""
    monkeypatch.setenv("TEXTUAL_DRIVER", "none")
    made = make(Output(0, b"x"))

    assert main(["view", *(word.format(tmp=tmp_path, made=made) for word in arguments)]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert where in err
    assert "Traceback" not in err


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The traces of two runs, and a directory below their place to start from."""
    place = tmp_path / ".ptycassette-traces"
    for run, tests in (("20260101T000000Z-1", "ab"), ("20260102T000000Z-1", "bc")):
        for number, test in enumerate(tests):
            made = place / run / f"test_{test}"
            made.mkdir(parents=True)
            for name in ("trace.json", "trace.html"):
                (made / name).write_text("{}")
                os.utime(made / name, (number, number))
        (place / run / ".ptycassette-traces-of-a-run").touch()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return place


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("trace",), ("2/c", "2/b", "1/b", "1/a")),
        (("trace", "_b"), ("2/b", "1/b")),
        (("{}",), ("2/c", "2/b", "1/b", "1/a")),
        (("{}/20260101T000000Z-1",), ("1/b", "1/a")),
        (("{}/20260101T000000Z-1/test_a",), ("1/a",)),
        (("{}/20260101T000000Z-1/test_a/trace.html",), ("1/a",)),
    ],
)
def test_traces_are_found_the_newest_first(
    calls: list[Any], traces: Path, arguments: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    """In a directory above, by a test's name, or where the path says."""
    assert main(["view", *(word.format(traces) for word in arguments)]) == 3
    ((_, _, options),) = calls
    found = [Path(path).relative_to(traces).parts for path in options["traces"]]

    assert [f"{run[7]}/{test[-1]}" for run, test, _ in found] == list(wanted)


def test_a_cassette_named_trace_is_a_cassette(
    calls: list[Any], traces: Path, make: Callable[..., Path]
) -> None:
    """What is there counts before what the word means."""
    make(Output(0, b"x")).rename(Path("trace"))

    assert main(["view", "trace"]) == 3
    assert calls[0][2]["traces"] == []


def test_no_trace_is_an_error_that_says_where_they_come_from(
    traces: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or which tests have left some."""
    assert main(["view", "trace", "nothing"]) == 3
    assert "test_a, test_b, test_c" in capsys.readouterr().err
    shutil.rmtree(traces)

    assert main(["view", "trace"]) == 3
    assert "run pytest: a test that fails" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["view", "watch"])
def test_without_a_terminal_nothing_is_drawn(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe or a log would get sequences for ever."""
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    with pytest.raises(UsageError, match="needs a terminal"):
        view.viewer(name)("somewhere")

    assert capfd.readouterr() == ("", "")


def test_a_dumb_terminal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows sequences instead of obeying them."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.__stdin__", Terminal())
    monkeypatch.setattr("sys.__stderr__", Terminal())

    with pytest.raises(UsageError, match="TERM=dumb"):
        view.viewer("view")("somewhere")
