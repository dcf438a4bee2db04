"""The plugin's sessions and shims: what passes, what fails, what is kept. Run by pytester."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from ptycassette.model.records import ExitStatus, Finished, JournalEvent, Output, Typed
from ptycassette.testing import manifest_of, write_cassette

pytest_plugins = ["pytester"]
MARK = ".ptycassette-traces-of-a-run"
# pytest-asyncio warns when it is not told, and warnings are errors here.
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
OK = ExitStatus(code=0, exited=True, signaled=False)
HELLO: list[JournalEvent] = [
    Output(0, b"> "), Typed(1000, b"hello\r"), Output(2000, b"hello\r\nyou said hello\r\n"),
    Finished(t_us=3000, exit=OK),
]  # fmt: skip
PASSING = """
    def test_it(ptycassette_session):
        session = ptycassette_session
        session.wait_for_text("> ")
        session.submit("hello")
        session.wait_for_text("you said hello")
        assert session.wait_exit().code == 0
"""


@pytest.fixture(autouse=True)
def _quiet(pytester: pytest.Pytester) -> None:
    """No other plugin of this run decides anything."""
    pytester.makeini(INI)


@pytest.fixture
def recorded(pytester: pytest.Pytester) -> Path:
    """The cassette of ``test_it`` in ``test_one.py``."""
    path = pytester.path / "cassettes" / "test_one" / "test_it.cassette"
    path.parent.mkdir(parents=True)
    write_cassette(path, *HELLO)
    return path


def run(pytester: pytest.Pytester, source: str, *words: str) -> pytest.RunResult:
    """Run ``source`` as ``test_one.py``, as strictly as pytest can."""
    pytester.makepyfile(test_one=source)
    return pytester.runpytest_inprocess(
        "-W", "error", "--strict-markers", "-p", "no:xdist", "-p", "no:textual-snapshot", *words
    )


BYE = PASSING.replace('submit("hello")', 'submit("bye")')
BARE = "def test_it(ptycassette_session):\n    ptycassette_session.wait_for_text('>')\n"
USE = """
    from ptycassette import use
    def test_it():
        with use("cassettes/test_one/test_it.cassette") as session:
            session.wait_for_text("> ")
            session.submit("bye")
"""
SWALLOWING = """
    import contextlib
    def test_it(ptycassette_session):
        with contextlib.suppress(Exception):
            ptycassette_session.submit("bye")
        with contextlib.suppress(Exception):
            ptycassette_session.wait_exit()
"""
FACTORY = """
    import pytest
    def test_it(ptycassette_use):
        for _ in range(2):
            with ptycassette_use() as session:
                session.submit("hello")
                session.wait_exit()
    @pytest.mark.asyncio
    @pytest.mark.ptycassette("test_one/test_it.cassette")
    async def test_async(ptycassette_use):
        async with ptycassette_use() as session:
            await session.submit("hello")
            await session.wait_exit()
"""
FIXTURES = """
    def test_it(ptycassette_cassette, ptycassette_clock, ptycassette_path):
        assert ptycassette_cassette.output_size > 0
        before = ptycassette_clock.now_us()
        ptycassette_clock.advance(1.5)
        assert ptycassette_clock.now_us() - before == 1_500_000
        assert ptycassette_path.name == "test_it.cassette"
"""
NETWORK = (
    PASSING
    + """
        import socket
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        with socket.socket() as far:
            far.settimeout(0.01)
            far.connect(("192.0.2.1", 9))
"""
)
LOOKUPS = (
    PASSING
    + """
        import socket
        assert socket.getaddrinfo("127.0.0.1", 80)
        assert socket.getaddrinfo(None, 80)
        assert socket.getaddrinfo("192.0.2.1", 80)
        socket.create_connection(("api.example.com", 443), timeout=0.01)
"""
)
MISSING = """
    from ptycassette import use
    def test_it():
        with use("missing.cassette"):
            pass
