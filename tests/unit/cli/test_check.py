"""``ptycassette check`` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ptycassette.cli import main
from ptycassette.model.records import ExitStatus, Finished, FrameRecord, Output, Typed
from ptycassette.model.screen import Cursor, Size
from ptycassette.testing import write_cassette


def record(place: Path, *, text: str = "ready", overwrite: bool = False) -> Path:
    """A cassette that shows ``text``."""
    target = place / "a.cassette"
    write_cassette(
        target,
        Output(0, text.encode()),
        FrameRecord(
            seq=0, t_ms=10, size=Size(rows=24, cols=80), text=(text, *("",) * 23),
            cursor=Cursor(row=0, col=0), raw_start=0, raw_end=len(text), parser_offset=len(text),
        ),
        Typed(20_000, b"go\r"),
        Finished(t_us=30_000, exit=ExitStatus(code=0, exited=True, signaled=False)),
        overwrite=overwrite,
    )  # fmt: skip
    return target


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A first scenario, as ``--init`` writes it."""
    assert main(["check", "--init", str(record(tmp_path))]) == 0
    return tmp_path / "a.scenario.yaml"


def _edited(scenario: Path, *changes: tuple[str, str]) -> None:
    text = scenario.read_text()
    for change in changes:
        text = text.replace(*change)
    scenario.write_text(text)


def _unmet(scenario: Path) -> None:
    _edited(scenario, ("text: ready", "text: steady"))


