"""A small agent and a real CLI are blamed: forks are run, counted, labelled."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.blame.io.blaming import BlameOptions, blame, validate
from ptycassette.agents.blame.oracle import Oracle
from ptycassette.agents.blame.report import SESSIONS, BlameReport
from ptycassette.agents.fork.io.live import LiveTerms
from ptycassette.agents.fork.places import ForkPlace
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.cli.entry import main
from ptycassette.errors import DivergenceError, NotFoundError, RefusedError, UsageError
from ptycassette.tape.consent.terms import Limit, Terms
from tests.integration.test_tape_fixtures import HOMES, TAPES, cli_as_recorded, drive_of

pytestmark = pytest.mark.integration

PARENT = TAPES / "client-tape"
CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that the small agent worked in."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("buy walnuts\n")
    return folder


def open_id() -> str:
    """The id of the recording, to which a scenario is bound."""
    with open_cassette(PARENT) as cassette:
        return cassette.manifest.id


def blamed(
    work: Path,
    oracle: str,
    at: str,
    *interventions: Any,
    run: dict[str, Any] | None = None,
    fork: dict[str, Any] | None = None,
    **more: Any,
) -> BlameReport:
    """Blame the small agent."""
    chosen = {
        "trusted": True,
        "copied": work,
        "argv": (sys.executable, "-I", str(CLIENT)),
        "patience_s": 20.0,
        **(run or {}),
    }
    options = BlameOptions(
        oracle=Oracle.parse(oracle),
        steps=tuple(map(ForkPlace.parse, at.split())),
        interventions=interventions or ("neutral",),
        **{"tail": "held", **chosen, **(fork or {}), "budget": 20, **more},
    )
    return blame(PARENT, options)


@pytest.mark.slow
def test_every_oracle_finds_the_answer_that_was_shown(work: Path, tmp_path: Path) -> None:
    """And every run that it made can be kept: a whole cassette that names its parent."""
    scenario = tmp_path / "says.scenario.yaml"
    scenario.write_text(
        f"name: says\ncassette_path: {PARENT}\nexpected_manifest_id: {open_id()}\n"
        "groups:\n  screen:\n    - {type: frame_contains, text: The note says}\n"
    )
    command = tmp_path / "oracle"
    command.write_text('#!/bin/sh\ngrep -q "The note says" "$1/output.raw"\n')
    command.chmod(0o755)
    for oracle in ("text:^The note says", f"command:{command}", f"scenario:{scenario}"):
        report = blamed(work, oracle, "tape:2", kept=tmp_path)
        assert (report.causes, report.deterministic, report.runs) == (("tape:2",), True, 6)
    assert blamed(work, "exit", "tape:2").causes == ()
    assert verify_cassette(tmp_path / "tape-2-neutral-3").error is None


@pytest.mark.slow
def test_what_cannot_be_judged_is_undefined(work: Path, tmp_path: Path) -> None:
    """A question without an answer, a run that does not end, an oracle without an answer."""
    report = blamed(
        work, "text:The note says", "exchange:3 exchange:4", "neutral", "drop",
        run={"patience_s": 6.0},
    )  # fmt: skip
    reasons = {one.intervention: one.reasons for one in report.steps[0].interventions}
    assert reasons["neutral"][0].startswith("a question had no answer")
    assert report.steps[1].label == "undefined"
    assert report.steps[1].interventions[0].reasons[0].startswith("the program did not end in time")
    silent = tmp_path / "silent"
    silent.write_text('#!/bin/sh\ncase "$1" in *client-tape) exit 0;; *) exit 3;; esac\n')
    silent.chmod(0o755)
    with pytest.raises(DivergenceError, match="its command ended with 3"):
        blamed(work, f"command:{silent}", "tape:2")


@pytest.mark.slow
def test_a_run_that_crashes_blames_nobody(work: Path, tmp_path: Path) -> None:
    """Though its exit is another one than the recorded one."""
    brittle = tmp_path / "brittle.py"
    source = CLIENT.read_text()
    changed = source.replace("if said:\n", "if said:\n        assert said != 'OK.'\n", 1)
    assert changed != source
    brittle.write_text(changed)
    argv = (sys.executable, "-I", str(brittle))
    report = blamed(work, "exit", "tape:2", "neutral", run={"argv": argv})
    [step] = report.steps
    assert step.label == "undefined"
    assert step.interventions[0].reasons[0].startswith("the program crashed: status 1 below")


@pytest.mark.slow
def test_another_prefix_cannot_be_repeated(work: Path) -> None:
    """And says where it differs."""
    (work / "note.txt").write_text("buy silk\n")
    with pytest.raises(DivergenceError, match="not the recorded one before the change"):
        blamed(work, "exit", "exchange:3", "drop")


@pytest.mark.parametrize(
    ("oracle", "at", "more", "expected"),
    [
        ("exit", "tape:2", {"run": {"trusted": False}}, RefusedError),
        ("exit", "tape:9", {}, NotFoundError),
        ("exit", "tape:2", {"budget": 3}, UsageError),
        ("text:(", "tape:2", {}, UsageError),
        ("scenario:none.yaml", "tape:2", {}, NotFoundError),
        ("command:/no/such/program", "tape:2", {}, UsageError),
        ("exit", "tape:2", {"fork": {"tail": "live"}}, UsageError),
    ],
)
def test_what_cannot_be_blamed_is_refused(
    work: Path, oracle: str, at: str, more: dict[str, Any], expected: type[Exception]
) -> None:
    """Before anything is started."""
    with pytest.raises(expected):
        blamed(work, oracle, at, **more)


@pytest.mark.slow
def test_a_live_tail_stays_below_its_limit(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs together; a run whose share is used up is undefined."""
    key = "-".join(("mine", "a" * 20))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = 'version = 1\n[[replies]]\ntimes = 0\ntext = "The note says something."\n'
    script = Script.parse(text, where="script", variables={})
    with FakeProviderServer(script, accepted_keys=frozenset((key,))) as live:
        terms = LiveTerms(provider=live.url, terms=Terms(limit=Limit(requests=10)))
        fork = {"tail": "live", "live": terms}
        report = blamed(work, "text:The note says", "tape:1 tape:2", fork=fork, budget=10)
        asked = len(live.requests)
    assert 0 < asked <= 10
    assert report.runs <= 10


