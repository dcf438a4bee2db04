"""Where ``use`` looks for a relative path: beside the test first, then in the current folder.

A new one is recorded beside the test.
"""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ptycassette import AsyncSession, Session, use
from ptycassette.errors import NotFoundError
from ptycassette.model.records import Output
from ptycassette.testing import write_cassette
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.integration


def names_of(folder: Path, body: str, name: str = "test_it.py") -> dict[str, object]:
    """The names of a test file in ``folder`` with ``body``, which is run from elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"from ptycassette import use\n{textwrap.dedent(body)}")
    return runpy.run_path(str(folder / name))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a project, which is the current folder."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.delenv("PTYCASSETTE_MODE", raising=False)
    return root


FORMS = {
    "block": """
        def shown():
            with use("c.cassette") as session:
                return session.wait_for_text("here").text
        """,
    "decorator": """
        @use("c.cassette")
        def shown(session):
            return session.wait_for_text("here").text
        """,
    "folder": """
        def shown():
            with use("deep/c.cassette") as session:
                return session.wait_for_text("here").text
        """,
    "async": """
        import asyncio

        async def _shown():
            async with use("c.cassette") as session:
                return (await session.wait_for_text("here")).text

        def shown():
            return asyncio.run(_shown())
        """,
    "auto": """
        def shown():
            with use("c.cassette", ["false"], mode="auto") as session:
                return session.wait_for_text("here").text
        """,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_folder_of_the_test_file_is_the_first(root: Path, form: str) -> None:
    """From wherever the test is run, and also if the current folder has one of the same name."""
    for folder, text in ((root / "tests", b"beside: here"), (root, b"root: here")):
        for name in ("c.cassette", "deep/c.cassette"):
            write_cassette(folder / name, Output(0, text))
    names = names_of(root / "tests", FORMS[form])

    assert names["shown"]().strip() == "beside: here"  # type: ignore[operator]


def test_a_function_that_a_test_calls_finds_what_is_beside_the_test(root: Path) -> None:
    """The function may be in another folder."""
    write_cassette(root / "tests" / "c.cassette", Output(0, b"beside: here"))
    names_of(root / "lib", FORMS["block"], "driving.py")
    names = names_of(
        root / "tests",
        f"""
        import runpy
        inner = runpy.run_path({str(root / "lib" / "driving.py")!r})

        def shown():
            return inner["shown"]()
        """,
    )

    assert names["shown"]().strip() == "beside: here"  # type: ignore[operator]


def test_the_current_folder_is_the_second(root: Path) -> None:
    """For what ``rec`` wrote there, and for paths from the root of a project."""
    write_cassette(root / "c.cassette", Output(0, b"root: here"))
    names = names_of(root / "tests", FORMS["block"])

    assert names["shown"]().strip() == "root: here"  # type: ignore[operator]


def test_a_folder_that_is_no_cassette_is_passed_over(root: Path) -> None:
    """One of the same name beside the test."""
    (root / "tests" / "c.cassette").mkdir(parents=True)
    write_cassette(root / "c.cassette", Output(0, b"root: here"))
    names = names_of(root / "tests", FORMS["block"])

    assert names["shown"]().strip() == "root: here"  # type: ignore[operator]


def test_the_error_names_every_folder(root: Path) -> None:
    """Both, and how to record it."""
    names = names_of(root / "tests", FORMS["block"])
    with pytest.raises(NotFoundError) as caught:
        names["shown"]()  # type: ignore[operator]

    assert f"{root / 'tests'}, {root}" in str(caught.value)
    assert "PTYCASSETTE_MODE=auto" in str(caught.value)


def recording(path: str, word: str) -> str:
    """A body that records a program, which prints a word."""
    return f"""
        used = use({path!r}, {[sys.executable, "-c", f"print({word!r})"]!r}, mode="auto")

        def shown():
            with used as session:
                session.wait_exit()
                return session.screen().text
        """


def recorded(root: Path) -> list[str]:
    """The cassettes below a folder."""
    return sorted(str(one.parent.relative_to(root)) for one in root.rglob("manifest.json"))


def test_tests_of_the_same_name_in_two_folders_have_a_cassette_each(root: Path) -> None:
    """Beside the test file; ``path`` says where."""
    for _ in range(2):
        for folder in ("a", "b"):
            names = names_of(root / folder, recording("c.cassette", folder))
            assert names["shown"]().strip() == folder  # type: ignore[operator]
            assert names["used"].path == root / folder / "c.cassette"  # type: ignore[attr-defined]

    assert recorded(root) == ["a/c.cassette", "b/c.cassette"]


@pytest.mark.parametrize(
    ("made", "place"),
    [
        ("tests/cassettes", "tests/cassettes"),  # as seen from the current folder
        ("tests/tests/cassettes", "tests/tests/cassettes"),
        ("tests", "tests/tests/cassettes"),  # neither is there
    ],
)
def test_a_new_cassette_is_recorded_in_the_first_folder_that_is_there(
    root: Path, made: str, place: str
) -> None:
    """If its path names one."""
    (root / made).mkdir(parents=True)
    names = names_of(root / "tests", recording("tests/cassettes/c.cassette", "new"))
    names["shown"]()  # type: ignore[operator]

    assert recorded(root) == [f"{place}/c.cassette"]


def test_a_script_records_in_the_current_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is no test, and is not run by one."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    script = root / "lib" / "driving.py"
    script.parent.mkdir()
    script.write_text(
        f"from ptycassette import use\n{textwrap.dedent(recording('c.cassette', 'new'))}shown()\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=PATIENCE_S)

    assert recorded(root) == ["c.cassette"]


@pytest.mark.parametrize("streams", ["terminal", "pipes"])
def test_text_where_bytes_belong_is_an_error_that_says_so(streams: str) -> None:
    """And bytes where text belongs, at a terminal and over pipes."""
    with Session([sys.executable, "-c", "input()"], streams=streams) as session:
        with pytest.raises(TypeError, match=r"send\(\) takes bytes, not str: .*type\(\)"):
            session.send("text")  # type: ignore[arg-type]
        for give in (session.type, session.paste, session.submit, session.send_secret):
            with pytest.raises(TypeError, match=r"a str, not bytes: send\(\) takes bytes"):
                give(b"bytes")  # type: ignore[arg-type]
        session.send(bytearray(b"x\n"))
        assert session.wait_exit().code == 0


def test_text_where_bytes_belong_is_an_error_in_async_code_too() -> None:
    """The same words."""

    async def main() -> None:
        async with AsyncSession([sys.executable, "-c", "input()"], streams="pipes") as session:
            with pytest.raises(TypeError, match=r"send\(\) takes bytes, not str"):
                await session.send("text")  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="a str, not bytes"):
                await session.type(b"bytes")  # type: ignore[arg-type]
            await session.type("x\n")
            assert (await session.wait_exit()).code == 0

    asyncio.run(main())


def test_an_absolute_path_is_not_searched(root: Path) -> None:
    """It is what it is."""
    with pytest.raises(NotFoundError) as caught, use(root / "c.cassette"):
        pass

    assert "searched" not in str(caught.value)
