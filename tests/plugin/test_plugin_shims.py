"""Shims in tests that record: what is kept, and when. Run by pytester."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.testing import manifest_of, write_cassette

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration
OK = ExitStatus(code=0, exited=True, signaled=False)
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
AGENT = """#!/bin/sh
printf 'agent %s> ' "$1"
read line
printf 'you said %s\\n' "$line"
"""
DRIVE = """
    import pexpect
    def drive(word, line="hello"):
        child = pexpect.spawn("agent", [word], timeout=120, dimensions=(24, 80))
        child.expect("> ")
        child.send(line + "\\r")
        child.expect(pexpect.EOF)
        child.close()
        return child.before.decode()
"""


@pytest.fixture(autouse=True)
def _place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real program on PATH."""
    real = pytester.path / "real"
    real.mkdir()
    (real / "agent").write_text(AGENT)
    (real / "agent").chmod(0o755)
    monkeypatch.setenv("PATH", str(real), prepend=":")
    pytester.makeini(INI)
    pytester.makepyfile(agent_driver=DRIVE)


def run(pytester: pytest.Pytester, source: str, *words: str) -> pytest.RunResult:
    """Run ``source`` as ``test_one.py``."""
    pytester.makepyfile(test_one="    from agent_driver import drive\n" + source)
    return pytester.runpytest_inprocess(
        "-W", "error", "--strict-markers", "-p", "no:xdist", "-p", "no:textual-snapshot", *words
    )


TALK = """
    def test_it(ptycassette_shims):
        shims = ptycassette_shims("agent", library="agents")
        assert "you said hello" in drive("one")
        assert "you said hello" in drive("two")
        RESULTS = [report["result"] for report in shims.reports]
"""


def kept(pytester: pytest.Pytester) -> list[str]:
    """What is in the library, hidden things too."""
    place = pytester.path / "cassettes" / "agents"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


@pytest.mark.slow
def test_what_a_test_records_is_kept_when_it_passed(pytester: pytest.Pytester) -> None:
    """Then it replays without the program."""
    first = run(pytester, TALK, "--ptycassette-mode=record")
    names = kept(pytester)
    (pytester.path / "real" / "agent").unlink()
    second = run(pytester, TALK + "        assert RESULTS == ['passed', 'passed']\n")

    first.assert_outcomes(passed=1)
    second.assert_outcomes(passed=1)
    assert names == ["agent-one.cassette", "agent-two.cassette"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["record", "auto"])
def test_a_test_that_fails_keeps_nothing_that_shims_recorded(
    pytester: pytest.Pytester, mode: str
) -> None:
    """And leaves what was there."""
    path = pytester.path / "cassettes" / "agents" / "agent-old.cassette"
    write_cassette(path, Output(0, b"x"), manifest=manifest_of(argv=("agent", "old")))
    before = (path / "manifest.json").read_bytes()
    result = run(pytester, TALK + "        assert False\n", f"--ptycassette-mode={mode}")

    result.assert_outcomes(failed=1)
    assert kept(pytester) == ["agent-old.cassette"]
    assert (path / "manifest.json").read_bytes() == before


@pytest.mark.slow
def test_what_was_recorded_is_replayed_in_the_same_test_in_mode_auto(
    pytester: pytest.Pytester,
) -> None:
    """Though it is not in the library yet."""
    source = """
    def test_it(ptycassette_shims):
        shims = ptycassette_shims("agent", library="agents")
        drive("one")
        drive("one")
        assert [report["result"] for report in shims.reports] == ["recorded", "passed"]
    """
    run(pytester, source, "--ptycassette-mode=auto").assert_outcomes(passed=1)

    assert kept(pytester) == ["agent-one.cassette"]


