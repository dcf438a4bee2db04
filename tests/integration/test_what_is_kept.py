"""What is left of a run, for every way to record and to end: the table of docs/recording.md."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ptycassette import arecord, open_cassette, record, use
from ptycassette.errors import (
    CassetteError,
    RefusedError,
    RunFailedError,
    SpawnError,
    WaitTimeoutError,
)
from ptycassette.testing import ManualClock, ScriptedPty

pytestmark = pytest.mark.integration

Way = Callable[[Path, Any, Any], None]
FAILED: dict[str, Any] = {"code": 3}
KILLED: dict[str, Any] = {"signal": "kill"}


def options(shown: str, end: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A scripted program that shows something and ends so; None runs on."""
    clock = ManualClock()
    pty = ScriptedPty(clock)
    if shown:
        pty.say(shown)
    if end is not None:
        pty.exits(**end)
    return {"pty": pty, "clock": clock, "sleeper": clock, **more}


def by_record(path: Path, given: Any, block: Any) -> None:
    """``record``."""
    with record(["x"], path, overwrite=True, **given) as session:
        block(session)


def by_arecord(path: Path, given: Any, block: Any) -> None:
    """``arecord``."""

    async def run() -> None:
        async with arecord(["x"], path, overwrite=True, **given) as session:
            with suppress(CassetteError):
                await session.wait_exit()
            block(None)

    asyncio.run(run())


def by_use(path: Path, given: Any, block: Any) -> None:
    """``use`` in mode record."""
    with use(path, ["x"], mode="record", **given) as session:
        block(session)


def by_async_use(path: Path, given: Any, block: Any) -> None:
    """``use`` in mode record, in an event loop."""

    async def run() -> None:
        async with use(path, ["x"], mode="record", **given) as session:
            with suppress(CassetteError):
                await session.wait_exit()
            block(None)

    asyncio.run(run())


ALL = [by_record, by_arecord, by_use, by_async_use]


def quiet(session: Any) -> None:
    """A block that minds nothing."""
    if session is not None:
        session.wait_exit()


def raising(session: Any) -> None:
    """A block that fails."""
    del session
    raise KeyError("x")


def interrupted(session: Any) -> None:
    """A block that is broken off."""
    del session
    raise KeyboardInterrupt


def good(path: Path) -> bytes:
    """A good cassette at ``path``; its manifest."""
    by_record(path, options("good", {"code": 0}), quiet)
    return (path / "manifest.json").read_bytes()


def kept(path: Path) -> tuple[bytes, int] | None:
    """The output and the status of the cassette at ``path``; None where there is none."""
    if not path.exists():
        return None
    with open_cassette(path) as cassette:
        assert cassette.final.exit is not None
        return b"".join(cassette.raw()), cassette.final.exit.code


