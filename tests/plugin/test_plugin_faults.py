"""``--ptycassette-faults``: a test with each fault, and what is said of it. Run by pytester."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ptycassette.agents.faults.registry import TERMINAL_FAULTS
from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.testing import write_cassette

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration
OK = ExitStatus(code=0, exited=True, signaled=False)
TALK = (
    Output(0, b"\x1b[2J\x1b[HAgent\r\n> "),
    Typed(100_000, b"hi"),
    Output(110_000, b"hi"),
    Typed(200_000, b"\r"),
    Output(300_000, "\r\nIt is déjà vu\r\n> ".encode()),
    Typed(400_000, b"\x04"),
    Finished(t_us=500_000, exit=OK),
)
NAIVE = """
    def test_it(ptycassette_session):
        ptycassette_session.wait_for_text("> ")
        ptycassette_session.submit("hi")
        ptycassette_session.wait_for_text("vu")
        ptycassette_session.send(b"\\x04")
        assert ptycassette_session.wait_exit().code == 0
"""


@pytest.fixture(autouse=True)
def _place(pytester: pytest.Pytester) -> None:
    """The cassette of ``test_it``, which it has with and without faults."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    write_cassette(pytester.path / "cassettes" / "test_one" / "test_it.cassette", *TALK)


def run(pytester: pytest.Pytester, source: str, *words: str) -> pytest.RunResult:
    """Run ``source`` as ``test_one.py``."""
    pytester.makepyfile(test_one=source)
    return pytester.runpytest_inprocess(
        "-W", "error", "--strict-markers", "-p", "no:textual-snapshot", *words
    )


def outcomes(path: Path) -> dict[str, str]:
    """By fault."""
    found = json.loads(path.read_text())
    assert found["version"] == 1
    assert {one["test"] for one in found["results"]} == {"test_one.py::test_it"}
    return {one["fault"]: one["outcome"] for one in found["results"]}


@pytest.mark.parametrize("more", [("-p", "no:xdist"), ("-n1",)], ids=["here", "xdist"])
def test_a_run_in_which_nothing_meets_a_fault_says_so(
    pytester: pytest.Pytester, more: tuple[str, ...]
) -> None:
    """``use`` alone is seen by nobody before the test runs."""
    source = """
        from ptycassette import use
        def test_it():
            with use("cassettes/test_one/test_it.cassette", leniency="lenient"):
                pass
    """
    result = run(pytester, source, "--ptycassette-faults", *more)

    result.stdout.fnmatch_lines(["no test was run with a fault: that wants the marker*"])


@pytest.mark.parametrize("more", [("-p", "no:xdist"), ("-n2",)], ids=["here", "xdist"])
@pytest.mark.sampled(2)
def test_each_fault_is_tried_and_told(pytester: pytest.Pytester, more: tuple[str, ...]) -> None:
    """First the test without one; then each, in the table, in JSON, in JUnit's XML."""
    result = run(
        pytester, NAIVE, "--ptycassette-faults", "--ptycassette-faults-json=f.json",
        "--junitxml=j.xml", *more,
    )  # fmt: skip
    found = outcomes(pytester.path / "f.json")
    cases = {
        one.get("name"): {p.get("name"): p.get("value") for p in one.iter("property")}
        for one in ET.parse(pytester.path / "j.xml").iter("testcase")
    }

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert set(found) == {"", *TERMINAL_FAULTS}
    good = {name for name, outcome in found.items() if outcome == "survived"}
    assert good == {"", "chunks-split", "stall", "garbage-bytes"}
    assert {name for name, outcome in found.items() if outcome == "not-met"} == {
        "chunks-merged",  # no two pieces of output come between two inputs
        "resize-ignored",
        "prompt-renamed",  # no frame shows a prompt
    }
    assert {found[name] for name in set(TERMINAL_FAULTS) - good} == {"broken", "not-met"}
    assert cases["test_it[fault:early-eof]"]["ptycassette_fault_outcome"] == "broken"
    assert cases["test_it[no-fault]"] == {}
    result.stdout.fnmatch_lines(
        [
            "test_one.py::test_it",
            "  enter-dropped     NOT survived: WaitTimeoutError: *(test_one.py:4 in test_it)",
            "  chunks-split      survived",
            "survived 3, not survived 9, excused 0, not met 3",
        ]
    )
    if "-n2" not in more:
        assert next(iter(found)) == ""


MARKED = """
    import pytest
    class Gone(Exception):
        pass
    @pytest.mark.ptycassette_faults("trust-screen", raises=Gone)
    def test_it(ptycassette_session, ptycassette_fault):
        session = ptycassette_session
        session.wait_for_text("> ", timeout_s=5)
        session.submit("hi")
        if ptycassette_fault == "exit-code":
            session.wait_for_text("vu")
            session.send(b"\\x04")
            session.wait_exit()
        elif ptycassette_fault == "early-eof":
            raise Gone("it ended")
        else:
            session.wait_for_text("vu")
            session.send(b"\\x04")
"""