"""
PASSED, FAILED, ALLOW = {"passed": 1}, {"failed": 1}, "--ptycassette-network=allow"


class Case(NamedTuple):
    """A test over a recording, and what a run of it says (behind a ``!``: does not say)."""

    source: str
    words: tuple[str, ...] = ()
    outcome: dict[str, int] | None = None
    says: tuple[str, ...] = ()
    ini: str = ""


RUNS = {
    "a session is replayed from the cassette of the test": Case(
        PASSING, (), PASSED, ("ptycassette: mode replay; in replay, blocked*",)
    ),
    "other input fails the test with expected and got, and a trace is kept": Case(
        BYE, (), FAILED, ("*expected: hello<enter>*", "*got: *", "*trace: *trace.html*")
    ),
    "a divergence is shown at the line of the test, not at ours": Case(
        USE, (), FAILED,
        ('>*session.submit("bye")', "test_one.py:5: DivergenceError", "!*replay_pty.py*"),
    ),
    "unless all frames are asked for": Case(USE, ("--full-trace",), says=("*replay_pty.py*",)),
    "what was never played fails a test that passed, in its call": Case(BARE, (), FAILED),
    "what was never played may be allowed": Case(
        BARE, ("--ptycassette-allow-unplayed",), PASSED
    ),
    "also in the configuration": Case(
        BARE, (), PASSED, ini="ptycassette_allow_unplayed = true\n"
    ),
    "a divergence that the test swallows fails it": Case(SWALLOWING, (), FAILED),
    "also where lenient goes on": Case(
        SWALLOWING, ("--ptycassette-lenient",), FAILED, ("*input-changed*",)
    ),
    "a factory serves with and async with, beside pytest-asyncio": Case(
        FACTORY, (), {"passed": 2}
    ),
    "the cassette, open and verified, and a clock that stands still are fixtures": Case(
        FIXTURES, (), PASSED
    ),
    "the network is blocked in tests that replay, this machine is not": Case(
        NETWORK, (), FAILED, ("*NetworkBlockedError*192.0.2.1*",)
    ),
    "the option allows all": Case(
        NETWORK, (ALLOW,), says=("ptycassette: mode replay; network not blocked",
                                 "!*NetworkBlockedError*")
    ),
    "other tests may do what they like": Case(
        "def test_it(tmp_path):\n    import socket\n    socket.socket().close()\n", (), PASSED
    ),
    "names of other machines are not looked up, and the error says what was wanted": Case(
        LOOKUPS, (), FAILED, ("*NetworkBlockedError: looking up 'api.example.com' is blocked*",)
    ),
    # The first run of most users: there is no cassette yet, and the message says it all.
    "what a test did wrong is shown at its line alone": Case(
        MISSING, (), FAILED,
        ('>*with use("missing.cassette"):', "*hint: record it with *", "!*direct cause*"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNS)
def test_what_a_run_says(pytester: pytest.Pytester, recorded: Path, case: str) -> None:
    """And how it ends."""
    source, words, outcome, says, ini = RUNS[case]
    pytester.makeini(INI + ini)
    result = run(pytester, source, *words)

    if outcome is not None:
        result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines([line for line in says if not line.startswith("!")])
    for line in says:
        if line.startswith("!"):
            result.stdout.no_fnmatch_line(line[1:])


def test_a_missing_cassette_says_how_to_record_it(pytester: pytest.Pytester) -> None:
    """Without a traceback of ours."""
    result = run(pytester, PASSING)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*record it with PTYCASSETTE_MODE=auto*"])


@pytest.mark.integration
def test_a_test_records_and_then_replays(pytester: pytest.Pytester) -> None:
    """In mode auto: the second run starts nothing."""
    source = """
        import pytest
        @pytest.mark.ptycassette(argv=["sh", "-c", "printf '> '; read x; echo you said $x"])
        def test_it(ptycassette_session):
            session = ptycassette_session
            session.wait_for_text("> ", timeout_s=60)
            session.submit("hello")
            session.wait_for_text("you said hello", timeout_s=60)
            session.wait_exit(timeout_s=60)
    """
    first = run(pytester, source, "--ptycassette-mode=auto")
    manifest = pytester.path / "cassettes/test_one/test_it.cassette/manifest.json"
    before = manifest.stat().st_mtime_ns
    second = run(pytester, source, "--ptycassette-mode=auto")

    first.assert_outcomes(passed=1)
    second.assert_outcomes(passed=1)
    assert manifest.stat().st_mtime_ns == before


@pytest.mark.slow
@pytest.mark.integration
def test_a_test_that_fails_keeps_nothing_it_recorded(pytester: pytest.Pytester) -> None:
    """Nor does one that is skipped in its middle."""
    source = """
        import pytest
        pytestmark = pytest.mark.ptycassette(argv=["echo", "hello"])
        def test_fails(ptycassette_session):
            ptycassette_session.wait_for_text("hello", timeout_s=60)
            assert False
        def test_skips(ptycassette_session):
            pytest.skip("not now")
    """
    result = run(pytester, source, "--ptycassette-mode=record")

    result.assert_outcomes(failed=1, skipped=1)
    assert not list(pytester.path.glob("cassettes/*/*.cassette"))


@pytest.mark.integration
def test_rerecord_reports_drift_at_the_end(pytester: pytest.Pytester, recorded: Path) -> None:
    """And leaves the cassette alone."""
    before = (recorded / "manifest.json").read_bytes()
    source = """
        import pytest
        @pytest.mark.ptycassette(argv=["sh", "-c", "printf '> '; read x; echo I heard $x"])
        def test_it(ptycassette_session):
            session = ptycassette_session
            session.wait_for_text("> ", timeout_s=60)
            session.submit("hello")
            session.wait_for_text("I heard hello", timeout_s=60)
            session.wait_exit(timeout_s=60)
    """
    result = run(pytester, source, "--ptycassette-mode=rerecord")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["drift: *test_it*change*", "  input 1 changed: output*", "    trace: *trace.html"]
    )
    (page,) = pytester.path.glob(".ptycassette-traces/2*/*/trace.json")
    *_, drifted = json.loads(page.read_text())["runs"][0]["drift"]
    assert [drifted[side]["rows"][1] for side in ("before", "now")] == [
        "you said hello",
        "I heard hello",
    ]
    assert (recorded / "manifest.json").read_bytes() == before


def shelf(pytester: pytest.Pytester) -> None:
    """A library with one session of ``agent one``."""
    library = pytester.path / "cassettes" / "agents"
    library.mkdir(parents=True)
    write_cassette(library / "one.cassette", *HELLO, manifest=manifest_of(argv=("agent", "one")))


SHIMMED = """
    import pexpect
    def test_it(ptycassette_shims):
        shims = ptycassette_shims("agent", library="agents")
        child = pexpect.spawn("agent", ["one"], timeout=120, dimensions=(24, 80))
        child.expect("> ")
        child.send("hello\\r")
        child.expect(pexpect.EOF)
        child.close()
        assert [report["result"] for report in shims.reports] == ["passed"]
