"""The plugin's settings: what is said where, and which of it counts."""

from __future__ import annotations

import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from ptycassette.cassette.freshness import age_problem, window_of
from ptycassette.model.records import Finished, Output, Typed
from ptycassette.pytest_plugin._runs import cassette_path
from ptycassette.testing import manifest_of, write_cassette

pytest_plugins = ["pytester"]
# pytest-asyncio warns when it is not told, and warnings are errors here.
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
# Plugins that cannot run within a run of themselves.
ALONE = ("-p", "no:xdist", "-p", "no:textual-snapshot")
SHOW = """
    import pytest
    MARKERS
    def test_it(ptycassette_settings):
        print("mode", ptycassette_settings.mode, "match", ptycassette_settings.match)
"""


@pytest.fixture(autouse=True)
def _quiet(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing from outside."""
    monkeypatch.delenv("PTYCASSETTE_MODE", raising=False)
    pytester.makeini(INI)


def shown(pytester: pytest.Pytester, *words: str, marker: str = "") -> pytest.RunResult:
    """A run that prints its settings."""
    pytester.makepyfile(test_one=SHOW.replace("MARKERS", marker))
    return pytester.runpytest_inprocess("-s", "-W", "error", "--strict-markers", *ALONE, *words)


@pytest.mark.slow
def test_the_strongest_word_counts(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Command line, environment, marker, fixture, ini; else replay and prompt."""
    shown(pytester).stdout.fnmatch_lines(["*mode replay match prompt*"])

    pytester.makeini(INI + "ptycassette_mode = auto\nptycassette_match = exact\n")
    shown(pytester).stdout.fnmatch_lines(["*mode auto match exact*"])

    pytester.makeconftest("""
        import pytest
        @pytest.fixture
        def ptycassette_config():
            return {"mode": "record", "match": "any"}
    """)
    shown(pytester).stdout.fnmatch_lines(["*mode record match any*"])

    marker = "pytestmark = pytest.mark.ptycassette(mode='live', match='normalised')"
    shown(pytester, marker=marker).stdout.fnmatch_lines(["*mode live match normalised*"])

    monkeypatch.setenv("PTYCASSETTE_MODE", "rerecord")
    shown(pytester, marker=marker).stdout.fnmatch_lines(["*mode rerecord match normalised*"])

    words = ["--ptycassette-mode=auto", "--ptycassette-match=semantic"]
    result = shown(pytester, *words, marker=marker)
    result.stdout.fnmatch_lines(["*mode auto match semantic*"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "ini", "marker", "message"),
    [
        (["--ptycassette-mode=recrod"], "", "", "*recrod*not one of replay*"),
        (["--ptycassette-match=promt"], "", "", "*promt*"),
        (["--ptycassette-trace=sometimes"], "", "", "*invalid choice*sometimes*"),
        ([], "ptycassette_mode = recrod", "", "*recrod*"),
        ([], "ptycassette_orphans = maybe", "", "*ptycassette_orphans*maybe*"),
        ([], "", "pytestmark = pytest.mark.ptycassette(modus='live')", "*modus is not one of*"),
        (
            [],
            "",
            "pytestmark = pytest.mark.ptycassette(argv='echo hi')",
            "*argv is a list of words*",
        ),
        ([], "", "pytestmark = pytest.mark.ptycassette('a', 'b')", "*takes one path*"),
        ([], "", "pytestmark = pytest.mark.ptycassette(mode='recrod')", "*recrod*"),
    ],
)
def test_a_typo_is_an_error(
    pytester: pytest.Pytester, words: list[str], ini: str, marker: str, message: str
) -> None:
    """Before any test runs."""
    pytester.makeini(f"{INI}{ini}\n")
    pytester.makepyfile(test_one=SHOW.replace("MARKERS", marker))
    result = pytester.runpytest_subprocess(*ALONE, *words)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = "\n".join([*result.outlines, *result.errlines])
    assert all(part in output for part in message.strip("*").split("*"))


def test_a_typo_in_the_fixture_is_an_error(pytester: pytest.Pytester) -> None:
    """Of the test that uses it."""
    pytester.makeconftest("""
        import pytest
        @pytest.fixture
        def ptycassette_config():
            return {"modus": "live"}
    """)

    shown(pytester).assert_outcomes(errors=1)


def test_another_directory_can_be_named(pytester: pytest.Pytester) -> None:
    """Relative to the test file."""
    pytester.makepyfile(
        test_one="""
        def test_it(ptycassette_path, request):
            assert ptycassette_path == request.path.parent / "tapes/test_one/test_it.cassette"
    """
    )

    pytester.runpytest_inprocess("--ptycassette-dir=tapes", *ALONE).assert_outcomes(passed=1)


def test_help_lists_every_option_and_the_marker(pytester: pytest.Pytester) -> None:
    """All prefixed."""
    options = pytester.runpytest_inprocess("--help", *ALONE).stdout.str()
    markers = pytester.runpytest_inprocess("--markers", *ALONE).stdout.str()

    for name in ("mode", "match", "dir", "trace", "trace-dir", "trace-keep", "network", "stale",
                 "orphans", "allow-unplayed", "lenient", "order"):  # fmt: skip
        assert f"--ptycassette-{name}" in options
    assert "@pytest.mark.ptycassette(path=None" in markers


@pytest.mark.slow
def test_recording_with_two_workers_records_a_shared_cassette_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other waits and replays; orphans are judged over all workers."""
    pytester.makepyfile(
        test_one="""
        import pytest
        @pytest.mark.ptycassette("shared.cassette", argv=["sh", "-c", "echo ready $$; exec cat"])
        @pytest.mark.parametrize("number", range(6))
        def test_it(ptycassette_session, number):
            ptycassette_session.wait_for_text("ready", timeout_s=60)  # else it comes in between
            ptycassette_session.type("hello\\n")
            ptycassette_session.wait_for_text("hello\\nhello", timeout_s=60)
            ptycassette_session.send_key("ctrl-d")
            ptycassette_session.wait_exit(timeout_s=60)
    """
    )
    words = ["-n", "2", "-W", "error", "--strict-markers", "-p", "no:cacheprovider"]
    first = pytester.runpytest_subprocess("--ptycassette-mode=auto", *words)
    (pytester.path / "cassettes" / "gone.cassette").mkdir()
    (pytester.path / "cassettes" / "gone.cassette" / "manifest.json").write_text("{}")
    second = pytester.runpytest_subprocess(*words)

    first.assert_outcomes(passed=6)
    second.assert_outcomes(passed=6)
    second.stdout.fnmatch_lines(["orphan: no test uses *gone.cassette"])
    assert len(list(pytester.path.glob("cassettes/*.cassette"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "source"),
    [
        ("pytest_recording", """
            import pytest
            @pytest.mark.block_network
            @pytest.mark.vcr
            def test_it(ptycassette_session, vcr):
                ptycassette_session.submit("hello")
        """),
        ("syrupy", """
            def test_it(ptycassette_session, snapshot):
                ptycassette_session.submit("hello")
                assert snapshot is not None
        """),
        ("pytest_asyncio", """
            import pytest
            @pytest.mark.asyncio
            async def test_it(ptycassette_use):
                async with ptycassette_use() as session:
                    await session.submit("hello")
        """),
    ],
)  # fmt: skip
def test_it_works_beside(pytester: pytest.Pytester, other: str, source: str) -> None:
    """Plugins with names and hooks close to ours, in one test with them."""
    pytest.importorskip(other)
    path = pytester.path / "cassettes" / "test_one" / "test_it.cassette"
    path.parent.mkdir(parents=True)
    write_cassette(
        path, Output(0, b"> "), Typed(1, b"hello\r"), Output(2, b"hello"), Finished(t_us=3)
    )
    pytester.makepyfile(test_one=source)
    result = pytester.runpytest_subprocess("-W", "error", "--strict-markers", "-p", "no:xdist")

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("test_it", "test_it"),
        ("TestX.test_y[a-1]", "TestX.test_y[a-1]"),
        ("test_it[a/b]", r"test_it_a_b_-\w{8}|test_it\[a_b\]-\w{8}"),
        ("test_it[" + "x" * 300 + "]", r"test_it\[x+-\w{8}"),
        ("...", r"test-\w{8}"),
    ],
)
def test_names_are_safe_for_file_systems(name: str, stem: str) -> None:
    """What had to be changed gets a hash."""
    path = cassette_path(Path("base"), "test_mod", name)

    assert path.parent == Path("base/test_mod")
    assert len(path.name) < 120
    assert re.fullmatch(f"({stem if name != stem else re.escape(stem)})\\.cassette", path.name)


def test_names_that_are_rewritten_alike_stay_apart() -> None:
    """By their hash."""
    base = Path("base")

    assert cassette_path(base, "m", "t[a/b]") != cassette_path(base, "m", "t[a:b]")
    assert cassette_path(base, "m", "t" * 200 + "a") != cassette_path(base, "m", "t" * 200 + "b")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("24h", 86_400), ("1h30m", 5400), ("7d", 604_800), ("2w", 1_209_600), ("1500ms", 1.5)],
)
def test_a_window_is_read(text: str, seconds: float) -> None:
    """As Go writes durations, and with days and weeks."""
    window = window_of(text)

    assert window is not None
    assert window.total_seconds() == seconds


@pytest.mark.parametrize(
    ("window", "captured", "problem"),
    [
        (None, "2020-01-01T00:00:00Z", None),
        ("24h", "2025-12-31T12:00:00Z", None),
        ("24h", "2025-12-30T12:00:00Z", "recorded 1 day ago, to be trusted for 24h"),
        ("soon", "2025-12-30T12:00:00Z", "freshness window 'soon' is not a duration"),
        ("9" * 90 + "w", "2025-12-30T12:00:00Z", None),
        ("9999999d", "9999-12-31T23:59:59-23:59", None),
        ("1s", "9999-12-31T23:59:59-23:59", None),
        ("99d", "0001-01-01T00:00:00+23:59", "recorded 2024 years ago, to be trusted for 99d"),
        ("\u0663d", "2025-12-30T12:00:00Z", "freshness window '\u0663d' is not a duration"),
        (
            "1" * 2_000_000,
            "2025-12-30T12:00:00Z",
            f"freshness window '{'1' * 40}...' is not a duration",
        ),
        ("24h", "yesterday", "recorded at 'yesterday', which is not a time"),
        ("24h", "2025-12-31T12:00:00", "recorded at '2025-12-31T12:00:00', without a time zone"),
    ],
)
def test_the_age_of_a_recording_is_judged(
    window: str | None, captured: str, problem: str | None
) -> None:
    """By its own window, from when it was taken."""
    manifest = manifest_of()
    harness = msgspec.structs.replace(
        manifest.harness, freshness_window=window, captured_at=captured
    )
    manifest = msgspec.structs.replace(manifest, harness=harness)

    assert age_problem(manifest, datetime(2026, 1, 1, tzinfo=UTC)) == problem


PROJECT = """
    def test_settings(ptycassette_settings, ptycassette_path):
        print(ptycassette_settings.mode, ptycassette_settings.match, ptycassette_path.parent.parent)
"""


@pytest.mark.parametrize(
    ("variable", "ini", "words", "shown"),
    [
        (None, "", (), "live any {root}/shelf"),
        (None, "ptycassette_mode = auto\nptycassette_dir = here\n", (), "auto any {root}/here"),
        ("record", "ptycassette_mode = auto\n", (), "record any {root}/shelf"),
        (
            "record",
            "",
            ("--ptycassette-mode=replay", "--ptycassette-match=exact"),
            "replay exact {root}/shelf",
        ),
    ],
)
def test_the_project_file_is_weaker_than_all_but_the_default(
    variable: str | None,
    ini: str,
    words: tuple[str, ...],
    shown: str,
    *,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Option, variable, ini key, project file, in this order."""
    monkeypatch.delenv("PTYCASSETTE_MODE", raising=False)
    if variable is not None:
        monkeypatch.setenv("PTYCASSETTE_MODE", variable)
    pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = function\n{ini}")
    (pytester.path / "ptycassette.toml").write_text(
        'mode = "live"\ncompare = "any"\nlibrary = "shelf"\n'
    )
    pytester.makepyfile(test_one=PROJECT)
    result = pytester.runpytest_inprocess(
        "-s", "-p", "no:xdist", "-p", "no:textual-snapshot", *words
    )

    result.stdout.fnmatch_lines([f"*{shown.format(root=pytester.path)}*"])


def test_a_project_file_that_is_wrong_stops_the_run(pytester: pytest.Pytester) -> None:
    """Before any test, with the file, the key and what is allowed."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "ptycassette.toml").write_text('compare = "alike"')
    pytester.makepyfile(test_one=PROJECT)
    result = pytester.runpytest_inprocess("-p", "no:xdist", "-p", "no:textual-snapshot")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ptycassette.toml: compare is 'alike', and must be one of*"])


UNUSED = {
    "an empty test": "def test_it(): pass",
    "a test that fails": "def test_it(): assert 1 == 2",
    "a test that imports a part of ours": """
        import ptycassette.model
        def test_it(): pass
    """,
}
LOADED = """
    import sys
    def pytest_unconfigure(config):
        names = [name for name in sys.modules if name.startswith("ptycassette.")]
        print("LOADED", *sorted(names))
"""
LIGHT = {
    "ptycassette.version",
    "ptycassette.pytest_plugin",
    "ptycassette.pytest_plugin.plugin",
}


@pytest.mark.parametrize(
    ("case", "words"), [*((case, ("-v",)) for case in UNUSED), ("an empty test", ("-n", "2"))]
)
def test_a_run_that_uses_nothing_of_ours_loads_and_prints_nothing_of_it(
    pytester: pytest.Pytester, case: str, words: tuple[str, ...]
) -> None:
    """Whoever installs us pays for it only where it is used."""
    pytester.makeconftest(LOADED)
    pytester.makepyfile(UNUSED[case])
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", *words)
    (loaded,) = (line for line in result.outlines if line.startswith("LOADED"))
    others = [line for line in result.outlines if not line.startswith(("LOADED", "plugins: "))]

    assert "imports" in case or set(loaded.split()[1:]) <= LIGHT
    assert "ptycassette.pytest_plugin._hooks" not in loaded
    assert [line for line in others if line.startswith("ptycassette")] == []


WAYS_OF_USE = {
    "at the top": """
        from ptycassette import use
        def test_it():
            with use("c.cassette") as session:
                session.wait_for_text("hello")
    """,
    "in the test": """
        def test_it():
            from ptycassette import use
            with use("c.cassette") as session:
                session.wait_for_text("hello")
    """,
    "in a fixture": """
        import pytest
        @pytest.fixture
        def session():
            from ptycassette import use
            with use("c.cassette") as session:
                yield session
        def test_it(session):
            session.wait_for_text("hello")
    """,
    "asked for late": """
        def test_it(request):
            make = request.getfixturevalue("ptycassette_use")
            with make(path=request.path.parent / "c.cassette") as session:
                session.wait_for_text("hello")
    """,
    "in a module beside": """
        def test_it():
            import beside
            beside.play()
    """,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("case", "words"), [*((case, ("-q",)) for case in WAYS_OF_USE), ("in the test", ("-n", "2"))]
)
def test_a_use_is_noticed_however_late_it_comes(
    pytester: pytest.Pytester, case: str, words: tuple[str, ...]
) -> None:
    """It is counted, and a failure leaves a trace."""
    write_cassette(pytester.path / "c.cassette", Output(0, b"hello"))
    pytester.makepyfile(
        beside="""
        from ptycassette import use
        def play():
            with use("c.cassette") as session:
                session.wait_for_text("hello")
        """
    )
    pytester.makepyfile(test_one=WAYS_OF_USE[case])
    command = ["-p", "no:cacheprovider", "-W", "error", *words]
    passed = pytester.runpytest_subprocess(*command)
    pytester.makepyfile(test_one=WAYS_OF_USE[case].replace('text("hello")', 'text("other")'))
    pytester.makepyfile(beside="import ptycassette\ndef play(): 1 / 0")
    failed = pytester.runpytest_subprocess(*command)

    assert passed.outlines[-2] == "ptycassette: replayed 1"
    assert "1 passed" in passed.outlines[-1]
    assert "beside" in case or list(pytester.path.glob(".ptycassette-traces/2*/*/trace.html"))
    assert "1 failed" in failed.outlines[-1]


def test_one_mode_rules_a_use_that_is_imported_in_the_test(pytester: pytest.Pytester) -> None:
    """The ini key and the marker too, which nothing has read before."""
    pytester.makepyfile(
        """
        import pytest
        def play(name):
            from ptycassette import use
            with use(name, ["echo", "hello"]) as session:
                session.wait_for_text("hello")
        def test_plain():
            play("plain.cassette")
        @pytest.mark.ptycassette(mode="live")
        def test_marked():
            play("marked.cassette")
        """
    )
    pytester.makeini("[pytest]\nptycassette_mode = record\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error")

    result.assert_outcomes(passed=2)
    assert [path.name for path in pytester.path.glob("*.cassette")] == ["plain.cassette"]
    assert "ptycassette: recorded 1, live 1" in result.outlines


def test_files_of_one_name_in_several_folders_share_no_cassette(pytester: pytest.Pytester) -> None:
    """Though all cassettes are in one directory, which is not beside the tests."""
    source = """
        def test_it(ptycassette_path):
            print("PATH", ptycassette_path)
    """
    for folder in ("one", "two"):
        pytester.mkdir(folder).joinpath("test_same.py").write_text(textwrap.dedent(source))
    old = pytester.path / "all" / "test_same" / "test_it.cassette"
    words = ["-s", f"--ptycassette-dir={pytester.path / 'all'}", "--import-mode=importlib"]

    def paths() -> list[str]:
        lines = pytester.runpytest_subprocess(*words).outlines
        return [line.split("PATH ")[1] for line in lines if "PATH " in line]

    apart = paths()
    old.mkdir(parents=True)

    assert apart == [
        str(pytester.path / "all" / folder / "test_same" / "test_it.cassette")
        for folder in ("one", "two")
    ]
    assert paths() == [str(old)] * 2  # what was recorded before is still found


@pytest.mark.parametrize("where", [".", "sub", "elsewhere"])
def test_a_cassette_does_not_depend_on_where_pytest_is_started(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Nor on a test that goes elsewhere."""
    pytester.makeini("[pytest]\n")
    test = pytester.mkdir("sub") / "test_one.py"
    test.write_text(
        "def test_it(tmp_path, monkeypatch, request):\n"
        "    monkeypatch.chdir(tmp_path)\n"
        "    print('PATH', request.getfixturevalue('ptycassette_path'))\n"
    )
    pytester.mkdir("elsewhere")
    monkeypatch.chdir(pytester.path / where)
    lines = pytester.runpytest_subprocess("-s", str(test)).outlines

    expected = test.parent / "cassettes" / "test_one" / "test_it.cassette"
    assert [line.split("PATH ")[1] for line in lines if "PATH " in line] == [str(expected)]


TWICE = """
    import pytest
    from ptycassette import use
    @use("one.cassette", ["echo", "hello"])
    def test_first(session):
        session.wait_for_text("hello")
    {marker}
    def test_second({argument}):
        {body}
"""


@pytest.mark.parametrize(
    ("marker", "argument", "body"),
    [
        ("", "", 'with use("one.cassette", ["echo", "bye"]) as s: s.wait_for_text("bye")'),
        (
            '@pytest.mark.ptycassette("../one.cassette", argv=["echo", "bye"])',
            "ptycassette_session",
            'ptycassette_session.wait_for_text("bye")',
        ),
        (
            "",
            "ptycassette_use",
            'with ptycassette_use(["echo", "bye"], "../one.cassette") as s: s.wait_for_text("bye")',
        ),
    ],
)
def test_no_cassette_is_recorded_twice_in_a_run(
    pytester: pytest.Pytester, marker: str, argument: str, body: str
) -> None:
    """The second one is refused before its program starts; the first one's recording stays."""
    pytester.makepyfile(TWICE.format(marker=marker, argument=argument, body=body))
    result = pytester.runpytest_subprocess("--ptycassette-mode=record", "-p", "no:randomly")

    result.stdout.fnmatch_lines(["*recorded in this run already, by *::test_first, and is not*"])
    assert "ptycassette: recorded 1" in result.outlines
    assert b"hello" in (pytester.path / "one.cassette" / "output.raw").read_bytes()
    assert not (pytester.path / "one.cassette.diagnostic").exists()
    again = pytester.runpytest_subprocess("--ptycassette-mode=record", "-k", "first")
    again.assert_outcomes(passed=1, deselected=1)  # another run may


def test_a_test_that_replays_loads_neither_recorder_nor_faults(pytester: pytest.Pytester) -> None:
    """Nor a fake provider: they would take most of its time."""
    write_cassette(pytester.path / "c.cassette", Output(0, b"hello"))
    pytester.makeconftest(LOADED)
    pytester.makepyfile(WAYS_OF_USE["at the top"])
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    (loaded,) = (line for line in result.outlines if line.startswith("LOADED"))

    result.assert_outcomes(passed=1)
    assert "ptycassette.replaying.io.using" in loaded
    for name in ("faults.provider", "recording.io.recorder", "harness", "session.async_session"):
        assert f"ptycassette.{name}" not in loaded.split()
