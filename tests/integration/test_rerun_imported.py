"""Traffic of other tools runs again: the program that sent it is answered from the file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette import open_cassette
from tests.commands import ptycassette, taped

pytestmark = pytest.mark.integration

SCRIPT = """
version = 1
[[replies]]
when = { prompt_contains = "one" }
text = "first answer"
[[replies]]
when = { prompt_contains = "two" }
text = "second answer"
"""
CLIENT = """
import json, os, sys, urllib.request
for text in sys.argv[1:]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "accept": "*/*", "authorization": "Bearer none"})
    with urllib.request.urlopen(asked) as answer:
        print(json.load(answer)["choices"][0]["message"]["content"])
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client that asked twice."""
    folder = tmp_path_factory.mktemp("recorded")
    return taped(folder, SCRIPT, "a.cassette", sys.executable, "-I", "-c", CLIENT, "one", "two")


def as_har(recorded: Path) -> bytes:
    """The tape as an archive."""
    path = recorded.parent / "a.har"
    ptycassette("export", "--overwrite", str(recorded), str(path), status=0)
    return path.read_bytes()


def as_vcr(recorded: Path) -> bytes:
    """The tape as a cassette of vcrpy."""
    path = recorded.parent / "a.yaml"
    words = ("export", "--overwrite", "--format", "vcr", str(recorded), str(path))
    ptycassette(*words, status=0)
    return path.read_bytes()


def as_trace(recorded: Path, **more: Any) -> bytes:
    """A trace of the bodies, without headers."""
    lines = []
    with open_cassette(recorded) as cassette:
        for number, one in enumerate(cassette.tape()):
            line = {
                "url": one.entry.upstream + one.entry.target,
                "request": {**json.loads(one.question()), **more},
                "response": json.loads(one.answer()),
                "timestamp": f"2026-01-01T00:00:0{number}Z",
            }
            lines.append(json.dumps(line).encode())
    return b"\n".join(lines)


def with_tools(recorded: Path) -> bytes:
    """The same, with a line of a tool and a member that is for people."""
    tool = {"kind": "tool", "request": {"name": "refund", "arguments": {}}, "result": True}
    line = json.dumps({**tool, "timestamp": "2026-01-01T00:00:00Z"}).encode()
    return as_trace(recorded, provider="openai") + b"\n" + line


def as_otel(recorded: Path) -> bytes:
    """The tape as telemetry, which does not hold what was sent."""
    path = recorded.parent / "a.otlp.json"
    words = ("export", "--overwrite", "--format", "otel", str(recorded), str(path))
    ptycassette(*words, status=0)
    return path.read_bytes()


FILES: dict[str, Callable[[Path], bytes]] = {
    "a.har": as_har,
    "a.yaml": as_vcr,
    "a.jsonl": as_trace,
    "tools.jsonl": with_tools,
    "a.otlp.json": as_otel,
}


def again(made: Path, cwd: Path, *asked: str) -> tuple[int, dict[str, Any]]:
    """The status of a rerun, and its report."""
    words = ("rerun", "--trust", "--json", "--patience", "1", "--cwd", str(cwd), str(made))
    ran = ptycassette(*words, "--", sys.executable, "-I", "-c", CLIENT, *asked)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


@pytest.mark.parametrize("name", FILES)
def test_the_program_that_sent_it_passes(name: str, recorded: Path, tmp_path: Path) -> None:
    """What the file does not hold (headers, times, the end) is not compared; the rest is."""
    (tmp_path / name).write_bytes(FILES[name](recorded))
    made = tmp_path / "made.cassette"
    ptycassette("import", str(tmp_path / name), "-o", str(made), status=0)
    status, report = again(made, tmp_path, "one", "two")

    assert (status, report["passed"], report["matched"]) == (0, True, 2), report
    assert any("how the program ended" in note for note in report["notes"])
    status, report = again(made, tmp_path, "one", "three")
    assert (status, report["unasked"]) == (1, [2])
    assert report["misses"][0]["differences"] == [
        "messages[0].content: recorded two, now three"
    ], report  # fmt: skip


def test_headers_that_a_file_holds_are_compared(recorded: Path, tmp_path: Path) -> None:
    """An archive has them: another one is another question."""
    data = as_har(recorded)
    assert b'"*/*"' in data
    (tmp_path / "a.har").write_bytes(data.replace(b'"*/*"', b'"text/html"'))
    made = tmp_path / "made.cassette"
    ptycassette("import", str(tmp_path / "a.har"), "-o", str(made), status=0)
    status, report = again(made, tmp_path, "one", "two")

    assert status == 1
    assert report["misses"][0]["differences"] == ["accept: recorded text/html, now */*"]