"""


@pytest.mark.integration
def test_shims_are_first_on_path_and_judged_at_the_end(pytester: pytest.Pytester) -> None:
    """A stand-in that diverged fails a test that did not look."""
    shelf(pytester)
    blind = (
        SHIMMED.replace("hello\\r", "bye\\r")
        .replace("== ", "== [] or ")
        .replace("assert [", "assert True or [")
    )

    run(pytester, SHIMMED).assert_outcomes(passed=1)
    result = run(pytester, blind)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*expected: hello<enter>*"])


@pytest.mark.integration
def test_a_stand_in_that_was_killed_fails_the_test(pytester: pytest.Pytester) -> None:
    """It has not finished, whatever the driver thinks."""
    shelf(pytester)
    source = """
        import pexpect, time
        def test_it(ptycassette_shims):
            shims = ptycassette_shims("agent", library="agents")
            child = pexpect.spawn("agent", ["one"], timeout=120, dimensions=(24, 80))
            child.expect("> ")
            while not shims.reports:
                time.sleep(0.01)
            child.kill(9)
            child.expect(pexpect.EOF)
            child.close()
    """
    result = run(pytester, source)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the stand-in was killed before it could finish*"])


@pytest.mark.slow
def test_traces_are_kept_as_asked_for(pytester: pytest.Pytester, recorded: Path) -> None:
    """Always, never, or on failure, in three forms; the page refers to nothing else."""
    run(pytester, PASSING)
    assert not (pytester.path / ".ptycassette-traces").exists()

    run(pytester, PASSING, "--ptycassette-trace=always", "--ptycassette-trace-dir=kept")
    (place,) = (pytester.path / "kept").glob("2*/test_one.py_test_it")
    page = (place / "trace.html").read_text()
    trace = json.loads((place / "trace.json").read_text())

    assert trace["runs"][0]["recordings"][0]["inputs"][0]["text"] == "hello<enter>"
    assert "hello<enter>" in (place / "trace.md").read_text()
    assert "http" not in page.replace("http-equiv", "")
    run(pytester, BYE, "--ptycassette-trace=never")
    assert not (pytester.path / ".ptycassette-traces").exists()


def test_traces_hold_no_secret_and_are_not_committed_by_accident(
    pytester: pytest.Pytester, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a driver typed is scrubbed in all three forms; a directory of ours ignores itself."""
    value = "zx9kq7lm3pw8" + "rt5vb2nc6hd4"
    monkeypatch.setenv("AGENT_TOKEN", value)
    source = """
        import os
        def test_it(ptycassette_session):
            ptycassette_session.wait_for_text("> ")
            ptycassette_session.submit("use " + os.environ["AGENT_TOKEN"])
    """
    result = run(pytester, source)
    place = pytester.path / ".ptycassette-traces"
    texts = [path.read_text() for path in sorted(place.glob("2*/test_one.py_test_it/*"))]

    result.stdout.fnmatch_lines(["*got: *use xxxx*"])
    result.stdout.no_fnmatch_line(f"*got: *{value}*")
    assert [text.count(value) for text in texts] == [0, 0, 0]
    assert "- got: `use xxxx" in texts[2]
    assert (place / ".gitignore").read_text().splitlines()[-1] == "*"


