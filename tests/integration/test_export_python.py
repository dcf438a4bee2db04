"""Tests that ``export`` makes of recordings: they pass against them, and are nothing but calls."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ptycassette import use
from ptycassette.cli import main
from ptycassette.model.records import ExitStatus, Finished, Output, Resized, Typed
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette

pytestmark = pytest.mark.integration
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDINGS = sorted(
    path.parent
    for place in ("agents", "programs")
    for path in (FIXTURES / place).glob("*/manifest.json")
)
EVIL = "\x1b]52;c;ZXZpbA==\x07\u202e'''\"\"\"{}\\N{BULLET}"


def exported(cassette: Path, tmp_path: Path) -> str:
    """The test that is made of a cassette."""
    target = tmp_path / "test_made.py"
    assert main(["export", str(cassette), str(target)]) == 0
    return target.read_text(encoding="ascii")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_it_passes_against_its_recording(path: Path, tmp_path: Path) -> None:
    """Real programs and agent CLIs: full screens, pastes, resizes, ctrl-c."""
    code = exported(path, tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "test_made.py", "exec"), names)  # noqa: S102 - what was just made
    made = [value for name, value in names.items() if name.startswith("test_")]

    assert len(made) == 1
    made[0]()  # type: ignore[operator]


def test_what_was_sent_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, keys and a resize, the end, and the names."""
    monkeypatch.chdir(tmp_path)
    write_cassette(
        tmp_path / "my tool.cassette",
        Output(0, b"> "), Typed(1, b"hello\r"), Output(2, b"hello\r\nhi\r\n> "),
        Resized(3, Size(30, 90)), Typed(4, b"\x03"), Output(5, b"bye"),
        Finished(t_us=6, exit=ExitStatus(code=3, exited=True, signaled=False)),
        manifest=manifest_of(argv=("tool", "-x")),
    )  # fmt: skip
    code = exported(Path("my tool.cassette"), tmp_path)

    assert "from ptycassette import Size, use" in code
    assert "def test_my_tool():\n    with use('my tool.cassette', ['tool', '-x'])" in code
    assert [line.strip() for line in code.split(") as session:\n")[1].splitlines()] == [
        "session.submit('hello')",
        "session.resize(Size(30, 90))",
        "session.send_key('ctrl-c')",
        "status = session.wait_exit()",
        "assert status.code == 3",
    ]


def test_nothing_from_a_recording_is_code(tmp_path: Path) -> None:
    """Names, arguments, keys and rows are literals in ASCII."""
    cassette = tmp_path / f"x{EVIL}"
    write_cassette(
        cassette,
        Output(0, EVIL.encode()), Typed(1, EVIL.encode() + b"\r"),
        Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False)),
        manifest=manifest_of(argv=("sh", EVIL)),
    )  # fmt: skip
    code = exported(cassette, tmp_path)
    tree = ast.parse(code)

    assert code.isascii()
    assert code.replace("\n", "").isprintable()
    assert [type(node).__name__ for node in tree.body] == ["Expr", "ImportFrom", "FunctionDef"]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert {ast.unparse(call).split(".")[0] for call in calls} <= {"use", "session", "Size"}


def test_pipes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test of what ran over pipes would send keys to a terminal."""
    with use(tmp_path / "c", ["echo", "x"], mode="record", streams="pipes") as session:
        session.wait_exit(timeout_s=60)

    assert main(["export", str(tmp_path / "c"), str(tmp_path / "x.py")]) == 2
    assert "recorded at a terminal" in capsys.readouterr().err
