"""The stand-in under drivers of the JavaScript world: node-pty and Microsoft's tui-test.

Both come from the npm registry; PTYCASSETTE_NODE_MODULES names the directory in which
``npm install node-pty @microsoft/tui-test`` was run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette
from ptycassette.formats.importing.io.importer import import_file, import_of
from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.testing import write_cassette

# test_standin reaches the same branches without Node.
pytestmark = [pytest.mark.integration, pytest.mark.slow]
PTYCASSETTE = str(Path(sys.executable).with_name("ptycassette"))


class Playground:
    """A directory with the packages in reach, and a cassette."""

    def __init__(self, place: Path, modules: Path) -> None:
        self.place = place
        self.report = place / "report.json"
        self.cassette = place / "hello.cassette"
        self.modules = modules / "node_modules"
        (place / "package.json").write_text('{"name": "t", "type": "module", "private": true}')
        write_cassette(
            self.cassette, Output(0, b"hello\r\n> "), Typed(1000, b"h"), Output(2000, b"h"),
            Typed(3000, b"i"), Output(4000, b"i"), Typed(5000, b"\r"),
            Output(6000, b"\r\n\x1b[1mbye\x1b[0m\r\n"),
            Finished(t_us=7000, exit=ExitStatus(code=3, exited=True, signaled=False)),
        )  # fmt: skip

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program there."""
        return subprocess.run(
            words, cwd=self.place, capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, "PTYCASSETTE_REPORT": str(self.report)},
        )  # fmt: skip

    def result(self) -> Any:
        """What the stand-in reported."""
        return json.loads(self.report.read_text())["result"]


@pytest.fixture
def playground() -> Iterator[Playground]:
    """Skips where the packages are not installed; lies beside them, where node looks for them."""
    modules = os.environ.get("PTYCASSETTE_NODE_MODULES", "")
    if shutil.which("node") is None or not (Path(modules) / "node_modules" / "node-pty").is_dir():
        pytest.skip("node-pty is not installed (PTYCASSETTE_NODE_MODULES)")
    with tempfile.TemporaryDirectory(dir=modules, prefix="play-") as place:
        yield Playground(Path(place).resolve(), Path(modules).resolve())


NODE_PTY = """
import pty from 'node-pty';
const child = pty.spawn(process.argv[2], ['stand-in', process.argv[3]], {cols: 80, rows: 24});
let output = '', sent = false;
child.onData(data => {
  output += data;
  if (!sent && output.includes('> ')) { sent = true; child.write('hi\\r'); }
});
child.onExit(end => console.log(JSON.stringify({output, ...end})));
"""


def test_node_pty_cannot_tell_the_difference(playground: Playground) -> None:
    """Output, exit code, signal."""
    (playground.place / "drive.js").write_text(NODE_PTY)
    ran = playground.run("node", "drive.js", PTYCASSETTE, str(playground.cassette))

    assert json.loads(ran.stdout) == {
        "output": "hello\r\n> hi\r\n\x1b[1mbye\x1b[0m\r\n", "exitCode": 3, "signal": 0,
    }  # fmt: skip
    assert playground.result() == "passed"


TUI_TEST = """
import { test, expect } from "@microsoft/tui-test";
test.use({
  program: { file: FILE, args: ["stand-in", CASSETTE] }, columns: 80, rows: 24,
  env: { ...process.env },
});
test("a recorded program", async ({ terminal }) => {
  await expect(terminal.getByText(">")).toBeVisible();
  terminal.write("hi\\r");
  await expect(terminal.getByText("bye")).toBeVisible();
});
"""


def test_tui_test_cannot_tell_the_difference(playground: Playground) -> None:
    """Microsoft's end-to-end test runner for terminal programs; its trace holds what it showed."""
    runner = playground.modules / "@microsoft" / "tui-test" / "index.js"
    if not runner.exists():
        pytest.skip("@microsoft/tui-test is not installed")
    source = TUI_TEST.replace("FILE", json.dumps(PTYCASSETTE))
    source = source.replace("CASSETTE", json.dumps(str(playground.cassette)))
    (playground.place / "hello.test.ts").write_text(source)
    ran = playground.run("node", str(runner), "hello.test.ts", "--trace")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
    (trace,) = (playground.place / "tui-traces").iterdir()
    import_file(trace, playground.place / "traced", by=import_of(trace))
    with (
        open_cassette(playground.cassette) as shown,
        open_cassette(playground.place / "traced") as traced,
    ):
        assert b"".join(traced.raw()) == b"".join(shown.raw())

    assert playground.result() == "passed"