def test_rerecord_says_what_drifted(pytester: pytest.Pytester) -> None:
    """At the end of the run, for each session; nothing is written."""
    run(pytester, TALK, "--ptycassette-mode=record").assert_outcomes(passed=1)
    (pytester.path / "real" / "agent").write_text(AGENT.replace("printf 'you", "printf 'Yes, you"))
    result = run(pytester, TALK, "--ptycassette-mode=rerecord")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["drift: *agent-one.cassette: *", r"    now: *Yes, you said hello\r"]
    )
    result.stdout.no_fnmatch_line("*now:      ")
    (page,) = pytester.path.glob(".ptycassette-traces/2*/*/trace.json")
    drifts = [run["drift"] for run in json.loads(page.read_text())["runs"]]
    assert [len(drift) for drift in drifts] == [1, 1]
    assert "Yes, you said hello" in drifts[0][0]["now"]["rows"]
    assert "you said hello" in drifts[0][0]["before"]["rows"]
    assert kept(pytester) == ["agent-one.cassette", "agent-two.cassette"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "counted"), [("rerecord", "unchanged 2"), ("rewrite", "recorded 2, unchanged 2")]
)
def test_shims_without_drift_are_counted(
    mode: str, counted: str, pytester: pytest.Pytester
) -> None:
    """And print no line of drift."""
    run(pytester, TALK, "--ptycassette-mode=record").assert_outcomes(passed=1)
    result = run(pytester, TALK, f"--ptycassette-mode={mode}")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"ptycassette: {counted}"])
    result.stdout.no_fnmatch_line("drift: *")


def test_the_order_of_exchanges_may_be_loose(pytester: pytest.Pytester) -> None:
    """By option, by marker, and in a session as well as behind a shim."""
    events = [
        Output(0, b"> "), Typed(1, b"one\r"), Output(2, b"1\r\n> "), Typed(3, b"two\r"),
        Output(4, b"2\r\n> "), Finished(t_us=5, exit=OK),
    ]  # fmt: skip
    write_cassette(pytester.path / "cassettes/agents/a", *events,
                   manifest=manifest_of(argv=("agent", "x")))  # fmt: skip
    source = """
    import pexpect
    import pytest
    def test_shim(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
        child = pexpect.spawn("agent", ["x"], timeout=120, dimensions=(24, 80))
        child.expect("> ")
        child.send("two\\rone\\r")
        child.expect(pexpect.EOF)
        assert child.before == b"2\\r\\n> 1\\r\\n> "
    @pytest.mark.ptycassette("agents/a" MARKED)
    def test_session(ptycassette_session):
        ptycassette_session.submit("two")
        ptycassette_session.wait_for_text("2")
        ptycassette_session.submit("one")
        ptycassette_session.wait_for_text("1")
    """
    run(pytester, source.replace("MARKED", "")).assert_outcomes(failed=2)
    loose = run(pytester, source.replace("MARKED", ""), "--ptycassette-order=loose")
    loose.assert_outcomes(passed=2)
    run(pytester, source.replace("MARKED", ", order='loose'")).assert_outcomes(passed=1, failed=1)
    pytester.makeini(INI + "ptycassette_order = loose\n")
    run(pytester, source.replace("MARKED", "")).assert_outcomes(passed=2)
    pytester.makeini(INI + "ptycassette_order = lose\n")
    wrong = pytester.runpytest_subprocess("-p", "no:xdist")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR


def test_a_matching_cannot_be_handed_to_another_process(pytester: pytest.Pytester) -> None:
    """It says so, rather than to compare otherwise; a session takes it, with its own order."""
    write_cassette(pytester.path / "cassettes/test_one/test_session.cassette", Output(0, b"x"))
    source = """
    import pytest
    from ptycassette import Matching
    pytestmark = pytest.mark.ptycassette(match=Matching("exact"))
    def test_shims(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
    def test_session(ptycassette_session):
        ptycassette_session.wait_for_text("x")
    """
    result = run(pytester, source, "--ptycassette-order=loose")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*a Matching cannot be handed to*"])


