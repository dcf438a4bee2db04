"""``ptycassette check`` from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ptycassette.cli import main
from ptycassette.model import Cursor, ExitStatus, Finished, FrameRecord, Output, Size, Typed
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


def test_a_first_scenario_holds(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is written beside the cassette, and found in its directory."""
    assert main(["check", str(scenario.parent)]) == 0
    assert "(a): passed (4 checks)" in capsys.readouterr().out


def test_a_first_scenario_replaces_nothing(scenario: Path) -> None:
    """Somebody may have edited it."""
    before = scenario.read_text()

    assert main(["check", "--init", str(scenario.parent / "a.cassette")]) == 6
    assert scenario.read_text() == before


def test_what_does_not_hold_is_shown(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the screen, and exit status 1."""
    scenario.write_text(scenario.read_text().replace("text: ready", "text: steady"))

    assert main(["check", str(scenario)]) == 1
    out = capsys.readouterr().out
    assert "FAILED screen/first-1" in out
    assert "| ready" in out


def test_a_file_that_is_no_scenario_says_so_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In lines that are there to be read."""
    (tmp_path / "b.scenario.yaml").write_text("name: b\nfoo: 1\n")

    assert main(["check", str(tmp_path)]) == 2
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.endswith("b.scenario.yaml: cannot be checked")
    assert "no scenario: Object contains unknown field `foo`" in second
    assert third == "    hint: ptycassette check --schema prints the JSON Schema"


def test_a_group_may_be_called_usage(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not hold in it is no wrong usage."""
    scenario.write_text(
        scenario.read_text().replace("text: ready", "text: steady").replace("  screen:", "  usage:")
    )

    assert main(["check", str(scenario)]) == 1
    assert "1 of 4 checks failed" in capsys.readouterr().out


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


def test_an_update_that_holds_ends_with_0(scenario: Path) -> None:
    """Nothing to review."""
    assert main(["check", "--update", str(scenario)]) == 0


def test_a_pin_that_cannot_be_replaced_is_wrong_usage(scenario: Path) -> None:
    """The file is left as it is."""
    text = scenario.read_text().replace(
        "required_emulator:\n  name: none", "required_emulator:\n  name: x"
    )
    scenario.write_text(text)

    assert main(["check", "--update", str(scenario)]) == 2
    assert scenario.read_text() == text


def test_a_cassette_can_be_brought_along(scenario: Path, tmp_path: Path) -> None:
    """Then the file needs no pins."""
    bare = tmp_path / "bare.yaml"
    bare.write_text("name: b\ngroups: {g: [{type: frame_contains, text: ready}]}\n")

    assert main(["check", str(bare), "--cassette", str(tmp_path / "a.cassette")]) == 0
    assert main(["check", str(bare)]) == 2


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


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 2),
        (["nothing.yaml"], 3),
        (["."], 3),
        (["--init", "nothing"], 3),
        (["--update", "x"], 3),
    ],
)
def test_nothing_to_check_is_an_error(
    words: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that checks nothing must not pass."""
    monkeypatch.chdir(tmp_path)

    assert main(["check", *words]) == status


def test_an_unreadable_cassette_is_a_failure_among_others(scenario: Path) -> None:
    """The other scenarios are checked all the same."""
    (scenario.parent / "a.cassette" / "output.raw").write_bytes(b"other")

    assert main(["check", str(scenario)]) == 1


def test_a_directory_is_no_scenario_file(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system's reason is said."""
    odd = scenario.parent / "dir.scenario.yaml"
    odd.mkdir()

    assert main(["check", str(scenario.parent)]) == 1
    assert "no regular file" in capsys.readouterr().out


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
