"""A test whose program asks a model: its tape is recorded, and answers the real program again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette import open_cassette
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration

INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
# Plugins that cannot run within a run of themselves.
ALONE = ("-p", "no:xdist", "-p", "no:textual-snapshot")
CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"
SCRIPT = CLIENT.with_suffix(".toml").read_text()
COMMITTED = Path(__file__).parents[2] / "fixtures" / "tapes" / "client-tape"
TEST = """
import pytest
AGENT = ["python3", "-I", CLIENT]

@pytest.mark.ptycassette("agent.cassette", argv=AGENT, tape=TAPE)
def test_note(ptycassette_use):
    with ptycassette_use(probe_version=False) as session:
        session.wait_for_text("> ")
        session.submit("the note?")
        session.wait_for_regex("(?:something[.]|error 404.*)\\n>")
        assert not FAILS
        session.submit("/quit")
        session.wait_exit()
"""


@pytest.fixture(autouse=True)
def _folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that the program reads."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    pytester.makeini(INI)
    (pytester.path / "note.txt").write_text("buy milk\n")


def run(
    pytester: pytest.Pytester, mode: str, *, tape: str | bool = True, fails: bool = False
) -> pytest.RunResult:
    """A run of the one test, which fails after the answer if it is to fail."""
    text = TEST.replace("CLIENT", repr(str(CLIENT))).replace("TAPE", repr(tape))
    pytester.makepyfile(test_agent=text.replace("FAILS", str(fails)))
    return pytester.runpytest_subprocess("-W", "error", *ALONE, f"--ptycassette-mode={mode}")


@contextmanager
def provider() -> Iterator[str]:
    """The address of a provider that has said nothing yet."""
    with FakeProviderServer(Script.parse(SCRIPT, where="script", variables={})) as server:
        yield server.url


def files(folder: Path) -> dict[str, bytes]:
    """What a cassette holds."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.slow
def test_a_test_is_recorded_with_its_tape_and_rerun_from_it(pytester: pytest.Pytester) -> None:
    """A failed run replaces nothing; without the provider, another tool result fails the test."""
    cassette = pytester.path / "cassettes" / "agent.cassette"
    with provider() as url:
        run(pytester, "auto", tape=url).assert_outcomes(passed=1)
    before = files(cassette)
    with provider() as url:
        run(pytester, "rewrite", tape=url, fails=True).assert_outcomes(failed=1)
    assert files(cassette) == before

    with provider() as url:
        run(pytester, "rewrite", tape=url).assert_outcomes(passed=1)
    with open_cassette(cassette) as recorded:
        assert len(list(recorded.tape())) == 2
        assert files(cassette) != before

    run(pytester, "rerun").assert_outcomes(passed=1)
    (pytester.path / "note.txt").write_text("buy silk\n")
    changed = run(pytester, "rerun")

    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*buy milk*buy silk*"])


@pytest.mark.slow
def test_live_asks_the_provider_and_keeps_nothing(
    pytester: pytest.Pytester,
) -> None:
    """There is no proxy: the program is pointed at the provider itself."""
    with provider() as url:
        run(pytester, "live", tape=url).assert_outcomes(passed=1)

    assert not (pytester.path / "cassettes").exists()


@pytest.mark.parametrize(
    ("note", "outcome", "says"),
    [
        ("buy walnuts", {"passed": 1}, "*1 passed*"),
        ("buy walnutz", {"failed": 1}, "*recorded buy walnuts, now buy walnutz*"),
    ],
)
def test_a_committed_tape_answers_the_program_of_a_test(
    pytester: pytest.Pytester, note: str, outcome: dict[str, int], says: str
) -> None:
    """Without a provider. What the program swallows fails the test all the same."""
    (pytester.path / "note.txt").write_text(f"{note}\n")
    shutil.copy(CLIENT, pytester.path)
    pytester.makepyfile(
        test_agent=f"""
        import pytest

        @pytest.mark.ptycassette({str(COMMITTED)!r}, mode="rerun")
        def test_note(ptycassette_session):
            ptycassette_session.wait_for_text("> ")
            ptycassette_session.submit("What does the note say?")
            ptycassette_session.wait_for_regex("(?:something[.]|error 404.*)\\n")
            ptycassette_session.submit("/quit")
            ptycassette_session.wait_exit()
        """
    )
    ran = pytester.runpytest_inprocess("-W", "error", *ALONE)

    ran.assert_outcomes(**outcome)
    ran.stdout.fnmatch_lines([says])


def test_the_marker_names_the_provider_of_a_live_run(pytester: pytest.Pytester) -> None:
    """As it names that of a recording."""
    pytester.makepyfile(
        test_agent="""
        import pytest
        ASKS = ["sh", "-c", "echo at $OPENAI_BASE_URL."]

        @pytest.mark.ptycassette("a.cassette", argv=ASKS, tape="http://127.0.0.1:9", mode="live")
        def test_it(ptycassette_session):
            ptycassette_session.wait_for_text("at http://127.0.0.1:9/v1.")
        """
    )
    pytester.runpytest_inprocess("-W", "error", *ALONE).assert_outcomes(passed=1)
