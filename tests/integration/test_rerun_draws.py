"""What a recorded program drew is served when it runs again, and what differs is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette import record, rerun_cassette
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.errors import MissingFileError
from ptycassette.tape.draws import drawn_in
from tests.commands import taped
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.integration

SCRIPT = """
version = 1
[[replies]]
times = 0
text = "Hello from the script."
"""
ASK = """
import http.client, json, os
from urllib.parse import urlsplit
from ptycassette import open_draws
draws = open_draws()
lot, moment = draws.random(), draws.now()
base = urlsplit(os.environ["OPENAI_BASE_URL"])
link = http.client.HTTPConnection(base.hostname, base.port, timeout=120)
said = [{"role": "user", "content": f"my lot is {lot}, {moment}, {draws.randbytes(4).hex()}"}]
link.request("POST", f"{base.path}/chat/completions",
             json.dumps({"model": "m", "messages": said}), {"content-type": "application/json"})
link.getresponse().read()
"""
SWALLOWED = "try:\n    draws.{}()\nexcept Exception:\n    pass\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with three draws, recorded; none of them is on its screen."""
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "ask.py").write_text(ASK)
    return taped(folder, SCRIPT, "ask.cassette", sys.executable, "ask.py")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("program", "changes"),
    [
        (ASK, ()),
        (ASK + SWALLOWED.format("uuid4"), ("draw 4 is a uuid4, and none is left",)),
        (ASK.replace("draws.now()", "draws.uuid4()"), ("draw 2 was time_ns() in the recording",)),
        (
            ASK.replace("draws.now()", "'2026-01-01 00:00:00'").replace(
                "draws.randbytes(4).hex()", "'00000000'"
            ),
            ("2 of 3 recorded draws were not made; the next is a time_ns",),
        ),
    ],
    ids=["the same", "one too many", "another kind", "missing"],
)
def test_draws_are_served_and_proved(
    recorded: Path, tmp_path: Path, program: str, changes: tuple[str, ...]
) -> None:
    """Also where the program swallows the error and ends well."""
    (tmp_path / "ask.py").write_text(program)
    with open_cassette(recorded) as cassette:
        drawn = drawn_in(event.payload for event in cassette.service_events())
        report = rerun(cassette, RerunOptions(trusted=True, cwd=tmp_path, patience_s=15))

    assert [draw.kind for draw in drawn.draws] == ["random", "time_ns", "randbytes"]
    assert report.draws == 3
    assert len(report.draw_changes) == len(changes)
    for found, expected in zip(report.draw_changes, changes, strict=True):
        assert found.startswith(expected)
    assert report.passed == (not changes)
    assert (report.fingerprint == report.expected_fingerprint) == (program.startswith(ASK))


def test_draws_without_a_tape_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that asks no provider is rerun, too; alone, and among the cassettes of a folder."""
    program = "from ptycassette import open_draws\nprint(open_draws().uuid4())\n"
    (tmp_path / "draw.py").write_text(program)
    (tmp_path / "plain.py").write_text("print('no draw')\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library").mkdir()
    for name in ("draw", "plain"):
        path = tmp_path / "library" / f"{name}.cassette"
        with record([sys.executable, f"{name}.py"], path) as session:
            session.wait_exit(timeout_s=PATIENCE_S)
    drawn = tmp_path / "library" / "draw.cassette"
    report = rerun_cassette(drawn, trusted=True, cwd=tmp_path)
    assert (report.passed, report.draws, report.entries) == (True, 1, 0)

    assert main(["rerun", "--trust", "--copy", ".", "library"]) == 0
    assert "plain" not in capfd.readouterr().out
    with pytest.raises(MissingFileError, match="tape"):
        rerun_cassette(tmp_path / "library" / "plain.cassette", trusted=True, cwd=tmp_path)
