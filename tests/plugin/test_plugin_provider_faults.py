"""``--ptycassette-faults`` in mode rerun: the real program, whose provider fails once."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="a rerun needs the extra `tape`")

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration

CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"
TAPE = Path(__file__).parents[2] / "fixtures" / "tapes" / "client-tape"
ALONE = ("-p", "no:xdist", "-p", "no:textual-snapshot")
NAIVE = """
import pytest

@pytest.mark.ptycassette(TAPE)
def test_note(ptycassette_session):
    ptycassette_session.wait_for_text("> ")
    ptycassette_session.submit("What does the note say?")
    ptycassette_session.wait_for_regex(r"(?ms)(^>.*?){2}")
    assert "The note says something." in ptycassette_session.screen().text
    ptycassette_session.submit("/quit")
    ptycassette_session.wait_exit()
"""
READY = """
import pytest
from ptycassette.errors import SessionClosedError

class NoAnswerError(Exception):
    pass

def answer(session):
    for prompts in (2, 3, 4):
        try:
            session.submit("What does the note say?")
            session.wait_for_regex(r"(?ms)(^>.*?){%d}" % prompts)
        except SessionClosedError as gone:
            raise NoAnswerError from gone
        if "The note says something." in session.screen().text:
            assert "read note.txt" in session.screen().text  # what it was first to be told
            return
    raise NoAnswerError

@pytest.mark.ptycassette(TAPE, allow_unplayed=True)
@pytest.mark.ptycassette_faults(raises=NoAnswerError)
def test_note(ptycassette_session):
    ptycassette_session.wait_for_text("> ")
    answer(ptycassette_session)
    ptycassette_session.submit("/quit")
    ptycassette_session.wait_exit()
"""
QUIET = """
import pytest
from ptycassette.errors import SessionClosedError

@pytest.mark.ptycassette(TAPE)
def test_note(ptycassette_session):
    ptycassette_session.wait_for_text("> ")
    try:
        ptycassette_session.submit("What does the note say?")
        ptycassette_session.wait_for_regex(r"(?ms)(^>.*?){2}")
        ptycassette_session.submit("/quit")
    except SessionClosedError:
        pass
    ptycassette_session.wait_exit()
"""
SHIMMED = """
import pexpect

def test_note(ptycassette_shims):
    ptycassette_shims("python3", library="agent")
    child = pexpect.spawn("python3", ["-I", CLIENT], timeout=90, encoding="utf-8")
    child.expect_exact("> ")
    child.send("What does the note say?\\r")
    assert child.expect(["error 429", "something", "cannot help"]) < 2
    child.send("/quit\\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
"""


@pytest.fixture(autouse=True)
def _folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "note.txt").write_text("buy walnuts\n")
    shutil.copy(CLIENT, pytester.path)


def outcomes(pytester: pytest.Pytester, source: str, faults: str = "all") -> dict[str, str]:
    """What became of each fault."""
    text = source.replace("TAPE", repr(str(TAPE)))
    pytester.makepyfile(test_agent=text.replace("CLIENT", repr(str(CLIENT))))
    pytester.runpytest_inprocess(
        "-W", "error", *ALONE, "--ptycassette-mode=rerun", f"--ptycassette-faults={faults}",
        "--ptycassette-faults-json=f.json",
    )  # fmt: skip
    found = json.loads((pytester.path / "f.json").read_text())
    return {one["fault"]: one["outcome"] for one in found["results"]}


@pytest.mark.slow
def test_a_driver_that_takes_any_answer_for_the_recorded_one(pytester: pytest.Pytester) -> None:
    """It survives what its program survives: a slow answer, a call of no tool."""
    found = outcomes(pytester, NAIVE)

    survived = {"", "stalled:5", "dribble", "unknown-tool", "malformed-tool-call"}
    assert {fault for fault, outcome in found.items() if outcome == "survived"} == survived
    assert {fault for fault, outcome in found.items() if outcome == "broken"} == {
        "rate-limit", "overloaded", "error", "disconnect", "truncated", "empty",
        "refusal",
    }  # fmt: skip


SOME = ("rate-limit", "disconnect", "dribble")


@pytest.mark.parametrize(
    ("faults", "count"),
    [(",".join(SOME), len(SOME)), pytest.param("all", 11, marks=pytest.mark.slow)],
)
def test_a_driver_that_looks_and_asks_again(
    pytester: pytest.Pytester, faults: str, count: int
) -> None:
    """Where the program is gone, it says so."""
    found = outcomes(pytester, READY, faults)

    said = {fault for fault, outcome in found.items() if outcome == "said-so"}
    assert said <= {"disconnect", "truncated"}
    assert "disconnect" in said
    assert {outcome for fault, outcome in found.items() if fault not in said} == {"survived"}
    assert len(found) == 1 + count


def test_a_driver_of_a_shim(pytester: pytest.Pytester) -> None:
    """The program is started by the driver, and its provider fails all the same."""
    library = pytester.path / "cassettes" / "agent"
    shutil.copytree(TAPE, library / "agent.cassette")
    (library / "library.yaml").write_text(
        "rules:\n  - {program: python3, cassettes: [agent.cassette], repeat: true}\n"
    )

    found = outcomes(pytester, SHIMMED, "rate-limit,refusal")

    assert found == {"": "survived", "rate-limit": "survived", "refusal": "broken"}


def test_the_end_of_a_run_with_a_fault_is_not_compared(pytester: pytest.Pytester) -> None:
    """Nor what was not asked any more."""
    assert outcomes(pytester, QUIET, "disconnect") == {"": "survived", "disconnect": "survived"}


def test_a_fault_has_its_place(pytester: pytest.Pytester) -> None:
    """At the second request the model has been asked once; there is no ninth."""
    found = outcomes(pytester, NAIVE, "disconnect@2,disconnect@9")

    assert found == {"": "survived", "disconnect@2": "broken", "disconnect@9": "broken"}


@pytest.mark.parametrize(
    ("mode", "fault", "says"),
    [
        ("rerun", "swapped-tool-result", "recorded answers do not depend on the request"),
        ("replay", "swapped-tool-result", "recorded answers do not depend on the request"),
        ("rerun", "stall", "is a fault of the terminal"),
        ("replay", "rate-limit", "is a fault of the provider"),
        ("live", "all", "in mode replay, and those of the provider in mode rerun"),
    ],
)
def test_what_cannot_happen_in_a_mode_is_refused(
    pytester: pytest.Pytester, mode: str, fault: str, says: str
) -> None:
    """Before anything is run."""
    pytester.makepyfile(test_agent="def test_it(ptycassette_session): ...")
    ran = pytester.runpytest_inprocess(
        *ALONE, f"--ptycassette-mode={mode}", f"--ptycassette-faults={fault}"
    )

    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*{says}*"])
