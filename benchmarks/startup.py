"""How long commands take to start, and a run of pytest with our plugin.

Commands are measured beside an interpreter that imports click. A run of pytest with one empty test,
and ones with one ``use`` or ``use_tape``, are measured beside a run without the plugin. For these
the processor time counts. Plugins of others are left out, and nothing compiled is written, as in
most containers. The first and the second replayed body of a process are measured beside the same
call of the OpenAI SDK to a transport that answers at once; each makes a client.
Measure it in an installed copy as well: pytest rewrites what an installed plugin loads.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measuring import Report, alternate, machine, run
from ptycassette import model, tool_call, use_tape
from ptycassette.model.records import Output
from ptycassette.testing import write_cassette

__all__ = ["measure"]

CLI = "import sys; from ptycassette.cli import main; sys.exit(main({!r}))"


def started(code: str) -> Callable[[], float]:
    """Runs an interpreter; returns the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    return run


EMPTY = "def test_it(): pass\n"
USE = """
from ptycassette import use
def test_it():
    with use("c.cassette") as session:
        session.wait_for_text("hello")
"""

TAPE = """
from ptycassette import tape_tool, use_tape
@tape_tool(replay="serve")
def look_up(word): return [word]
@use_tape("t.cassette")
def test_it():
    assert look_up("milk") == ["milk"]
"""

SDK = """
import json, sys, time
import openai, httpx
from ptycassette import use_tape

def asked(**options):
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="made-up", **options)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "milk"}])

def answered(request):
    message = {"role": "assistant", "content": "yes"}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    data = json.dumps({**answer, "choices": choices}).encode()
    kind = {"content-type": "application/json"}
    return httpx.Response(200, headers=kind, stream=httpx.ByteStream(data))

def bare():
    asked(http_client=httpx.Client(transport=httpx.MockTransport(answered)))

def replayed():
    with use_tape("sdk.cassette"):
        asked()

def timed(body):
    start = time.perf_counter()
    body()
    return time.perf_counter() - start
"""


def body(folder: Path, code: str) -> Callable[[], float]:
    """Runs an interpreter with the SDK; returns the seconds that ``code`` has for one body."""

    def run() -> float:
        command = [sys.executable, "-c", f"{SDK}\nprint({code})"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
        return float(done.stdout.split()[-1])

    return run


def first_bodies(report: Report, folder: Path, runs: int) -> None:
    """Add the first replayed bodies with an SDK."""
    if find_spec("openai") is None:
        report.notes.append("the OpenAI SDK is not installed: no replayed bodies were measured")
        return
    recording = f"{SDK}\nwith use_tape('sdk.cassette', mode='record'): bare()"
    subprocess.run([sys.executable, "-c", recording], cwd=folder, check=True)
    contenders = {
        "the SDK alone, first call": body(folder, "timed(bare)"),
        "use_tape, first body": body(folder, "timed(replayed)"),
        "use_tape, second body": body(folder, "(timed(replayed), timed(replayed))[1]"),
    }
    times = alternate(contenders, runs)
    report.add("a replayed body", "ms", times, base="the SDK alone, first call", scale=1000)


def tested(folder: Path, test: str, *words: str) -> Callable[[], float]:
    """Runs one test; returns the seconds of the processor that it took."""
    pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    quiet = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def run() -> float:
        process = subprocess.Popen(
            [*pytest, *words, test],
            cwd=folder,
            env={**os.environ, **quiet},
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{test} ended with {process.returncode}")
        return used.ru_utime + used.ru_stime

    return run


def measure(*, quick: bool = False) -> Report:
    """Everything above, alternating."""
    report = Report(name="startup", title="Start-up", machine=machine())
    contenders = {
        "python -c 'import click'": started("import click"),
        "python -c 'import ptycassette'": started("import ptycassette"),
        "ptycassette --help": started(CLI.format(["--help"])),
        "ptycassette rec --help": started(CLI.format(["rec", "--help"])),
    }
    times = alternate(contenders, 5 if quick else 25)
    report.add("start-up", "ms", times, base="python -c 'import click'", scale=1000)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        compileall.compile_dir(Path(model.__file__).parents[1], quiet=1)
        write_cassette(folder / "c.cassette", Output(0, b"hello"))
        (folder / "test_empty.py").write_text(EMPTY)
        (folder / "test_use.py").write_text(USE)
        (folder / "test_tape.py").write_text(TAPE)
        recording = use_tape(folder / "t.cassette", mode="record")
        with recording, tool_call("look_up", {"word": "milk"}) as call:
            call.result = ["milk"]
        plugin = ("-p", "ptycassette.pytest_plugin.plugin")
        runs = {
            "pytest without us, an empty test": tested(folder, "test_empty.py"),
            "pytest, an empty test": tested(folder, "test_empty.py", *plugin),
            "pytest, a test with one use": tested(folder, "test_use.py", *plugin),
            "pytest, a test with one use_tape": tested(folder, "test_tape.py", *plugin),
        }
        times = alternate(runs, 3 if quick else 15)
        report.add("pytest", "ms", times, base="pytest without us, an empty test", scale=1000)
        first_bodies(report, folder, 3 if quick else 15)
    return report


if __name__ == "__main__":
    run(measure)
