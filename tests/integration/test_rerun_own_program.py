"""A program that no profile knows: its key, its files, the folders that its command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands import ptycassette, taped

pytest.importorskip("aiohttp", reason="a rerun needs the extra `provider`")
pytestmark = pytest.mark.integration

SCRIPT = """
version = 1
[[replies]]
times = 0
text = "well"
"""
PROGRAM = """
import http.client, json, os, sys
from urllib.parse import urlsplit
key, note = os.environ[sys.argv[1]], open(sys.argv[2].removeprefix("--note=")).read()
where = urlsplit(os.environ["OPENAI_BASE_URL"])
asked = http.client.HTTPConnection(where.netloc, timeout=120)
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": note}]})
asked.request("POST", where.path + "/chat/completions", body, {"authorization": "Bearer " + key})
print(json.load(asked.getresponse())["choices"][0]["message"]["content"], flush=True)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program; its user has a key."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "agent.py").write_text(PROGRAM)
    (folder / "note.txt").write_text("how are you")
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 24)
    return folder


def cassette(work: Path, *words: str) -> Path:
    """Record it in its folder."""
    return taped(work, SCRIPT, "a.cassette", "python3", "-I", *words)


def rerun(work: Path, *words: str, **options: Any) -> Any:
    """Run it again."""
    return ptycassette("rerun", "--trust", *words, cwd=work, **options)


def test_it_has_a_made_up_key_of_the_api_that_it_asked(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SDKs ask nothing without one."""
    cassette(work, "agent.py", "OPENAI_API_KEY", "note.txt")
    monkeypatch.delenv("OPENAI_API_KEY")

    assert rerun(work, "--cwd", ".", "a.cassette").stdout.endswith("passed\n")


def test_it_has_no_key_of_another_api(work: Path) -> None:
    """A program may choose its provider by the keys that there are."""
    cassette(work, "agent.py", "OPENAI_API_KEY", "note.txt")
    text = 'import os; print([name for name in os.environ if name.endswith("_KEY")])'

    ran = rerun(work, "--cwd", ".", "a.cassette", "--", "python3", "-c", text)
    assert "['OPENAI_API_KEY']" in ran.stdout


@pytest.mark.parametrize("where", ["--cwd", "--copy"])
def test_folders_in_its_words_are_those_of_the_new_run(where: str, work: Path) -> None:
    """The recording says ``$PWD``: nobody else's path is in it."""
    cassette(work, f"{work}/agent.py", "OPENAI_API_KEY", f"--note={work}/note.txt")
    elsewhere = work.rename(work.with_name("elsewhere"))

    assert rerun(elsewhere, where, ".", "a.cassette").stdout.endswith("passed\n")


def test_a_file_that_it_lacks_is_named(work: Path) -> None:
    """It works in an empty folder unless told otherwise."""
    cassette(work, "agent.py", "OPENAI_API_KEY", "note.txt")

    ran = rerun(work, "a.cassette")
    hint = "agent.py is not in the empty folder in which the program worked, but in this one: --cwd"
    assert ran.returncode == 1
    assert f"note: {hint}" in ran.stdout

    fork = ptycassette(
        *("fork", "--trust", "a.cassette", "--at", "tape:1", "--change", "response=x"),
        *("-o", "b.cassette"), cwd=work,
    )  # fmt: skip
    assert fork.returncode == 1
    assert f"hint: {hint}" in fork.stderr
    assert "can't open file" in fork.stderr


def test_a_cassette_that_is_in_the_way_is_named(work: Path) -> None:
    """Agents tell their models what is in the work folder."""
    note = 'open(sys.argv[2].removeprefix("--note=")).read()'
    assert note in PROGRAM
    (work / "list.py").write_text(PROGRAM.replace(note, "str(os.listdir())"))
    cassette(work, "list.py", "OPENAI_API_KEY")

    ran = rerun(work, "--cwd", ".", "a.cassette")
    hint = "the cassette is in the work folder now, which agents list: --copy leaves it out"
    assert f"note: {hint}" in ran.stdout
    assert rerun(work, "--copy", ".", "a.cassette").stdout.endswith("passed\n")

    fork = ptycassette(
        *("fork", "--trust", "--cwd", ".", "a.cassette", "--at", "tape:1"),
        *("--change", "response=x", "-o", "b.cassette"), cwd=work,
    )  # fmt: skip
    assert f"hint: {hint}" in fork.stderr
