"""kill -9 while a tape is recorded: nothing that was served is lost, and what is left runs again.

``python -m benchmarks.tape_kills [--points N] [--seed S] [recorder saver proxy]``

``rec --tape`` records a client that asks a streaming provider question after question, and writes
down each piece as it gets it. One process is killed, at a moment of its whole life, publishing
included. Then the journal is recovered, if one was left. Looked for are

- every piece that the client had: on the tape of the cassette, or of the diagnostic where the run
  was a failed one (the proxy died);
- a cassette that verifies, whose rerun asks for all of its tape and finds no damage.

A figure other than 0 in the last three columns ends it with 1.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import psutil

from benchmarks.kills import run_kills
from ptycassette.agents.rerun.io.driving import rerun_cassette
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.system.files.state_dirs import journal_dir

VICTIMS = ("recorder", "saver", "proxy")
_QUESTIONS, _PIECES = 12, 20
_PATIENCE_S = 60.0
_WHILE_SERVED = 0.75
"""The part of the kills that come while questions are answered; the others come afterwards."""
CLIENT = """
import http.client, json, os, sys
from urllib.parse import urlsplit
log, questions = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), sys.argv[2]
base = urlsplit(os.environ["OPENAI_BASE_URL"])
for number in range(int(questions)):
    connection = http.client.HTTPConnection(base.hostname, base.port, timeout=120)
    said = [{"role": "user", "content": f"question {number}"}]
    connection.request("POST", base.path + "/chat/completions",
                       json.dumps({"model": "m-1", "messages": said}),
                       {"content-type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"status {answer.status}")
    for line in answer:
        if line.startswith(b"data:"):
            os.write(log, line)
            print(line.decode()[:70].rstrip(), flush=True)
    connection.close()
"""


class Outcome(msgspec.Struct, kw_only=True):
    """What came of a number of kills. The last three are the figures that must be 0."""

    points: int = 0
    killed: int = 0
    published: int = 0
    recovered: int = 0
    diagnostics: int = 0
    nothing: int = 0
    pieces: int = 0
    lost: int = 0
    broken: int = 0
    unequal: int = 0
    failures: list[str] = []

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.lost or self.broken or self.unequal)


class _Provider(BaseHTTPRequestHandler):
    """Streams pieces that occur once, a millisecond or two apart."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        number = json.loads(body)["messages"][-1]["content"].rpartition(" ")[2]
        self.send_response_only(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with suppress(ConnectionError):
            for piece in range(_PIECES):
                noise = random.Random(f"{number} {piece}").randbytes(400).hex()  # noqa: S311
                data = f"data: <{number}.{piece}> {noise}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                time.sleep(0.002)
            self.wfile.write(b"0\r\n\r\n")

    def handle(self) -> None:
        """Serve a client that may be killed."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _state(folder: Path) -> str:
    return f"{folder}.state"


def _started(folder: Path, url: str, questions: int) -> subprocess.Popen[bytes]:
    (folder / "client.py").write_text(CLIENT)
    command = [sys.executable, "-m", "ptycassette", "rec", "-q", "--headless", "--tape"]
    command += ["--provider", url, "a.cassette", "--", sys.executable, "-I", "client.py"]
    return subprocess.Popen(
        [*command, "served.log", str(questions)],
        cwd=folder,
        env={**os.environ, "PTYCASSETTE_STATE_DIR": _state(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _victim(recorder: int, what: str) -> psutil.Process | None:
    """The process to kill; None if there is none now."""
    with suppress(psutil.Error):
        process = psutil.Process(recorder)
        if what == "recorder":
            return process
        own = process.cmdline()  # the saver is a fork of the recorder
        for child in process.children():
            words = child.cmdline()
            if words == own if what == "saver" else "ptycassette.tape.io.proxy_process" in words:
                return child
    return None


def _served(folder: Path) -> list[bytes]:
    """What the client had, piece by piece."""
    log = folder / "served.log"
    return log.read_bytes().splitlines() if log.exists() else []


def _answers_of(folder: Path) -> bytes:
    """All answers of a diagnostic's tape, which no reader opens."""
    bodies = (folder / "tape-bodies.bin").read_bytes()
    lines = (folder / "tape.jsonl").read_bytes().splitlines()
    answers = [json.loads(line).get("answer") or {} for line in lines]
    found = [answer["body"] for answer in answers if "body" in answer]
    return b"".join(zlib.decompress(bodies[one["at"] : one["at"] + one["packed"]]) for one in found)


def _judge(outcome: Outcome, folder: Path, at: str) -> None:
    """Recover what is left, and look for what was served."""
    outcome.points += 1
    target, served = folder / "a.cassette", _served(folder)
    outcome.pieces += len(served)
    state = {"PTYCASSETTE_STATE_DIR": _state(folder)}
    try:
        journals = [Path(left.path) for left in left_journals(journal_dir(state))]
        for journal in journals:
            recover(journal)
        diagnostic = folder / "a.cassette.diagnostic"
        if target.exists():
            kind = "recovered" if journals else "published"
            verify_cassette(str(target))
            with open_cassette(target) as cassette:
                kept = b"".join(one.answer() for one in cassette.tape())
        elif diagnostic.exists():
            kind, kept = "diagnostics", _answers_of(diagnostic)
        else:
            kind, kept = "nothing", b""
    except Exception as wrong:  # noqa: BLE001 - that is what is counted
        outcome.broken += 1
        outcome.failures.append(f"{at}: {wrong!r}")
        return
    setattr(outcome, kind, getattr(outcome, kind) + 1)
    lost = sum(piece not in kept for piece in served)
    if lost:
        outcome.lost += lost
        outcome.failures.append(f"{at}: {lost} of {len(served)} pieces are not on the tape")
    if target.exists():
        report = rerun_cassette(target, trusted=True, copied=folder, patience_s=_PATIENCE_S)
        if report.damage or report.unasked or report.matched != report.entries:
            outcome.unequal += 1
            outcome.failures.append(f"{at}: {report.damage} {report.misses} {report.unasked}")


def kill(what: str, points: int, *, seed: int = 1, questions: int = _QUESTIONS) -> Outcome:
    """Kill one of the processes of a recording, ``points`` times, at moments of its life."""
    outcome = Outcome()
    chance = random.Random(f"{seed} {what}")  # noqa: S311 - moments, not secrets
    with tempfile.TemporaryDirectory(prefix="kills-") as made, _provider() as url:
        whole = Path(made, "whole")
        whole.mkdir()
        process = _started(whole, url, questions)
        _until_served(process, whole, questions * _PIECES)
        began = time.monotonic()
        process.wait()
        saving_s = time.monotonic() - began
        for number in range(points):
            folder = Path(made, str(number))
            folder.mkdir()
            pieces = min(1, (number + chance.random()) / (points * _WHILE_SERVED)) * questions
            wait_s = saving_s * chance.random() if pieces == questions else 0.0
            process = _started(folder, url, questions)
            _until_served(process, folder, round(pieces * _PIECES))
            with suppress(subprocess.TimeoutExpired):
                process.wait(wait_s)
            victim = _victim(process.pid, what)
            if victim is not None:
                with suppress(psutil.Error):
                    victim.kill()
                outcome.killed += 1
            process.wait()
            _judge(
                outcome, folder, f"{what} killed at piece {pieces * _PIECES:.0f} + {wait_s:.3f} s"
            )
    return outcome


def _until_served(process: subprocess.Popen[bytes], folder: Path, pieces: int) -> None:
    """Wait until the client has had so many pieces."""
    while process.poll() is None and len(_served(folder)) < pieces:
        time.sleep(0.001)


def _line(done: Outcome) -> str:
    return (
        f"{done.killed} kills in {done.points} runs ({done.recovered} recovered,"
        f" {done.published} published,"
        f" {done.diagnostics} diagnostics, {done.nothing} nothing), {done.pieces} pieces"
        f" served: {done.lost} lost, {done.broken} broken, {done.unequal} reruns unequal"
    )


def main() -> int:
    """Kill what is named, everything when nothing is; the exit status."""
    return run_kills(VICTIMS, kill, _line, about=__doc__, points=20)


if __name__ == "__main__":
    raise SystemExit(main())