@pytest.mark.sampled(3)
@pytest.mark.integration
@pytest.mark.parametrize("mode", ["record", "live", "auto"])
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_typed_unseen_is_left_nowhere(
    pytester: pytest.Pytester, mode: str, *, fails: bool
) -> None:
    """Neither in the cassette, nor, when the test fails, in the diagnostic or the trace."""
    source = f"""
        import sys
        import pytest
        CODE = "import getpass; p = getpass.getpass('Answer? '); print('you typed', p); input()"
        @pytest.mark.ptycassette(argv=[sys.executable, "-c", CODE])
        def test_it(ptycassette_session):
            session = ptycassette_session
            session.wait_for_text("Answer? ", timeout_s=60)
            session.type("horse-" + "Zx4RkB9s" + "\\n")
            session.wait_for_text("you typed", timeout_s=60)
            if {fails}:
                session.wait_for_text("never", timeout_s=0.1)
    """
    result = run(pytester, source, f"--ptycassette-mode={mode}", "--ptycassette-trace=always")
    result.assert_outcomes(passed=not fails, failed=fails)
    kept = [
        path
        for path in pytester.path.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    ]
    texts = {path.name: path.read_text(errors="replace") for path in kept}

    assert [name for name, text in texts.items() if "horse-Zx4RkB9s" in text] == []
    assert {"trace.md", "trace.json", "trace.html"} <= texts.keys()
    assert ("output.raw" in texts) == (mode != "live")


