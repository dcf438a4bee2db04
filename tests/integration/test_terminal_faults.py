"""A fault of the terminal breaks a driver that is not ready for it, and is survived by one that is.

Two drivers, each of some forty lines: one believes what it read about terminals in an afternoon,
the other one waits for what it needs, tries again, and says so when there is nothing to be done.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ptycassette.agents.faults.registry import TERMINAL_FAULTS
from ptycassette.model.records import ExitStatus, Finished, FrameRecord, Output, Resized, Typed
from ptycassette.model.screen import Cursor, Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.testing import manifest_of, write_cassette

pytestmark = pytest.mark.integration

SIZE, LATER = Size(10, 40), Size(12, 50)
ANSWER = "Answer: " + "é" * 20
SESSION = (
    Output(0, b"\x1b[2J\x1b[HAgent\r\n> "),
    FrameRecord(
        seq=0,
        t_ms=100,
        size=SIZE,
        text=("Agent", ">"),
        cursor=Cursor(1, 2, visible=True),
        raw_start=0,
        raw_end=17,
        parser_offset=17,
    ),
    Typed(200_000, b"hi"),
    Output(210_000, b"hi"),
    Typed(300_000, b"\r"),
    Output(310_000, b"\r\n\x1b[36mThinking\x1b[0m"),
    Output(600_000, f"\r\x1b[K{ANSWER}".encode()),
    Output(700_000, b" done\r\n> "),
    Resized(800_000, LATER),
    Output(850_000, b"\x1b[2J\x1b[Hrepainted\r\n> "),
    Typed(1_000_000, b"/quit"),
    Output(1_010_000, b"/quit"),
    Typed(1_020_000, b"\r"),
    Output(1_030_000, b"\r\nbye\r\n"),
    Finished(t_us=1_100_000, exit=ExitStatus(code=0, exited=True, signaled=False)),
)
# What a driver waits for comes at once but for a fault; a busy machine holds it up for a moment.
SHORT_S, LONG_S = 5.0, 20.0
GIVEN = {"stall": "stall:10"}
PROMPT = re.compile(r"[^\w\s] ?")


class AgentGoneError(Exception):
    """What a good driver says of a bad agent."""


class Driver:
    """A PTY, its screen, and its end."""

    def __init__(self, child: pexpect.spawn[Any]) -> None:
        self.child, self.fd = child, child.child_fd
        self.screen, self.moved_at = PyteEmulator(SIZE), time.monotonic()
        self.ended = False

    def read(self, timeout_s: float) -> bytes:
        """What comes next; nothing at the end, or in time."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return b""
        with contextlib.suppress(OSError):
            if data := os.read(self.fd, 65536):
                self.screen.feed(data)
                self.moved_at = time.monotonic()
                return data
        self.ended = True
        return b""

    def send(self, data: bytes) -> None:
        """Type."""
        with contextlib.suppress(OSError):
            os.write(self.fd, data)

    def status(self) -> int | None:
        """How it ended: 0, a status, or minus a signal."""
        self.child.wait()
        return self.child.exitstatus or -(self.child.signalstatus or 0)

    def resize(self) -> None:
        """The other size."""
        with contextlib.suppress(OSError):
            self.child.setwinsize(LATER.rows, LATER.cols)
        self.screen.resize(LATER)

    @property
    def rows(self) -> list[str]:
        """The rows with something on them."""
        return [row for row in self.screen.snapshot().rows if row]


class Naive(Driver):
    """Knows the prompt, types at once, decodes what it reads, takes the end for an answer."""

    def until(self, shown: Callable[[], bool], timeout_s: float = SHORT_S) -> None:
        """Wait for it."""
        deadline = time.monotonic() + timeout_s
        while not shown():
            left = deadline - time.monotonic()
            if left < 0:
                raise TimeoutError(self.rows)
            self.read(left).decode()
            if self.ended:
                return

    def run(self) -> str:
        """The answer."""
        self.until(lambda: bool(self.rows), 10 * LONG_S)  # a stand-in has to start
        self.until(lambda: self.rows[-1:] == [">"])
        self.send(b"hi\r")
        self.until(lambda: "Thinking" in self.rows)
        self.until(lambda: self.rows[-1:] == [">"])
        answer = self.rows[-2]
        self.resize()
        self.until(lambda: self.rows[:1] == ["repainted"])
        self.send(b"/quit\r")
        self.until(lambda: self.ended)
        return answer