def test_python_of_the_shims_is_that_of_the_test(pytester: pytest.Pytester) -> None:
    """So that a stand-in is found wherever the test runs."""
    source = """
    def test_it(ptycassette_shims):
        shims = ptycassette_shims("agent", library="agents")
        assert EXECUTABLE in (shims.directory / "agent").read_text()
    """
    source = source.replace("EXECUTABLE", repr(str(Path(sys.executable))))

    run(pytester, source).assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_driver_that_fails_is_shown_why_its_stand_in_ended(pytester: pytest.Pytester) -> None:
    """Its own error is only that nothing came any more."""
    place = pytester.path / "cassettes" / "agents"
    write_cassette(
        place / "a", Output(0, b"> "), Typed(1, b"hello\r"), Output(2, b"hi"),
        Finished(t_us=3, exit=OK), manifest=manifest_of(argv=("agent", "one")),
    )  # fmt: skip
    source = """
    import pexpect
    def test_it(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
        child = pexpect.spawn("agent", ["ARGUMENT"], timeout=120, dimensions=(24, 80))
        child.expect("> ")
        child.send("bye\\r")
        child.expect("hi")
    """
    diverged = run(pytester, source.replace("ARGUMENT", "one"))
    unknown = run(pytester, source.replace("ARGUMENT", "two"))

    diverged.assert_outcomes(failed=1)
    diverged.stdout.fnmatch_lines(
        ["*-- ptycassette --*", "*expected: hello<enter>", "*got: *bye<enter>", "*| >*"]
    )
    unknown.stdout.fnmatch_lines(["*no cassette was recorded as agent two*"])


@pytest.mark.slow
def test_a_session_that_diverged_is_shown_when_the_test_fails_otherwise(
    pytester: pytest.Pytester,
) -> None:
    """Once: not when the error says so itself."""
    path = pytester.path / "cassettes/test_one/test_it.cassette"
    write_cassette(path, Output(0, b"> "), Typed(1, b"hello\r"), Finished(t_us=3, exit=OK))
    source = """
    import contextlib
    def test_it(ptycassette_session):
        with contextlib.suppress(Exception):
            ptycassette_session.submit("bye")
        assert LATER
    """
    otherwise = run(pytester, source.replace("LATER", "False"))
    itself = run(pytester, source.replace("LATER", "True"))

    otherwise.stdout.fnmatch_lines(["*-- ptycassette --*", "*expected: hello<enter>"])
    assert itself.stdout.str().count("expected: hello<enter>") == 1


UNKNOWN = """
    import pytest
    def test_it(ptycassette_shims{more}):
        {first}
        ptycassette_shims("agent", library="agents")
        drive("one")
"""


@pytest.mark.parametrize(
    ("first", "more", "words"),
    [
        ("raise KeyError", "", []),
        ("ptycassette_shims('agent', library='agents'); raise KeyError", "", []),
        ("pytest.skip()", "", []),
        ("pass", ", missing", []),
        ("pass", "", ["--ptycassette-mode=live"]),
    ],
)
def test_cassettes_of_shims_that_never_chose_are_no_orphans(
    first: str, more: str, words: list[str], pytester: pytest.Pytester
) -> None:
    """Nobody knows what the test would have used: it did not come so far, or ran the program."""
    for name in ("agents", "others"):
        write_cassette(pytester.path / "cassettes" / name / "x.cassette", Output(0, b"x"))
    result = run(pytester, UNKNOWN.format(first=first, more=more), *words)

    result.stdout.no_fnmatch_line("orphan: *agents*")


def test_a_stand_in_without_a_cassette_makes_no_orphans_elsewhere(
    pytester: pytest.Pytester,
) -> None:
    """What lies about in the current directory is none of the test's; the error is readable."""
    write_cassette(pytester.path / "mine.cassette", Output(0, b"x"))
    result = run(pytester, UNKNOWN.format(first="pass", more=""))

    result.stdout.no_fnmatch_line("orphan: *")
    result.stdout.fnmatch_lines(["*no cassette was recorded as agent one", "    hint: record it*"])


HOOKS = """
    from msgspec.structs import replace

    def before_record(event):
        if type(event).__name__ == "Output":
            return replace(event, data=event.data.replace(b"agent one", b"AGENT ONE"))
        return event

    def matches(sent, recorded):
        return sent.lower() == recorded.lower()
"""
HOOKED = """
    import pytest

    @pytest.mark.ptycassette(hooks="hooks.py")
    def test_it(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
        drive("one", line="{line}")
"""


@pytest.mark.slow
def test_hooks_of_a_file_reach_recorders_and_stand_ins(pytester: pytest.Pytester) -> None:
    """By the marker, or by the fixture's argument."""
    pytester.makepyfile(hooks=HOOKS)
    recorded = run(pytester, HOOKED.format(line="hello"), "--ptycassette-mode=record")
    recorded.assert_outcomes(passed=1)
    (raw,) = pytester.path.glob("cassettes/agents/*/output.raw")
    assert raw.read_bytes().startswith(b"AGENT ONE> ")

    run(pytester, HOOKED.format(line="HELLO")).assert_outcomes(passed=1)
    bare = HOOKED.format(line="HELLO").replace('hooks="hooks.py"', "")
    run(pytester, bare).assert_outcomes(failed=1)


