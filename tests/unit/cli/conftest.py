"""Running the command line inside the test, and golden texts of what it prints."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ptycassette.cli import main
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    FrameRecord,
    Noted,
    Output,
    Resized,
    Typed,
)
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.testing import manifest_of, write_cassette

GOLDEN = Path(__file__).parent / "golden"
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


class Ran(msgspec.Struct, frozen=True):
    """What a run of the command line gave."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Stdout as text."""
        return self.out.decode()


Run = Callable[..., Ran]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run ``ptycassette ARGS``; descriptors are captured, not objects, as a shell does."""

    def ran(*args: object) -> Ran:
        status = main([str(arg) for arg in args])
        captured = capfdbinary.readouterr()
        return Ran(status, captured.out, captured.err.decode())

    return ran


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare with a golden file; PTYCASSETTE_UPDATE_GOLDEN=1 writes it instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("PTYCASSETTE_UPDATE_GOLDEN") == "1":
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is new: run this test with PTYCASSETTE_UPDATE_GOLDEN=1"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def in_fixtures(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in the folder of fixtures, so that what is printed names no machine."""
    monkeypatch.chdir(FIXTURES)
    return FIXTURES


def _frame(t_us: int, text: tuple[str, ...], **more: object) -> FrameRecord:
    fields: dict[str, object] = {
        "size": Size(rows=len(text), cols=20),
        "cursor": Cursor(row=0, col=2),
        "raw_start": 0,
        "raw_end": 0,
        "parser_offset": 0,
    }
    return FrameRecord(seq=0, t_ms=t_us // 1000, t_us=t_us, text=text, **(fields | more))  # type: ignore[arg-type]


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A short session with a bit of everything."""
    path = tmp_path / "short.cassette"
    write_cassette(
        path,
        Output(100_000, b"$ "),
        _frame(200_000, ("$", "", "", "")),
        Typed(1_000_000, b"ls\r", key="enter"),
        Output(1_200_000, b"ls\r\n\x1b[1;34mdir\x1b[0m\r\n"),
        Noted(1_300_000, {"type": "hook"}),
        _frame(
            1_400_000,
            ("$ ls", "dir", "", ""),
            cursor=Cursor(row=2, col=0),
            title="<t>",
            styles=((), (StyleRun(0, 3, Style(fg=4, bold=True)),), (), ()),
        ),
        Resized(2_000_000, Size(rows=5, cols=30)),
        Output(2_100_000, b"\x1b]0;title\x07caf\xc3\xa9\xff"),
        Finished(t_us=3_000_000, exit=ExitStatus(code=0, exited=True, signaled=False)),
        manifest=manifest_of(size=Size(rows=4, cols=20), argv=("bash", "-i")),
    )
    return path


EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\u202e\u200b\x07\x08[bold]<script>"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A valid cassette in which every text that can be chosen tries to act."""
    path = tmp_path / "host\x1b[31mile"
    base = manifest_of(size=Size(rows=4, cols=40), argv=("sh", EVIL))
    manifest = msgspec.structs.replace(
        base,
        harness=msgspec.structs.replace(base.harness, name=EVIL, binary_version=EVIL),
        provenance=msgspec.structs.replace(
            base.provenance, os=EVIL, arch=EVIL, recorder_version=EVIL
        ),
        terminal=msgspec.structs.replace(base.terminal, term=EVIL, locale=EVIL),
        optional={"title": EVIL, EVIL: 1},
    )
    evil = EVIL.encode()
    write_cassette(
        path,
        Output(1_000, evil),
        Typed(2_000, evil, key=EVIL, source=EVIL),
        Noted(3_000, {EVIL: EVIL}),
        _frame(3_000, (EVIL, EVIL), title=EVIL),
        _frame(3_100, ("", EVIL[::-1]), title=EVIL[::-1]),
        Output(4_000, b"\r\n" + evil + b"\x1b]0;" + evil),
        Finished(t_us=5_000, exit=ExitStatus(code=-1, signal=EVIL, exited=False, signaled=True)),
        manifest=manifest,
    )
    return path