def test_several_traces_have_an_index(pytester: pytest.Pytester, recorded: Path) -> None:
    """Failed ones first, each with a link that leads to its page; the summary names it."""
    other = PASSING.replace("def test_it", "def test_other")
    shutil.copytree(recorded, recorded.with_name("test_other.cassette"))
    result = run(
        pytester, f"{other}\n{BYE}", "--ptycassette-trace=always", "--ptycassette-trace-keep=1"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*traces: *index.html"])
    (index,) = pytester.path.glob(".ptycassette-traces/2*/index.html")
    text = index.read_text()
    links = re.findall('<a href="(.*?)">(.*?)</a>', text)

    assert "2 tests left traces, 1 failed" in text
    assert [(index.parent / link).is_file() for link, _ in links] == [True, True]
    assert "test_it (" in links[0][1]
    assert links[0][1].endswith("1 divergence)")


def test_a_directory_of_others_keeps_what_it_has(pytester: pytest.Pytester, recorded: Path) -> None:
    """It may well be meant for the repository."""
    (pytester.path / "mine").mkdir()
    run(pytester, PASSING, "--ptycassette-trace=always", "--ptycassette-trace-dir=mine")

    (run_of_it,) = (pytester.path / "mine").iterdir()
    assert (run_of_it / "test_one.py_test_it" / "trace.html").is_file()


def test_traces_of_the_newest_runs_are_kept_and_nothing_of_others_goes(
    pytester: pytest.Pytester, recorded: Path
) -> None:
    """Runs are known by name and mark; notes beside a trace stay, and no link is followed."""
    place, elsewhere = pytester.path / ".ptycassette-traces", pytester.path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "trace.html").write_text("mine")
    for name in (
        "20200101T000000Z-0000001",
        "20200102T000000Z-0000001",
        "20200103T000000Z-0000001",
    ):
        test = place / name / "t"
        test.mkdir(parents=True)
        (test / "trace.html").write_text("old")
        (test.parent / "index.html").write_text("old")
        (test.parent / MARK).touch()
    (place / "20200101T000000Z-0000001" / "link").symlink_to(elsewhere)
    (place / "20200101T000000Z-0000001" / "t" / "notes.txt").write_text("mine")
    (place / "20200104T000000Z-0000001").mkdir()  # without our mark
    run(pytester, PASSING, "--ptycassette-trace=always", "--ptycassette-trace-keep=2")

    left = sorted(str(path.relative_to(place)) for path in place.glob("2020*/t/*"))
    assert left == ["20200101T000000Z-0000001/t/notes.txt", "20200103T000000Z-0000001/t/trace.html"]
    assert not (place / "20200102T000000Z-0000001").exists()
    assert (place / "20200104T000000Z-0000001").is_dir()
    assert (elsewhere / "trace.html").read_text() == "mine"


def test_a_test_with_use_leaves_a_trace_and_no_orphan(
    pytester: pytest.Pytester, recorded: Path
) -> None:
    """Its steps have the lines of the test, and the failed one is where it diverged."""
    result = run(pytester, f"{USE}    def test_other(ptycassette_path): pass\n")
    (page,) = pytester.path.glob(".ptycassette-traces/2*/*/trace.html")
    (one,) = json.loads(page.with_name("trace.json").read_text())["runs"]

    result.stdout.no_fnmatch_line("orphan: *")
    assert [(step["name"], step["places"][0]["line"]) for step in one["steps"]] == [
        ("wait_for_text", 4),
        ("submit", 5),
    ]
    assert [bool(step["error"]) for step in one["steps"]] == [False, True]
    assert "<del>h</del>" in page.read_text()


