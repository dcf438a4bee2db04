"""Every kind of change at three places, in agents of three languages and three providers' APIs.

What cannot be forked is in the same table, with what the error says.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("aiohttp")

from ptycassette import drift, replay
from ptycassette.agents.fork.io.forking import fork
from ptycassette.agents.fork.io.live import ForkOptions
from ptycassette.agents.fork.places import Change, ForkPlace
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.errors import UsageError
from ptycassette.recording.input_script import parse_script
from ptycassette.recording.io.recording import record

pytestmark = pytest.mark.integration

PROGRAMS = Path(__file__).parent.parent / "programs"
AGENTS = {
    "python-chat": (sys.executable, "-I", str(PROGRAMS / "tape_client.py")),
    "node-messages": ("node", str(PROGRAMS / "messages_agent.js")),
    "perl-gemini": ("perl", str(PROGRAMS / "gemini_agent.pl")),
}
SCRIPT = """
version = 1
[[replies]]
times = 0
when = { after = "tool" }
text = "The note says something."
[[replies]]
times = 0
when = { prompt_contains = "note", tools = true }
parts = [{ text = "I will look. " }, { tool = "read_note", arguments = {} }]
"""
OTHER = """
version = 1
[[replies]]
times = 0
when = { result_contains = "silk" }
text = "Silk, it says."
[[replies]]
times = 0
text = "The script goes on."
"""
PROMPTS = ("What is in the note?", "And in the note now?")


class Row(msgspec.Struct, frozen=True):
    """A change, where it is made, what is verified before it, and what the child shows then.

    ``before``: requests, inputs. ``script``: another script answers from there on.
    """

    change: str
    places: dict[str, tuple[int, int]]
    shows: str
    script: bool = False


BEFORE = {
    "exchange:1": (0, 0), "tape:1": (0, 1), "tape:2": (1, 1), "exchange:2": (2, 1),
    "tape:3": (2, 2), "tape:4": (3, 2), "exchange:3": (4, 2),
}  # fmt: skip


def row(change: str, places: str, shows: str, *, script: bool = False) -> Row:
    """A row of the table."""
    return Row(change, {place: BEFORE[place] for place in places.split()}, shows, script)


ROWS = (
    row("input=hello", "exchange:1 exchange:2 exchange:3", "hello", script=True),
    row("response=It says to buy silk.", "tape:1 tape:2 tape:4", "It says to buy silk."),
    row("tool-result=buy silk", "tape:2 tape:4", "Silk, it says.", script=True),
    row("tool-result=buy silk", "tape:3", "The script goes on.", script=True),  # told again there
    row("model=m-2", "exchange:1 tape:2 tape:4", "The script goes on.", script=True),
    row("binary=BINARY", "exchange:1 tape:3 exchange:3", "bye"),
    row("size=90x20", "exchange:1 tape:2 exchange:3", "bye"),
    row("exit=7", "exchange:1 tape:3 exchange:3", ""),
)
FAST = {("python-chat", "response", "tape:2"), ("python-chat", "input", "exchange:1")}
"""Run by default; the others with the slow tests."""
CASES = [
    pytest.param(
        *(agent, one, place),
        id=f"{agent}-{kind}-{place}",
        marks=() if (agent, kind, place) in FAST else pytest.mark.slow,
    )
    for agent in AGENTS
    for one in ROWS
    for kind in (one.change.partition("=")[0],)
    for place in one.places
]


@pytest.fixture(scope="module")
def parents(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Records an agent once: two prompts with a call of a tool each, and the end."""
    made: dict[str, Path] = {}

    def parent_of(name: str) -> Path:
        if shutil.which(AGENTS[name][0]) is None:
            pytest.skip(f"there is no {AGENTS[name][0]} on PATH")
        if name not in made:
            made[name] = _recorded(AGENTS[name], tmp_path_factory.mktemp(name))
        return made[name]

    return parent_of