def test_a_test_says_what_it_need_not_survive_and_how_it_gives_up(
    pytester: pytest.Pytester,
) -> None:
    """An error that it names is right with a fatal fault, and nothing else is."""
    names = "trust-screen,early-eof,exit-code:7,stall@1"
    result = run(
        pytester, MARKED, f"--ptycassette-faults={names}", "--ptycassette-faults-json=f.json",
    )  # fmt: skip

    assert outcomes(pytester.path / "f.json") == {
        "": "survived",
        "trust-screen": "excused",
        "early-eof": "said-so",
        "exit-code:7": "unnoticed",
        "stall@1": "survived",
    }
    result.assert_outcomes(passed=3, failed=1, xfailed=1)
    result.stdout.fnmatch_lines(["survived 2, not survived 1, excused 1, not met 0"])


HANGS = """
    import time
    def test_it(ptycassette_use, ptycassette_fault):
        with ptycassette_use() as session:
            while ptycassette_fault:
                try:
                    time.sleep(60)
                except Exception:
                    pass
            session.wait_for_text("> ")
            session.submit("hi")
            session.wait_for_text("vu")
            session.send(b"\\x04")
"""


def test_a_test_that_hangs_is_ended(pytester: pytest.Pytester) -> None:
    """With the line where it was; the next one runs."""
    result = run(
        pytester, HANGS, "--ptycassette-faults=stall,garbage-bytes",
        "--ptycassette-fault-timeout=2", "--ptycassette-faults-json=f.json", "-p", "no:xdist",
    )  # fmt: skip

    result.assert_outcomes(passed=1, failed=2)
    assert set(outcomes(pytester.path / "f.json").values()) == {"survived", "hung"}
    result.stdout.fnmatch_lines(
        ["  stall *NOT survived, hung: no end after 2 s (test_one.py:6 in test_it)"]
    )


def test_a_test_that_fails_anyway_is_not_tried(pytester: pytest.Pytester) -> None:
    """Its faults would say nothing."""
    source = NAIVE.replace('"vu"', '"no"')
    result = run(
        pytester, source, "--ptycassette-faults=stall", "--ptycassette-faults-json=f.json",
        "-p", "no:xdist",
    )  # fmt: skip

    result.assert_outcomes(failed=1, skipped=1)
    assert outcomes(pytester.path / "f.json") == {"": "broken", "stall": "skipped"}
    result.stdout.fnmatch_lines(["  fails without a fault"])


@pytest.mark.parametrize(
    ("words", "source", "message"),
    [
        (("--ptycassette-faults=late",), NAIVE, "*late is not a known fault*"),
        (("--ptycassette-faults=error",), NAIVE, "*error is a fault of the provider*"),
        (("--ptycassette-faults", "test_one.py"), NAIVE, "*write --ptycassette-faults=all test*"),
        (("--ptycassette-faults", "--ptycassette-mode=live"), NAIVE, "*in mode replay*"),
        (("--ptycassette-faults", "--ptycassette-fault-timeout=0"), NAIVE, "*more than 0*"),
        ((), MARKED.replace("trust-screen", "late"), "*ptycassette_faults marker: late is wrong*"),
    ],
)
def test_what_cannot_be_is_refused(
    pytester: pytest.Pytester, words: tuple[str, ...], source: str, message: str
) -> None:
    """Before any test runs."""
    result = run(pytester, source, *words)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_other_tests_run_as_ever(pytester: pytest.Pytester) -> None:
    """Once; and without the option there is no fault."""
    other = "\n    def test_other():\n        pass\n"
    with_option = run(pytester, NAIVE + other, "--ptycassette-faults=stall")
    without = run(pytester, MARKED + other)

    with_option.assert_outcomes(passed=3)
    without.assert_outcomes(passed=2)


def test_an_error_of_a_module_without_source_is_shown_where_the_test_called_it(
    pytester: pytest.Pytester,
) -> None:
    """Python's own codecs have none."""
    source = """
    import codecs
    def test_it(ptycassette_session):
        ptycassette_session.wait_for_text("> ")
        codecs.getincrementaldecoder("utf-8")().decode(b"\\xff")
    """
    result = run(pytester, source, "--ptycassette-faults=chunks-split")

    result.assert_outcomes(failed=1, skipped=1)
    (trace,) = pytester.path.glob(".ptycassette-traces/*/*/trace.json")
    assert "getincrementaldecoder" in trace.read_text()