def test_functions_cannot_be_handed_to_recorders_behind_shims(pytester: pytest.Pytester) -> None:
    """And the error says what can."""
    source = TALK.replace("def test_it", "@pytest.mark.ptycassette({})\n    def test_it")
    for key in ("before_record=print", "match=print"):
        result = run(pytester, f"\n    import pytest\n{source.format(key)}")
        result.assert_outcomes(errors=0, failed=1)
        result.stdout.fnmatch_lines(["*file of hooks*"])


ISOLATED = """
    import pytest
    def answer(word, line):
        return f"you said {line}" in drive(word, line)

    class TestOne:
        def test_it(self, ptycassette_shims):
            ptycassette_shims("agent")
            assert answer("one", "class")

    def test_it(ptycassette_shims):
        ptycassette_shims("agent")
        assert answer("one", "function")

    @pytest.mark.parametrize("line", ["a/b", "a:b", "a::b", "a.b"])
    def test_line(ptycassette_shims, line):
        ptycassette_shims("agent")
        assert answer("one", line)

    def test_twice(ptycassette_shims):
        ptycassette_shims("agent")
        for line in ("first", "second", "third"):
            assert answer("one", line)
        assert answer("two", "other")
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "record", "rewrite"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_each_test_and_each_start_has_a_cassette_of_its_own(
    pytester: pytest.Pytester, mode: str, workers: str
) -> None:
    """Though all start the same command: nothing is shared or overwritten by accident."""
    pytester.makepyfile(test_one="    from agent_driver import drive\n" + ISOLATED)
    words = ["-W", "error", "-n", workers, "-p", "no:textual-snapshot"]
    first = pytester.runpytest_subprocess(f"--ptycassette-mode={mode}", *words)
    made = sorted(pytester.path.glob("cassettes/**/manifest.json"))
    (pytester.path / "real" / "agent").unlink()
    second = pytester.runpytest_subprocess(*words, "-q")

    first.assert_outcomes(passed=7)
    assert len(made) == 10
    first.stdout.fnmatch_lines(["recorded: cassettes/test_one/*/agent-one.cassette"])
    assert "ptycassette: recorded 10" in first.outlines
    assert second.outlines[-2:-1] == ["ptycassette: replayed 10"]
    assert "7 passed" in second.outlines[-1]


SHARED = """
    def test_first(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
        assert "you said hello" in drive("one")

    def test_second(ptycassette_shims):
        ptycassette_shims("agent", library="agents")
        assert "you said hello" in drive("one")
"""


@pytest.mark.slow
def test_tests_that_share_a_library_record_its_cassettes_once(pytester: pytest.Pytester) -> None:
    """The second one replays in mode auto; in mode record it is refused, and replaces nothing."""
    record = run(pytester, SHARED, "--ptycassette-mode=record")
    record.assert_outcomes(passed=1, failed=1)
    record.stdout.fnmatch_lines(["*recorded in this run already, by test_one.py::test_first*"])
    assert "ptycassette: recorded 1" in record.outlines
    run(pytester, SHARED).assert_outcomes(passed=2)

    (manifest,) = pytester.path.glob("cassettes/agents/*/manifest.json")
    manifest.rename(manifest.with_name("gone"))
    shutil.rmtree(manifest.parent)
    auto = run(pytester, SHARED, "--ptycassette-mode=auto")
    auto.assert_outcomes(passed=2)
    assert "ptycassette: recorded 1, replayed 1" in auto.outlines


def test_a_start_is_not_recorded_over_another_one_of_the_same_test(
    pytester: pytest.Pytester,
) -> None:
    """In a library that the test names there is one cassette for a command."""
    twice = TALK.replace('"two"', '"one"').replace("said hello", "")
    result = run(pytester, twice, "--ptycassette-mode=record")

    result.assert_outcomes(failed=1)
    assert kept(pytester) == []
