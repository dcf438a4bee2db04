"""Sessions over pipes: driven live, recorded, and replayed without the program."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from ptycassette import AsyncSession, Session, arecord, open_cassette, record, use
from ptycassette.errors import (
    DivergenceError,
    RefusedError,
    RunFailedError,
    SessionClosedError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.model.records import ExitStatus, OutputRecord, StreamKinds, streams_of
from tests.savers import wait_until_journaled

pytestmark = pytest.mark.integration
LONG_S = 120

ECHO = """
import sys
print("ready", sys.stdin.isatty(), file=sys.stderr)
for line in sys.stdin:
    print("got", line.strip())
print("bye")
sys.exit(3)
"""
ECHO_ARGV = [sys.executable, "-u", "-c", ECHO]
MISSING = ["/dev/null/program"]


def echoing(session: Session) -> None:
    """Two lines, one of them without its end, and a long one."""
    session.submit("hello")
    assert session.read_line(timeout_s=LONG_S) == b"got hello\n"
    assert session.read_line(stream="stderr", timeout_s=LONG_S) == b"ready False\n"
    session.send(b"x" * 5000 + b"\nlast", timeout_s=LONG_S)
    assert session.read_line(timeout_s=LONG_S) == b"got " + b"x" * 5000 + b"\n"
    session.close_stdin()
    assert session.wait_exit(timeout_s=LONG_S).code == 3
    assert session.stdout.endswith(b"got last\nbye\n")
    assert session.stderr == b"ready False\n"


def test_what_was_recorded_over_pipes_replays_without_the_program(tmp_path: Path) -> None:
    """The same block passes live, while it is recorded, and from the cassette."""
    place = tmp_path / "echo.cassette"
    with Session(ECHO_ARGV, streams="pipes") as live:
        echoing(live)
    with record(ECHO_ARGV, place, streams="pipes") as recording:
        echoing(recording)

    with use(place, MISSING, mode="replay") as replayed:
        echoing(replayed)
    with open_cassette(place) as cassette:
        assert streams_of(cassette.manifest) == StreamKinds(
            stdin="pipe", stdout="pipe", stderr="pipe"
        )


def test_the_same_block_in_each_mode_of_use(tmp_path: Path) -> None:
    """A mode that records keeps the kinds of streams that were recorded before."""
    place = tmp_path / "echo.cassette"
    with use(place, ECHO_ARGV, mode="record", streams="pipes") as session:
        echoing(session)
    for mode in ("replay", "live", "rewrite", "rerecord"):
        with use(place, ECHO_ARGV, mode=mode) as session:
            echoing(session)

    with open_cassette(place) as cassette:
        assert streams_of(cassette.manifest).stdin == "pipe"


def test_async_sessions_over_pipes(tmp_path: Path) -> None:
    """Live, recorded and replayed."""
    place = tmp_path / "echo.cassette"

    async def said(session: Any) -> tuple[bytes, bytes]:
        await session.submit("one")
        assert await session.read_line(timeout_s=LONG_S) == b"got one\n"
        both: tuple[bytes, bytes] = await session.communicate("two", timeout_s=LONG_S)
        return both

    async def everywhere() -> list[tuple[bytes, bytes]]:
        found = []
        async with AsyncSession(ECHO_ARGV, streams="pipes") as live:
            found.append(await said(live))
        async with arecord(ECHO_ARGV, place, streams="pipes") as recording:
            found.append(await said(recording))
        async with use(place, MISSING, mode="replay") as replayed:
            found.append(await said(replayed))
        return found

    found = asyncio.run(everywhere())

    assert found == [(b"got one\ngot two\nbye\n", b"ready False\n")] * 3


def test_communicate_says_the_same_as_subprocess() -> None:
    """Of programs that read all, nothing, a part, and write much meanwhile."""
    data = bytes(range(256)) * 5000
    for argv in (["cat"], ["true"], ["head", "-c", "3"], ["sh", "-c", "cat >&2; exit 9"]):
        bare = subprocess.run(argv, input=data, capture_output=True, check=False)
        with Session(argv, streams="pipes") as session:
            both = session.communicate(data, timeout_s=LONG_S)
            assert session.exit_status is not None
            assert (both, session.exit_status.code) == ((bare.stdout, bare.stderr), bare.returncode)


def test_only_what_was_read_is_recorded(tmp_path: Path) -> None:
    """And a driver that sends more, or less of what nobody reads, replays all the same."""
    place = tmp_path / "head.cassette"
    script = "import os; os.write(1, os.read(0, 3)); os.write(2, b'!')"
    with record([sys.executable, "-c", script], place, streams="pipes") as recording:
        recording.communicate(b"abcdef", timeout_s=LONG_S)
    for sent in (b"abc", b"abcdef", b"abc and other things"):
        with use(place, mode="replay") as session:
            assert session.communicate(sent) == (b"abc", b"!")

    with open_cassette(place) as cassette:
        assert b"".join(entry.bytes or b"" for entry in cassette.inputs()) == b"abc"


@pytest.mark.parametrize("sent", [b"hullo\n", b"hell", b"hello\nmore\n"])
def test_other_bytes_on_stdin_diverge(tmp_path: Path, sent: bytes) -> None:
    """Changed, fewer, more: at the call that makes it certain."""
    place = tmp_path / "cat.cassette"
    with record(["cat"], place, streams="pipes") as recording:
        recording.communicate(b"hello\n", timeout_s=LONG_S)

    with pytest.raises(DivergenceError, match="stdin is not what was recorded"):  # noqa: SIM117
        with use(place, mode="replay") as session:
            session.communicate(sent)


def test_a_stdin_that_is_never_ended_diverges(tmp_path: Path) -> None:
    """Where the recorded program read its end."""
    place = tmp_path / "cat.cassette"
    with record(["cat"], place, streams="pipes") as recording:
        recording.communicate(b"hello\n", timeout_s=LONG_S)

    with pytest.raises(DivergenceError, match="the end of stdin"):  # noqa: SIM117
        with use(place, mode="replay") as session:
            session.send(b"hello\n")


def test_streams_that_are_null_or_one(tmp_path: Path) -> None:
    """As DEVNULL and STDOUT of subprocess."""
    argv = ["sh", "-c", "cat; echo one; echo two >&2; echo three"]
    kinds = StreamKinds(stdin="null", stdout="pipe", stderr="pipe", merged=True)
    with record(argv, tmp_path / "one.cassette", streams=kinds) as recording:
        recording.wait_exit(timeout_s=LONG_S)

        assert (recording.stdout, recording.stderr) == (b"one\ntwo\nthree\n", b"")
    with use(tmp_path / "one.cassette", mode="replay") as session:
        session.wait_exit()

        assert (session.stdout, session.stderr) == (b"one\ntwo\nthree\n", b"")


def test_a_stream_that_is_closed_early_ends_early(tmp_path: Path) -> None:
    """For who reads it, live and in replay."""
    argv = ["sh", "-c", "echo bye; exec >&-; read line; echo more >&2"]
    place = tmp_path / "ends.cassette"

    def watched(session: Session) -> None:
        lines = [session.read_line(timeout_s=LONG_S) for _ in range(2)]
        assert lines == [b"bye\n", b""]
        assert not session.finished
        if session.pid:
            # The recorder waits a moment before it calls it an end on purpose.
            wait_until_journaled(
                lambda events: any(
                    isinstance(e.record, OutputRecord) and e.record.eof for e in events
                )
            )
        session.submit("go on")
        assert session.read_line(stream="stderr", timeout_s=LONG_S) == b"more\n"
        session.wait_exit(timeout_s=LONG_S)

    with record(argv, place, streams="pipes") as recording:
        watched(recording)
    with use(place, mode="replay") as replayed:
        watched(replayed)


def test_a_program_that_closes_its_stdin_refuses_input() -> None:
    """As a broken pipe does."""
    with Session(["sh", "-c", "exec <&-; echo closed; sleep 60"], streams="pipes") as session:
        session.read_line(timeout_s=LONG_S)

        with pytest.raises(SessionClosedError, match="closed its stdin"):
            session.send(b"hello\n")


def test_it_lasts_as_long_as_somebody_writes_and_no_longer() -> None:
    """What was left running elsewhere lives on; what was asked to end takes all along."""
    argv = ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!; (sleep 0.3; echo late) &"]
    with Session(argv, streams="pipes") as session:
        out, _ = session.communicate(timeout_s=LONG_S)
    pid, late = out.split()
    try:
        assert late == b"late"
        assert psutil.pid_exists(int(pid))
    finally:
        os.kill(int(pid), signal.SIGKILL)

    with Session(["sh", "-c", "sleep 60 & echo $!; wait"], streams="pipes") as session:
        left = int(session.read_line(timeout_s=LONG_S))
    assert not psutil.pid_exists(left)


def test_an_interrupt_reaches_the_program(tmp_path: Path) -> None:
    """It is on the record, and so is how the program ended."""
    place = tmp_path / "int.cassette"

    def interrupted(session: Session) -> ExitStatus:
        session.read_line(timeout_s=LONG_S)
        session.signal("int")
        return session.wait_exit(timeout_s=LONG_S)

    argv = [
        "sh",
        "-c",
        "trap 'echo caught >&2; exit 4' INT; echo ready; while :; do sleep 0.05; done",
    ]
    with record(argv, place, streams="pipes") as recording:
        assert interrupted(recording).code == 4
    with use(place, mode="replay") as session:
        assert interrupted(session).code == 4
        assert session.stderr == b"caught\n"


def test_secrets_in_both_streams_and_in_stdin_are_gone(tmp_path: Path) -> None:
    """Those with a shape, and what the driver says is one."""
    token = "gh" + "p_" + "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0B"
    word = "plain" + "words9"
    argv = ["sh", "-c", "read a; read b; echo out $a; echo err $b >&2"]
    place = tmp_path / "secret.cassette"

    def driven(session: Session) -> None:
        session.submit(token)
        session.submit_secret(word)
        session.wait_exit(timeout_s=LONG_S)

    with record(argv, place, streams="pipes") as recording:
        driven(recording)
    with use(place, mode="replay") as session:
        driven(session)

    kept = b"".join(file.read_bytes() for file in place.iterdir())
    assert token.encode() not in kept
    assert word.encode() not in kept


@pytest.mark.slow
def test_a_timeout_ends_a_recording_over_pipes(tmp_path: Path) -> None:
    """With a diagnostic, and nobody left."""
    with pytest.raises(RunFailedError, match="timeout"):  # noqa: SIM117
        with record(
            ["sh", "-c", "echo hi; sleep 60"],
            tmp_path / "t.cassette",
            streams="pipes",
            timeout_s=5,
        ) as recording:
            recording.wait_exit(timeout_s=LONG_S)

    assert (tmp_path / "t.cassette.diagnostic").is_dir()


def test_what_needs_a_terminal_is_refused_over_pipes_and_the_reverse(tmp_path: Path) -> None:
    """With what to do instead; a size, keys, and streams of a program at a terminal."""
    with Session(["sh", "-c", "cat; exec sleep 600"], streams="pipes") as session:
        with pytest.raises(ValueError, match="close_stdin"):
            session.send_key("ctrl-d")
        with pytest.raises(ValueError, match="no terminal"):
            session.resize(session.size)
        with pytest.raises(ValueError, match="stdout or stderr"):
            session.read_line(stream="stdin")
        session.close_stdin()
        with pytest.raises(ValueError, match="stdin was closed"):
            session.send(b"more")
    with Session(["cat"]) as session:
        for call in (session.communicate, session.read_line, session.close_stdin):
            with pytest.raises(ValueError, match="streams='pipes'"):
                call()

    place = tmp_path / "cat.cassette"
    with record(["cat"], place, streams="pipes") as recording:
        recording.communicate(b"hello\n", timeout_s=LONG_S)
    with pytest.raises(UsageError, match="over pipes"), use(place, streams="terminal"):
        pass
    with pytest.raises(ValueError, match="terminal, pipes"):
        use(place, streams="pipe")  # type: ignore[arg-type]


def test_a_program_that_keeps_its_output_back_is_explained() -> None:
    """Programs buffer what they write to a pipe."""
    argv: Sequence[str] = [sys.executable, "-c", "print('hi'); import sys; sys.stdin.read()"]
    with Session(argv, streams="pipes") as session:
        with pytest.raises(WaitTimeoutError, match="a line on stdout") as refused:
            session.read_line(timeout_s=0.3)
        session.close_stdin()

        assert "python -u" in str(refused.value)
        assert session.read_line(timeout_s=LONG_S) == b"hi\n"


def test_use_keeps_no_recording_that_shows_nothing(tmp_path: Path) -> None:
    """Over pipes as at a terminal."""
    place = tmp_path / "true.cassette"
    with pytest.raises(RefusedError, match="nothing was shown"):  # noqa: SIM117
        with use(place, ["true"], mode="record", streams="pipes") as session:
            session.wait_exit(timeout_s=LONG_S)

    assert not place.exists()