def test_input_that_comes_early_and_differs_fails_at_its_own_line(
    pytester: pytest.Pytester,
) -> None:
    """Though the recording is not there yet, and once."""
    path = pytester.path / "cassettes" / "test_one" / "test_it.cassette"
    path.parent.mkdir(parents=True)
    late = [Output(900_000, b"> "), Typed(1_000_000, b"hello\r"), Finished(t_us=1_100_000, exit=OK)]
    write_cassette(path, *late)
    source = """
        def test_it(ptycassette_session):
            ptycassette_session.submit("bye")
            ptycassette_session.wait_for_text("> ")
    """
    result = run(pytester, source)

    result.stdout.fnmatch_lines(['>*ptycassette_session.submit("bye")'])
    assert str(result.stdout).count("input-changed at seq") == 1


def test_wrong_settings_of_scrubbing_cost_the_trace_and_not_the_run(
    pytester: pytest.Pytester, recorded: Path
) -> None:
    """It says why there is none."""
    (pytester.path / "ptycassette.toml").write_text("[scrub]\nnonsense = 1\n")
    result = run(pytester, BYE)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no trace was kept: *nonsense*"])


def test_a_stale_recording_is_reported_or_fails(pytester: pytest.Pytester) -> None:
    """By its freshness window."""
    manifest = manifest_of()
    stale = msgspec.structs.replace(
        manifest,
        harness=msgspec.structs.replace(
            manifest.harness, captured_at="2020-01-01T00:00:00Z", freshness_window="24h"
        ),
    )
    path = pytester.path / "cassettes" / "test_one" / "test_it.cassette"
    path.parent.mkdir(parents=True)
    write_cassette(path, *HELLO, manifest=stale)

    reported = run(pytester, PASSING)
    reported.assert_outcomes(passed=1)
    reported.stdout.fnmatch_lines(["stale: *test_it.cassette: recorded * years ago*24h*"])
    run(pytester, PASSING, "--ptycassette-stale=fail").assert_outcomes(failed=1)
    ignored = run(pytester, PASSING, "--ptycassette-stale=ignore")
    ignored.stdout.no_fnmatch_line("stale: *")


def test_orphans_are_reported_on_full_runs(pytester: pytest.Pytester, recorded: Path) -> None:
    """And never on runs that left something out."""
    orphan = recorded.with_name("test_gone.cassette")
    write_cassette(orphan, *HELLO)
    source = PASSING + "\n    def test_other(): pass\n"

    full = run(pytester, source)
    full.stdout.fnmatch_lines(["orphan: no test uses *test_gone.cassette"])
    assert full.ret == 0
    assert run(pytester, source, "--ptycassette-orphans=fail").ret == 1
    for words in (
        ["-k", "test_it"], ["test_one.py::test_it"], ["test_one.py"],
        ["--ptycassette-orphans=ignore"],
    ):  # fmt: skip
        run(pytester, source, *words).stdout.no_fnmatch_line("orphan: *")


SCENARIO = """
name: s
cassette_path: cassettes/test_one/test_it.cassette
expected_manifest_id: 00000000-0000-4000-8000-000000000001
expected_content_digest: DIGEST
groups:
  stream:
    - {type: raw_output_order}
    - {name: sent, type: input_text, text: hello}
"""


def test_scenario_files_are_tests(pytester: pytest.Pytester, recorded: Path) -> None:
    """One for the pins, one for each predicate."""
    digest = json.loads((recorded / "manifest.json").read_text())["content_digest"]["sha256"]
    path = pytester.path / "a.scenario.yaml"
    path.write_text(SCENARIO.replace("DIGEST", digest))
    good = run(pytester, PASSING, "-v")
    good.assert_outcomes(passed=4)
    good.stdout.fnmatch_lines(["*a.scenario.yaml*stream/sent PASSED*"])

    path.write_text(SCENARIO.replace("text: hello", "text: bye"))
    bad = run(pytester, PASSING)
    bad.assert_outcomes(passed=2, failed=2)
    bad.stdout.fnmatch_lines(["*expected_content_digest*", "*no input with 'bye'*"])
    path.write_text("name: s")
    broken = run(pytester, PASSING)
    broken.assert_outcomes(errors=1)
    broken.stdout.fnmatch_lines(["*not a scenario*groups*"])
    pytester.makeini(INI + "ptycassette_scenarios = false\n")
    run(pytester, PASSING).assert_outcomes(passed=1)


