"""Hooks before recording and before comparing: in ``use``, and in files for other processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette import open_cassette, use
from ptycassette.cli import main
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.model.records import Finished, Noted, Output, Typed
from ptycassette.recording.hooks import hooked
from ptycassette.recording.io.hooks_file import load_hooks

pytestmark = pytest.mark.integration
SAY = ["sh", "-c", "printf 'id req-4711> '; read line; echo you said $line"]
HOOKS = """
import re
from msgspec.structs import replace

def before_record(event):
    if type(event).__name__ == "Output":
        return replace(event, data=re.sub(rb"req-[0-9]{4}", b"req-0000", event.data))
    return event

def matches(sent, recorded):
    return sent.lower() == recorded.lower()
"""


def _replaced(event: Any) -> Any:
    if isinstance(event, Output):
        return msgspec.structs.replace(event, data=event.data.replace(b"4711", b"0000"))
    return None if isinstance(event, Noted) else event


def _talk(session: Any, line: str = "hello") -> None:
    session.wait_for_text("> ")
    session.submit(line)
    session.wait_for_text("you said hello")


def _shown(path: Path) -> str:
    with open_cassette(path) as cassette:
        frames = "".join("\n".join(frame.text) for frame in cassette.frames())
        return b"".join(cassette.raw()).decode() + frames


def test_use_asks_before_it_records(tmp_path: Path) -> None:
    """Output and frames are those that the function returned; what it leaves out is not there."""
    path = tmp_path / "c"
    with use(path, SAY, mode="record", before_record=_replaced, notes=[{"n": 1}]) as session:
        _talk(session)

    assert "req-0000" in _shown(path)
    assert "req-4711" not in _shown(path)
    with open_cassette(path) as cassette:
        assert list(cassette.service_events()) == []


@pytest.mark.slow
def test_use_compares_with_a_function(tmp_path: Path) -> None:
    """In place of a strategy; what it refuses diverges."""
    path = tmp_path / "c"
    with use(path, SAY, mode="record") as session:
        _talk(session)

    with use(path, match=lambda sent, recorded: sent.lower() == recorded) as session:
        _talk(session, "HELLO")
    with (
        pytest.raises(DivergenceError, match="compared as 'custom'"),
        use(path, match=lambda sent, recorded: False) as session,
    ):
        _talk(session)


def test_a_file_of_hooks_is_for_other_processes(tmp_path: Path) -> None:
    """``rec`` asks the one, ``stand-in`` the other."""
    hooks, path = tmp_path / "hooks.py", tmp_path / "c"
    hooks.write_text(HOOKS)
    (tmp_path / "steps").write_text("wait-text >\nsubmit hello\nwait-exit\n")
    steps = str(tmp_path / "steps")
    words = ["rec", "-q", "--hooks", str(hooks), "--input", steps, str(path), "--", *SAY]
    assert main(words) == 0
    assert "req-0000> " in _shown(path)
    assert "4711" not in _shown(path)

    stand_in = [sys.executable, "-m", "ptycassette", "stand-in"]
    statuses = [
        subprocess.run(
            [*stand_in, *more, str(path)], input=b"HELLO\n", capture_output=True, check=False
        ).returncode
        for more in (("--hooks", str(hooks)), ())
    ]
    assert statuses == [0, 125]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def before_record(event):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("def before_record(event):\n    return 5\n", "returned int for Output"),
        ("x = 1\n", "there are no hooks in it"),
        ("def (\n", "SyntaxError"),
    ],
)
def test_hooks_that_fail_say_so_and_publish_nothing(
    code: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With status 2, and the place."""
    hooks = tmp_path / "hooks.py"
    hooks.write_text(code)
    status = main(
        ["rec", "--headless", "--hooks", str(hooks), str(tmp_path / "c"), "--", "echo", "hi"]
    )

    assert status == 2
    assert said in capfd.readouterr().err
    assert not (tmp_path / "c").exists()


def test_the_end_cannot_be_left_out() -> None:
    """A recording without one is none."""
    with pytest.raises(UsageError, match="Finished cannot be left out"):
        list(hooked(lambda: iter([Finished(t_us=1)]), lambda event: None)())


def test_time_and_kind_cannot_be_changed() -> None:
    """Order is what all else rests on."""
    later = hooked(lambda: iter([Typed(1, b"x")]), lambda event: Typed(2, b"x"))

    with pytest.raises(UsageError, match="returned Typed for Typed at 1 us"):
        list(later())


def test_a_comparison_that_fails_names_its_file(tmp_path: Path) -> None:
    """It runs in a process whose traceback nobody sees."""
    hooks = tmp_path / "hooks.py"
    hooks.write_text("def matches(sent, recorded):\n    return sent.nonsense\n")
    matches = load_hooks(hooks).matches
    assert matches is not None

    with pytest.raises(UsageError, match=r"hooks.py.*matches fails: AttributeError"):
        matches("a", "b")
