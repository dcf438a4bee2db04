"""``view`` of a recording and one that was forked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ptycassette.cli import view
from ptycassette.cli.entry import cli
from ptycassette.testing import write_cassette


def test_two_recordings_open_where_one_was_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a time is given, or neither is a child of the other."""
    seen: list[Any] = []

    def show(_path: str, **given: Any) -> int:
        seen.append(given["start"])
        return 0

    monkeypatch.setattr(view, "viewer", lambda _name: show)
    monkeypatch.setattr(view, "_fork_s", lambda path, _other: 2.5 if path == "parent" else None)
    runner = CliRunner()
    for arguments in (["parent", "child"], ["parent", "child", "--start", "1"], ["a", "b"]):
        runner.invoke(cli, ["view", *arguments], standalone_mode=False)

    assert seen == [2.5, 1.0, None]


def test_what_cannot_be_read_is_no_fork(tmp_path: Path) -> None:
    """The viewer says what is wrong with it."""
    write_cassette(tmp_path / "one.cassette")
    assert view._fork_s(str(tmp_path / "one.cassette"), str(tmp_path / "nothing")) is None
    assert view._fork_s(*[str(tmp_path / "one.cassette")] * 2) is None