def test_a_scenario_can_be_checked_by_a_test(pytester: pytest.Pytester, recorded: Path) -> None:
    """Against its own cassette, or the test's."""
    (pytester.path / "own.yaml").write_text(
        "name: o\ngroups: {g: [{type: input_text, text: hello}]}\n"
    )
    source = """
        def test_it(ptycassette_scenario):
            ptycassette_scenario("own.yaml")
    """
    run(pytester, source).assert_outcomes(passed=1)
    (pytester.path / "own.yaml").write_text(
        "name: o\ngroups: {g: [{type: input_text, text: bye}]}\n"
    )
    result = run(pytester, source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAILED g/input_text-1*"])


EVERYWHERE = """
    import subprocess, sys
    from pathlib import Path
    from ptycassette import use

    CAT = ["sh", "-c", "read line; echo you said $line"]
    PLACE = Path(__file__).parent

    def talk(session):
        session.submit("hello")
        session.wait_for_text("you said hello")

    def test_with():
        with use(PLACE / "with", CAT) as session:
            talk(session)

    @use(PLACE / "decorated", CAT)
    def test_decorated(session):
        talk(session)

    def test_said_otherwise():
        with use(PLACE / "said", CAT, mode="replay") as session:
            talk(session)

    def test_processes():
        code = "import os; print(os.environ.get('PTYCASSETTE_MODE'))"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        (PLACE / "mode.txt").write_text(said.stdout.strip())
"""


@pytest.mark.slow
def test_the_option_rules_whatever_records(pytester: pytest.Pytester) -> None:
    """``use`` in blocks and as a decorator, a mode that is said, other processes; then no more."""
    run(pytester, EVERYWHERE, "--ptycassette-mode=rewrite").assert_outcomes(passed=4)

    made = sorted(path.parent.name for path in pytester.path.glob("*/manifest.json"))
    assert made == ["decorated", "said", "with"]
    assert (pytester.path / "mode.txt").read_text() == "rewrite"
    run(pytester, EVERYWHERE).assert_outcomes(passed=4)
    assert (pytester.path / "mode.txt").read_text() == "None"


@pytest.mark.slow
def test_the_ini_key_counts_where_nothing_else_is_said(pytester: pytest.Pytester) -> None:
    """For ``use``, too."""
    pytester.makeini(f"{INI}ptycassette_mode = auto\n")
    run(pytester, EVERYWHERE).assert_outcomes(passed=3, failed=1)

    assert (pytester.path / "with" / "manifest.json").exists()
    assert not (pytester.path / "said").exists()


@pytest.mark.slow
def test_rewrite_replaces_and_says_what_changed(pytester: pytest.Pytester, recorded: Path) -> None:
    """At the end of the run, as rerecord does."""
    before = (recorded / "manifest.json").read_bytes()
    source = """
        import pytest

        @pytest.mark.ptycassette(argv=["sh", "-c", "printf '> '; read l; echo I heard $l"])
        def test_it(ptycassette_session):
            ptycassette_session.wait_for_text("> ")
            ptycassette_session.submit("hello")
            ptycassette_session.wait_for_text("I heard hello")
    """
    result = run(pytester, source, "--ptycassette-mode=rewrite")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["drift: *test_it*", "  *output*", "ptycassette: recorded 1, drifted 1"]
    )
    assert (recorded / "manifest.json").read_bytes() != before
    run(pytester, source).assert_outcomes(passed=1)