BARE = "name: b\ngroups: {g: [{type: frame_contains, text: ready}]}\n"
CHECKED: dict[str, tuple[Callable[[Path], object], str, int, list[str]]] = {
    # What is done to a first scenario, the words, the status, and what is said.
    "as it was written, found in its directory": (
        lambda _: None, "PLACE", 0, ["(a): passed (4 checks)"]),
    "what does not hold, with the screen": (
        _unmet, "FILE", 1, ["FAILED screen/first-1", "| ready"]),
    "a group that is called usage": (
        lambda path: (_unmet(path), _edited(path, ("  screen:", "  usage:"))), "FILE", 1,
        ["1 of 4 checks failed"]),
    "an update that holds": (lambda _: None, "--update FILE", 0, []),
    "a pin that cannot be replaced": (
        lambda path: _edited(path, ("emulator:\n  name: none", "emulator:\n  name: x")),
        "--update FILE", 2, []),
    "a scenario without pins, with its cassette": (
        lambda path: path.with_name("bare.yaml").write_text(BARE),
        "PLACE/bare.yaml --cassette PLACE/a.cassette", 0, []),
    "a scenario without pins": (
        lambda path: path.with_name("bare.yaml").write_text(BARE), "PLACE/bare.yaml", 2, []),
    "an unreadable cassette": (
        lambda path: (path.parent / "a.cassette" / "output.raw").write_bytes(b"other"),
        "FILE", 1, []),
    "a directory among the scenarios": (
        lambda path: path.with_name("dir.scenario.yaml").mkdir(), "PLACE", 1,
        ["not a regular file", "(a): passed"]),
    "a file that is no scenario": (
        lambda path: path.with_name("b.scenario.yaml").write_text("name: b\nfoo: 1\n"),
        "PLACE/b.scenario.yaml", 2,
        ["b.scenario.yaml: cannot be checked\n",
         "not a scenario: Object contains unknown field `foo`",
         "\n    hint: ptycassette check --schema prints the JSON Schema\n"]),
    "a first one where there is one": (lambda _: None, "--init PLACE/a.cassette", 6, []),
    "nothing": (lambda path: path.unlink(), "", 2, []),
    "no such file": (lambda _: None, "PLACE/nothing.yaml", 3, []),
    "no scenario in the directory": (lambda path: path.unlink(), "PLACE", 3, []),
    "a first one for no cassette": (lambda _: None, "--init PLACE/nothing", 3, []),
    "an update of nothing": (lambda _: None, "--update PLACE/x", 3, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CHECKED)
def test_a_check_has_its_status_and_says_why(
    case: str, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that checks nothing must not pass; what somebody wrote is left as it is."""
    change, words, status, says = CHECKED[case]
    change(scenario)
    before = scenario.exists() and scenario.read_text()
    filled = words.replace("PLACE", str(scenario.parent)).replace("FILE", str(scenario))
    capsys.readouterr()

    assert main(["check", *filled.split()]) == status
    out = capsys.readouterr().out
    assert [text for text in says if text not in out] == []
    assert before == (scenario.exists() and scenario.read_text())


def test_another_recording_does_not_meet_the_pins(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until they are updated, which says what does not hold any more."""
    record(scenario.parent, text="steady", overwrite=True)

    assert main(["check", str(scenario)]) == 1
    assert "binding/expected_content_digest" in capsys.readouterr().out
    assert main(["check", "--update", str(scenario)]) == 1
    out = capsys.readouterr().out
    assert "pinned" in out
    assert "expected_content_digest" not in out
    assert "first-1" in out


def test_json_is_one_object(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every check in it."""
    main(["check", str(scenario), "--json"])
    found = json.loads(capsys.readouterr().out)

    assert (found["report"], found["passed"]) == ("ptycassette-check", True)
    assert len(found["scenarios"][0]["checks"]) == 4


def test_junit_is_what_ci_reads(scenario: Path, tmp_path: Path) -> None:
    """A suite per scenario, a case per check."""
    scenario.write_text(scenario.read_text().replace("text: ready", "text: steady"))
    main(["check", str(scenario), "--junit", str(tmp_path / "junit.xml")])
    root = ET.parse(tmp_path / "junit.xml").getroot()

    assert root.find("testsuite/testcase/failure") is not None
    assert root.find("testsuite").get("tests") == "4"  # type: ignore[union-attr]


def test_many_scenarios_are_checked_in_several_processes(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of their names."""
    for number in range(9):
        (scenario.parent / f"n{number}.scenario.yaml").write_text(scenario.read_text())

    assert main(["check", str(scenario.parent), "--jobs", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines == sorted(lines)


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """For editors."""
    assert main(["check", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "ptycassette scenario"


def test_a_page_has_an_index_the_checks_and_the_recordings(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not hold is at its moment in the list beside the player."""
    scenario.write_text(scenario.read_text().replace("text: ready", "text: st<b>eady"))
    record(tmp_path / "other")
    assert main(["check", "--init", str(tmp_path / "other" / "a.cassette")]) == 0
    page = tmp_path / "page.html"

    assert main(["check", str(tmp_path), "--html", str(page)]) == 1
    text = page.read_text()
    assert "<title>2 scenarios, 1 failed</title>" in text
    assert [found.split(">")[-1] for found in text.split("</a></li>")[:2]] == [
        f"{scenario} (a)",
        f"{tmp_path / 'other' / 'a.scenario.yaml'} (a)",
    ]
    assert text.count('class="player"') == 2
    assert "<b>failed check</b> screen/first-1" in text
    assert "<b>ea" not in text
    assert main(["check", str(tmp_path), "--html", str(page)]) == 6
    assert main(["check", str(tmp_path), "--html", str(page), "--overwrite"]) == 1


def test_a_page_shows_what_cannot_be_checked(tmp_path: Path) -> None:
    """The reason, and no recording."""
    (tmp_path / "b.scenario.yaml").write_text("name: b\nfoo: 1\n")
    page = tmp_path / "page.html"

    assert main(["check", str(tmp_path), "--html", str(page)]) == 2
    assert "UsageError" in page.read_text()
    assert 'class="player"' not in page.read_text()


@pytest.mark.parametrize("name", ["Latin-1 \udce9", "quotes ' \" and\nlines", "\ue0e9", "é: # x"])
def test_a_first_scenario_holds_for_any_name(name: str, tmp_path: Path) -> None:
    """Names of files are bytes; those of a scenario are text."""
    made = record(tmp_path).rename(tmp_path / f"{name}.cassette")

    assert main(["check", "--init", str(made)]) == 0
    assert main(["check", str(tmp_path / f"{name}.scenario.yaml")]) == 0
    assert main(["check", "--update", str(tmp_path)]) == 0
