"""Reviewed runs become fixtures: whole, with expectations, and only with their own evidence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ptycassette.cli import _promoting, _rec_evidence
from ptycassette.cli._reports import TapeLine
from ptycassette.model.records import ExitStatus, Finished, Noted, Output
from ptycassette.replaying.scenario.io import evidence_of
from ptycassette.replaying.scenario.predicate import draft_expectations
from ptycassette.testing import write_cassette

TAPE = Path(__file__).resolve().parents[3] / "fixtures" / "v1" / "tape"


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    """A run with its evidence beside it."""
    run = tmp_path / "run.cassette"
    shutil.copytree(TAPE, run)
    with _rec_evidence.evidence(str(tmp_path / "run.evidence"), lambda: run):
        pass
    return run


def promote(run: Callable[..., Any], *words: object) -> Any:
    """The command, with a reviewer."""
    return run("promote", *map(str, words), "--reviewed-by", "A. Reader")


def test_a_fixture_has_what_was_reviewed(
    run: Callable[..., Any], reviewed: Path, tmp_path: Path
) -> None:
    """Cassette, scenario and review; the scenario holds, and git keeps the cassette as it is."""
    (reviewed / ".gitattributes").unlink(missing_ok=True)  # as a run of an earlier version
    made = promote(run, reviewed, "-o", tmp_path / "fixtures")
    place = tmp_path / "fixtures" / "run"
    review = json.loads((place / "review.json").read_bytes())

    assert (made.status, "reviewed by A. Reader" in made.text) == (0, True)
    assert sorted(one.name for one in place.iterdir()) == [
        "review.json", "run.cassette", "run.scenario.yaml",
    ]  # fmt: skip
    assert (review["reviewed_by"], review["guard"]["verdict"]) == ("A. Reader", "PASS")
    assert (place / "run.cassette" / ".gitattributes").is_file()
    assert run("check", str(place)).status == 0
    assert [one.name for one in (tmp_path / "fixtures").iterdir()] == ["run"]


def test_expectations_are_of_the_end(run: Callable[..., Any], tmp_path: Path) -> None:
    """Last screen, exit, final text, requests and tools; a changed recording fails them."""
    tape = {"requests": 2, "models": ["m"]}
    events = [
        Output(0, b"hello\r\n"),
        Noted(1, {"type": "tool-call", "entry": 1, "call_id": "c", "name": "shell"}),
        Output(2, b"bye\r\n"),
    ]

    def recorded(name: str, text: str, requests: int) -> Path:
        end = Finished(
            t_us=3,
            exit=ExitStatus(code=0, exited=True, signaled=False),
            metadata={"tape": {**tape, "requests": requests}},
            final_text=text,
        )
        write_cassette(tmp_path / name, *events, end)
        return tmp_path / name

    first = recorded("first", "done: 2 files", 2)
    text = draft_expectations(evidence_of(first), name="first", cassette_path="first")
    scenario = tmp_path / "first.scenario.yaml"
    scenario.write_text(text)
    holds = run("check", str(scenario))
    other = run("check", str(scenario), "--cassette", str(recorded("other", "done: 3 files", 3)))

    assert "equals: shell" in text
    assert "text: 'done: 2 files'" in text
    assert (holds.status, other.status) == (0, 1)
    assert ("final-text" in other.text, "requests" in other.text) == (True, True)


def test_the_last_screen_is_expected_row_by_row() -> None:
    """Each row that is not blank, at its place."""
    evidence = evidence_of(TAPE.parent / "minimal")
    text = draft_expectations(evidence, name="minimal", cassette_path="minimal")
    checks = yaml.safe_load(text)["groups"]["last-screen"]
    shown = [row for row in evidence.frames[-1].text if row.strip()]

    assert shown
    assert [check["text"] for check in checks] == shown


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("guard.json", {"verdict": "FAIL"}),
        ("session.json", {"manifest_sha256": "0" * 64}),
        ("session.json", {"id": "another"}),
        ("calls.jsonl", {"entry": 9}),
    ],
)
def test_other_evidence_is_refused(
    file: str,
    changed: dict[str, Any],
    run: Callable[..., Any],
    reviewed: Path,
    tmp_path: Path,
) -> None:
    """With status 6, and nothing is written."""
    path = tmp_path / "run.evidence" / file
    before = {} if file.endswith("l") else json.loads(path.read_bytes())
    path.write_text(json.dumps({**before, **changed}))
    made = promote(run, reviewed, "-o", tmp_path / "fixtures")

    said = "is not PASS" if file == "guard.json" else "not that of this run"
    assert (made.status, said in made.err) == (6, True)
    assert not (tmp_path / "fixtures").exists()


def test_a_changed_run_is_refused(run: Callable[..., Any], reviewed: Path, tmp_path: Path) -> None:
    """Its digests do not hold."""
    with (reviewed / "tape.jsonl").open("ab") as file:
        file.write(b"\n")

    assert promote(run, reviewed, "-o", tmp_path / "fixtures").status == 4
    assert not (tmp_path / "fixtures").exists()


def test_only_fixtures_are_replaced(
    run: Callable[..., Any], reviewed: Path, tmp_path: Path
) -> None:
    """And they only with --overwrite."""
    target = tmp_path / "fixtures" / "run"
    words = (reviewed, "-o", target.parent)
    promote(run, *words)
    without, replaced = promote(run, *words), promote(run, *words, "--overwrite")
    (target / "review.json").unlink()
    no_fixture = promote(run, *words, "--overwrite")

    assert (without.status, replaced.status, no_fixture.status) == (6, 0, 6)


def test_evidence_must_be_there(run: Callable[..., Any], reviewed: Path, tmp_path: Path) -> None:
    """The message says how to get it."""
    shutil.rmtree(tmp_path / "run.evidence")
    made = promote(run, reviewed, "-o", tmp_path)

    assert (made.status, "--evidence DIR" in made.err) == (3, True)


NO_REFUSAL = "no request was refused (budget, forbidden input, approval)"
AN_ANSWER = "the model answered at least one request without an error"


def line(outcome: str, status: int | None) -> TapeLine:
    """A request that ended so."""
    return msgspec.structs.replace(LINE, outcome=outcome, status=status)


LINE = TapeLine(
    entry=1, seq=1, t_us=0, end_us=1, kind="http", within=None, method="POST", upstream="u",
    target="/", model="m", status=200, sent_bytes=1, received_bytes=0, chunks=0, input_tokens=None,
    output_tokens=None, tools=(), outcome="complete", detail="", key=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "failed"),
    [
        ([line("complete", 200)], set()),
        ([line("complete", 429), line("complete", 200)], set()),
        ([line("complete", 200), line("refused", 403)], {NO_REFUSAL}),
        ([line("complete", 500)], {AN_ANSWER}),
        ([line("provider-gone", 200)], {AN_ANSWER}),
        ([], {AN_ANSWER}),
        ([line("refused", 403)], {NO_REFUSAL, AN_ANSWER}),
    ],
)
def test_a_run_without_answers_fails_its_guard(lines: list[TapeLine], failed: set[str]) -> None:
    """Refused requests, errors alone, and an empty tape are nothing to promote."""
    checks = _rec_evidence.answer_checks(lines)

    assert {one["check"] for one in checks if not one["ok"]} == failed


def test_a_run_without_answers_is_not_promoted(
    run: Callable[..., Any], reviewed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although its guard says PASS: that file may be older, or written by hand."""
    monkeypatch.setattr(_promoting, "answer_checks", lambda _: _rec_evidence.answer_checks([]))
    made = promote(run, reviewed, "-o", tmp_path / "fixtures")

    assert made.status == 6
    assert AN_ANSWER in made.err
    assert not (tmp_path / "fixtures").exists()