@pytest.mark.slow
def test_the_budget_ends_the_command_with_6(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was not run is said; other ends are 0."""
    words = ["blame", "--trust", "--copy", str(work), "--oracle", "exit", str(PARENT),
             "--at", "tape:2", "--intervention", "neutral", "--intervention", "drop"]  # fmt: skip
    program = ["--", sys.executable, "-I", str(CLIENT)]
    assert main([*words, "--budget", "4", *program]) == 6
    printed = capsys.readouterr().out
    assert "drop: not run" in printed
    assert "the budget ended before 1 more" in printed
    assert main([*words, "--budget", "5", "--json", *program]) == 0
    assert '"causes": []' in capsys.readouterr().out


@pytest.mark.slow
def test_planted_causes_are_found_and_decoys_are_not_blamed() -> None:
    """A part of ``blame --validate``: an answer and the result of a tool, with shams."""
    chosen = [one for one in SESSIONS if one.name in {"answer-2-held", "said-0-scripted"}]
    report = validate(jobs=4, sessions=tuple(chosen))

    assert (report.causes.count, report.causes.total) == (5, 5)
    assert report.decoys.count == report.control.count == 0
    assert report.cleared.count == report.decoys.total == 6
    assert not report.passed  # 11 shams are too few for the bound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tape", "oracle", "places", "causes"),
    [
        ("aider-tape", "text:buy almonds", ("tape:1", "tape:2", "exchange:1"), {"tape:2"}),
        # Its call of a tool and its answer; 2 prepares, 5 and 6 are about the title of the session.
        (
            "codex-tape",
            "text:The note says: buy walnuts",
            ("tape:2", "tape:3", "tape:5", "tape:6", "tape:7"),
            {"tape:3", "tape:7"},
        ),
    ],
)
def test_a_real_cli_is_blamed(
    tape: str, oracle: str, places: tuple[str, ...], causes: set[str]
) -> None:
    """What the model said of the outcome is a cause of it; what it said else is not."""
    drive = drive_of(tape)
    found = cli_as_recorded(tape)
    path = f"{Path(found).parent}:{os.environ['PATH']}"
    options = BlameOptions(
        oracle=Oracle.parse(oracle),
        budget=30,
        interventions=("neutral",),
        steps=tuple(map(ForkPlace.parse, places)),
        tail="held",
        trusted=True,
        mode=drive.mode,
        model=drive.model,
        files=dict(drive.files),
        root=HOMES,
        environment={"PATH": path, "TZ": "UTC", "LANG": "C.UTF-8"},
        patience_s=60,
        jobs=2,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        report = blame(TAPES / tape, options)
    assert report.deterministic
    assert set(report.causes) == causes