def test_hooks_of_marker_and_fixture_reach_sessions(pytester: pytest.Pytester) -> None:
    """Before recording, and before comparing."""
    source = """
        import msgspec, pytest

        def hide(event):
            if type(event).__name__ == "Output":
                return msgspec.structs.replace(event, data=event.data.replace(b"4711", b"0000"))
            return event

        def same(sent, recorded):
            return sent.lower() == recorded.lower()

        @pytest.fixture
        def ptycassette_config():
            return {"before_record": hide}

        @pytest.mark.ptycassette(argv=["sh", "-c", "printf '4711> '; read l; echo $l"], match=same)
        def test_it(ptycassette_session):
            ptycassette_session.wait_for_text("> ")
            ptycassette_session.submit("LINE")
            ptycassette_session.wait_exit()
    """
    run(pytester, source.replace("LINE", "hello"), "--ptycassette-mode=record").assert_outcomes(
        passed=1
    )
    (raw,) = pytester.path.glob("cassettes/*/*/output.raw")
    assert raw.read_bytes().startswith(b"0000> ")
    run(pytester, source.replace("LINE", "HELLO")).assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.integration
def test_drift_of_a_use_without_fixtures_is_printed(pytester: pytest.Pytester) -> None:
    """In ``rerecord`` and ``rewrite``, once for each use: blocks, decorators and fixtures."""
    source = """
        import pytest
        from ptycassette import use

        ARGV = ["sh", "-c", "echo {said}"]

        def test_block():
            with use("block.cassette", ARGV) as session:
                session.wait_exit(timeout_s=60)

        @use("decorated.cassette", ARGV)
        def test_decorated(session):
            session.wait_exit(timeout_s=60)

        @pytest.mark.ptycassette(argv=ARGV)
        def test_fixture(ptycassette_session):
            ptycassette_session.wait_exit(timeout_s=60)
    """
    run(pytester, source.replace("{said}", "before"), "--ptycassette-mode=record")
    for mode in ("rerecord", "rewrite"):
        option = f"--ptycassette-mode={mode}"
        result = run(pytester, source.replace("{said}", "after"), option)

        result.assert_outcomes(passed=3)
        drifted = [line.split(": ")[2:] for line in result.outlines if line.startswith("drift: ")]
        # Output and screen, each; every line once.
        assert drifted == [
            [f"{name}.cassette", "2 changes"] for name in ("block", "decorated", "test_fixture")
        ]
        assert sum(line.startswith("    now:      after") for line in result.outlines) == 6


@pytest.mark.integration
def test_recordings_without_drift_are_counted(pytester: pytest.Pytester) -> None:
    """They are no lines of drift; a run of xdist's workers counts all."""
    source = """
        from ptycassette import use

        def test_one():
            with use("one.cassette", ["sh", "-c", "echo same"]) as session:
                session.wait_exit(timeout_s=60)

        def test_two():
            with use("two.cassette", ["sh", "-c", "echo {said}"]) as session:
                session.wait_exit(timeout_s=60)
    """
    run(pytester, source.replace("{said}", "before"), "--ptycassette-mode=record")
    result = run(pytester, source.replace("{said}", "after"), "--ptycassette-mode=rerecord")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["drift: *two.cassette: *", "  *output*", "ptycassette: drifted 1, unchanged 1"]
    )
    result.stdout.no_fnmatch_line("drift: *one.cassette*")


@pytest.mark.integration
def test_the_marker_asks_for_pipes(pytester: pytest.Pytester) -> None:
    """The session of the fixture has the program's two streams, recorded and replayed."""
    source = """
        import pytest

        @pytest.mark.ptycassette(argv=["sh", "-c", "cat; echo done >&2"], streams="pipes")
        def test_it(ptycassette_session):
            found = ptycassette_session.communicate("hello", timeout_s=60)
            assert found == (b"hello", b"done\\n")
    """
    run(pytester, source, "--ptycassette-mode=record").assert_outcomes(passed=1)

    run(pytester, source).assert_outcomes(passed=1)
    changed = run(pytester, source.replace('"hello"', '"hullo"'))
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*stdin is not what was recorded, from byte 1 on*"])