def _recorded(argv: tuple[str, ...], folder: Path) -> Path:
    (folder / "note.txt").write_text("buy milk\n")
    script = Script.parse(SCRIPT, where="script", variables={})
    with FakeProviderServer(script) as provider:
        options: dict[str, Any] = {"tape": provider.url, "cwd": folder, "probe_version": False}
        with record(argv, folder / "agent.cassette", **options) as session:
            session.wait_for_text("> ", timeout_s=90)
            for count, prompt in enumerate(PROMPTS, 1):
                session.type(f"{prompt}\r")
                session.wait_for_regex(rf"(?s)(something\..*){{{count}}}\n>", timeout_s=90)
            session.type("/quit\r")
            session.wait_exit(timeout_s=90)
    return folder / "agent.cassette"


@pytest.mark.parametrize(("agent", "one", "place"), CASES)
def test_a_fork(
    parents: Callable[[str], Path], agent: str, one: Row, place: str, tmp_path: Path
) -> None:
    """All before the place is verified; the child verifies, plays, and differs from there on."""
    parent, child = parents(agent), tmp_path / "child.cassette"
    (tmp_path / "other.toml").write_text(OTHER)
    with open_cassette(parent) as cassette:
        report = fork(cassette, child, _options(one, place, agent, tmp_path, parent.parent))

    proof = report.origin.prefix
    requests, inputs = one.places[place]
    here = place.startswith("exchange")  # its screen is verified, too
    assert (len(proof.entries), proof.inputs, proof.screens) == (requests, inputs, inputs + here)
    assert verify_cassette(child).error is None
    with open_cassette(child) as cassette:
        played = b"".join(
            event.data for event in replay(cassette, mode="collapsed") if event.kind == "output"
        )
        assert played == b"".join(cassette.raw())
    assert one.shows in played.decode()
    assert report.exit is not None
    assert report.exit.code == (7 if one.change == "exit=7" else 0)
    found = drift(parent, child)
    changed = [number for each in found.exchanges for number in (each.old, each.new) if number]
    first = inputs + here
    assert found or one.change.startswith("binary")
    assert min(changed, default=first) >= first


def _options(one: Row, place: str, agent: str, folder: Path, work: Path) -> ForkOptions:
    change = one.change
    if change == "binary=BINARY":
        other = folder / "other-binary"
        other.symlink_to(Path(shutil.which(AGENTS[agent][0]) or "").resolve())
        change = f"binary={other}"
    return ForkOptions(
        at=ForkPlace.parse(place),
        change=Change.parse(change),
        script=folder / "other.toml" if one.script else None,
        trusted=True,
        cwd=work,
        patience_s=20.0,
        inputs=parse_script("type /quit\nkey enter") if place == "exchange:3" else None,
        quiet_ms=100,
    )


@pytest.mark.parametrize(
    ("change", "place", "script", "why"),
    [
        ("input=x", "tape:2", True, "changed at an input"),
        ("response=x", "exchange:2", False, "changed at a request"),
        ("tool-result=x", "exchange:2", True, "changed at a request"),
        ("tool-result=x", "tape:1", True, "has no tool result"),
        ("tool-result=x", "tape:2", False, "a recorded answer does not depend on tool-result"),
        ("model=m-2", "tape:2", False, "a recorded answer does not depend on model"),
    ],
)
def test_what_cannot_be_forked_says_why(  # noqa: PLR0917 - the columns of a table
    parents: Callable[[str], Path], change: str, place: str, script: bool, why: str, tmp_path: Path
) -> None:
    """Before anything is started."""
    parent = parents("python-chat")
    (tmp_path / "other.toml").write_text(OTHER)
    options = _options(Row(change, {}, "", script), place, "python-chat", tmp_path, parent.parent)
    with open_cassette(parent) as cassette, pytest.raises(UsageError, match=why):
        fork(cassette, tmp_path / "child.cassette", options)
    assert not (tmp_path / "child.cassette").exists()
