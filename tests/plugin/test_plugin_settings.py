"""The plugin's settings: what is said where, and which of it counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from ptycassette.cassette.freshness import age_problem, window_of
from ptycassette.model import Finished, Output, Typed
from ptycassette.pytest_plugin._naming import cassette_path
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
        @pytest.mark.ptycassette("shared.cassette", argv=["sh", "-c", "echo $$; exec cat"])
        @pytest.mark.parametrize("number", range(6))
        def test_it(ptycassette_session, number):
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