class Ready(Driver):
    """Waits for quiet, looks at what is there, tries again, and knows when it is over."""

    def until(self, shown: Callable[[], bool], timeout_s: float = LONG_S) -> bool:
        """Whether it came."""
        deadline = time.monotonic() + timeout_s
        while not (found := shown()) and time.monotonic() < deadline and not self.ended:
            self.read(0.05)
        return found

    def quiet(self) -> bool:
        """Nothing moves."""
        return time.monotonic() - self.moved_at > 0.3

    def prompt(self) -> bool:
        """Whatever its glyph is."""
        return bool(self.rows) and bool(PROMPT.fullmatch(self.rows[-1])) and self.quiet()

    def gone(self, why: str) -> AgentGoneError:
        """End it."""
        self.send(b"\x03")
        self.until(lambda: self.ended, SHORT_S)
        return AgentGoneError(why)

    def looked(self) -> None:
        """Deal with what stands in the way."""
        text = " ".join(self.rows)
        if "not signed in" in text:
            raise self.gone("not signed in")
        if "trust" in text or "usage limit" in text:
            self.send(b"\r")
            self.until(self.prompt)

    def submit(self, text: str) -> None:
        """Type, and see to it that it is sent."""
        self.send(text.encode())
        self.until(lambda: text in self.rows[-1])
        for _ in range(3):
            self.until(self.quiet)
            before = self.rows
            self.send(b"\r")
            if self.until(lambda before=before: self.rows != before, SHORT_S):  # type: ignore[misc]
                return

    def run(self) -> str:
        """The answer.

        Raises:
            AgentGoneError: there is none.
        """
        self.until(lambda: bool(self.rows) and self.quiet(), 10 * LONG_S)
        self.looked()
        self.until(self.prompt)
        self.submit("hi")
        if "usage limit" in " ".join(self.rows):
            self.looked()
            self.until(self.quiet)
            self.send(b"\r")
        if not self.until(self.prompt) or self.ended:
            raise self.gone(f"no answer: {self.rows[-1]}")
        answer = self.rows[-2]
        self.resize()
        self.until(lambda: self.rows[:1] == ["repainted"], SHORT_S)
        self.submit("/quit")
        self.until(lambda: self.ended)
        if status := self.status():
            raise AgentGoneError(f"ended with {status}")
        return answer


def met(kind: type[Any], cassette: Path, fault: str, place: Path) -> tuple[str, dict[str, Any]]:
    """What a driver makes of a fault: ``ok``, or the name of its error; and the report."""
    report = place / f"{kind.__name__}.json"
    option = ["--fault", GIVEN.get(fault, fault)] if fault else []
    command = str(Path(sys.executable).with_name("ptycassette"))
    argv = [command, "stand-in", "--speed", "1", *option, "--report", str(report), str(cassette)]
    child = pexpect.spawn(argv[0], argv[1:], dimensions=(SIZE.rows, SIZE.cols))
    driver = kind(child)
    try:
        outcome = "ok" if driver.run() == f"{ANSWER} done" else "wrong"
        if kind is Naive and driver.status():
            outcome = "unnoticed"
    except (TimeoutError, UnicodeDecodeError, AgentGoneError) as failed:
        outcome = type(failed).__name__
    finally:
        child.close(force=True)
    return outcome, json.loads(report.read_text())


@pytest.fixture(scope="module")
def cassette(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent of one question."""
    path = tmp_path_factory.mktemp("agent") / "agent.cassette"
    write_cassette(path, *SESSION, manifest=manifest_of(size=SIZE))
    return path


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(name, marks=() if name in {"", "chunks-split"} else pytest.mark.slow)
        for name in ("", *TERMINAL_FAULTS)
    ],
)
def test_a_fault_breaks_who_is_not_ready(cassette: Path, tmp_path: Path, fault: str) -> None:
    """And whoever is gets the answer, or says that there is none."""
    naive, _ = met(Naive, cassette, fault, tmp_path)
    ready, report = met(Ready, cassette, fault, tmp_path)

    fatal = bool(fault) and TERMINAL_FAULTS[fault].fatal
    assert (naive == "ok") == (not fault)
    assert ready == ("AgentGoneError" if fatal else "ok")
    assert (report["fault"], report["fault_met"]) == (GIVEN.get(fault, fault), bool(fault))
    assert report["divergences"] == []