def held(path: Path) -> bytes | None:
    """The output in the diagnostic of ``path``; None where there is none."""
    raw = path.with_name(f"{path.name}.diagnostic") / "output.raw"
    return raw.read_bytes() if raw.exists() else None


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("way", ALL)
@pytest.mark.parametrize(("end", "code"), [({"code": 0}, 0), (FAILED, 3), (KILLED, -1)])
def test_what_the_program_does_is_recorded_whatever_its_status(
    tmp_path: Path, way: Way, end: Any, code: int, *, prior: bool
) -> None:
    """It said something, and the block was content."""
    path = tmp_path / "c"
    if prior:
        good(path)
    way(path, options("said", end), quiet)

    assert kept(path) == (b"said", code)
    assert held(path) is None


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("way", ALL)
@pytest.mark.parametrize("block", [raising, interrupted])
@pytest.mark.parametrize("end", [{"code": 0}, FAILED, None])
def test_a_block_that_fails_leaves_a_diagnostic_and_the_cassette_that_was_there(
    tmp_path: Path, way: Way, block: Any, end: Any, *, prior: bool
) -> None:
    """Whether the program had ended or not; nothing of what was recorded is lost."""
    path = tmp_path / "c"
    before = good(path) if prior else None
    with pytest.raises((KeyError, KeyboardInterrupt)) as caught:
        way(path, options("said", end), block)

    assert "c.diagnostic" in "".join(caught.value.__notes__)
    assert held(path) == b"said"
    assert path.exists() == prior
    assert before is None or (path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("way", [by_record, by_use])
def test_a_wait_that_fails_is_a_block_that_fails(tmp_path: Path, way: Way, *, prior: bool) -> None:
    """The commonest of all."""
    path = tmp_path / "c"
    before = good(path) if prior else None
    with pytest.raises(WaitTimeoutError):
        way(path, options("said", None), lambda session: session.wait_for_text("never"))

    assert held(path) == b"said"
    assert path.exists() == prior
    assert before is None or (path / "manifest.json").read_bytes() == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", [FAILED, KILLED])
@pytest.mark.parametrize("way", [by_record, by_arecord])
def test_a_program_that_fails_without_a_word_replaces_nothing_that_shows_something(
    tmp_path: Path, way: Way, end: Any
) -> None:
    """Where nothing is there, or only silence, it is a cassette."""
    path = tmp_path / "c"
    way(path, options("", end), quiet)
    way(path, options("", end), quiet)
    first = kept(path)
    way(path, options("", {"code": 0}), quiet)
    silent = kept(path)
    before = good(path)
    with pytest.raises(RunFailedError, match="showed nothing; the cassette that is there was kept"):
        way(path, options("", end), quiet)

    assert (first, silent) == ((b"", end.get("code", -1)), (b"", 0))
    assert (path / "manifest.json").read_bytes() == before
    assert held(path) == b""


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("end", [{"code": 0}, FAILED, KILLED])
@pytest.mark.parametrize("way", [by_use, by_async_use])
def test_use_keeps_nothing_that_shows_nothing(
    tmp_path: Path, way: Way, end: Any, *, prior: bool
) -> None:
    """Whatever the status."""
    path = tmp_path / "c"
    before = good(path) if prior else None
    with pytest.raises(RefusedError, match="an empty recording is not kept"):
        way(path, options("", end), quiet)

    assert path.exists() == prior
    assert before is None or (path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("prior", [False, True])
def test_a_program_that_cannot_be_run_leaves_what_was_there(tmp_path: Path, *, prior: bool) -> None:
    """Not found: nothing at all. Found and not executable: a diagnostic that says why."""
    path = tmp_path / "c"
    before = good(path) if prior else None
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    for argv in (["no-such-program"], [str(broken)]):
        with pytest.raises(SpawnError), use(path, argv, mode="record"):
            pass

    assert path.exists() == prior
    assert before is None or (path / "manifest.json").read_bytes() == before
    assert b'"spawn"' in (tmp_path / "c.diagnostic" / "diagnostic.json").read_bytes()


def test_auto_records_again_after_a_run_that_failed(tmp_path: Path) -> None:
    """There is no cassette then; there is one after a run that did not fail."""
    path = tmp_path / "c"
    with pytest.raises(KeyError), use(path, ["x"], mode="auto", **options("said", None)):
        raise KeyError("x")
    with use(path, ["x"], mode="auto", **options("said", FAILED)) as session:
        session.wait_exit()
    with use(path, mode="auto") as session:
        replayed = session.wait_exit().code

    assert (kept(path), replayed) == ((b"said", 3), 3)


def test_rerecord_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """Also its diagnostics are not there afterwards."""
    path = tmp_path / "c"
    before = good(path)
    with pytest.raises(KeyError), use(path, ["x"], mode="rerecord", **options("said", None)):
        raise KeyError("x")

    assert (path / "manifest.json").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("script", "status", "left", "diagnostic"),
    [
        ("echo said", 0, (b"said\r\n", 0), False),
        ("echo said; exit 3", 3, (b"said\r\n", 3), False),
        ("echo said; kill -9 $$", 137, (b"said\r\n", -1), False),
        ("true", 0, (b"", 0), False),
        ("exit 3", 125, (b"good", 0), True),
        ("kill -9 $$", 125, (b"good", 0), True),
    ],
)
def test_rec_keeps_the_same(
    tmp_path: Path, script: str, status: int, left: tuple[bytes, int], *, diagnostic: bool
) -> None:
    """With ``--overwrite`` over a good cassette."""
    path = tmp_path / "c"
    good(path)
    words = ["rec", "-q", "--headless", "--overwrite", str(path), "--", "sh", "-c", script]
    done = subprocess.run(
        [sys.executable, "-m", "ptycassette", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, kept(path)) == (status, left), done.stderr
    assert (held(path) is not None) == diagnostic
