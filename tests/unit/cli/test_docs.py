"""The pages of the guide: every option is there, and their Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from ptycassette.cli.entry import COMMANDS, cli
from ptycassette.model import Output
from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS as STAND_IN_OPTIONS
from ptycassette.testing import ManualClock, write_cassette

DOCS = Path(__file__).resolve().parents[3] / "docs"


def _options(name: str) -> list[str]:
    """The options of a command, by their longest names."""
    if name == "stand-in":  # its parser is its own
        return [option.name for option in STAND_IN_OPTIONS]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return [max(option.opts, key=len) for option in command.params if option.opts[0][0] == "-"]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_stands_in_the_guide(name: str) -> None:
    """Options that nobody can find are of no use."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")

    assert [o for o in _options(name) if re.search(rf"{o}(?![\w-])", text) is None] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_stands_in_the_list_of_the_guide(name: str) -> None:
    """With a page that there is."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{name}[ `].*\|$", text, flags=re.MULTILINE)

    assert row is not None
    linked = re.findall(r"\((\w[\w-]*\.md)\)", row[0])
    assert "below" in row[0] or [(DOCS / page).exists() for page in linked] == [True]


def test_the_python_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of replaying.md, one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    write_cassette("hello.cassette", Output(1_000, b"hello\r\n"))
    text = (DOCS / "replaying.md").read_text(encoding="utf-8")
    first, manual, clock, loop = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    handled: list[object] = []
    loop_clock = ManualClock()
    names: dict[str, object] = {
        "now_us": loop_clock.now_us,
        "handle": handled.append,
        "come_back_in": lambda us: loop_clock.advance(us / 1_000_000),
    }
    exec(first, names)  # noqa: S102 - our own page
    cassette = names["ptycassette"].open_cassette("hello.cassette")  # type: ignore[attr-defined]
    with cassette:
        names["cassette"] = cassette
        for block in (manual, clock, loop):
            exec(block, names)  # noqa: S102 - our own page

    assert len(handled) == 2
