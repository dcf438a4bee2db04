"""Several recordings and sessions in one process, in threads of their own, while others fork."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ptycassette import AsyncSession, Session, arecord, open_cassette, record, use
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.errors import SessionError
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.ownership import owned_async_context, owned_context

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # 3.12: fork and threads
]

ASK = ["bash", "-c", "read -p 'name? ' name; echo hello $name"]
PATIENCE_S = 120


def talk(session: Any, meet: Callable[[], None]) -> int | None:
    """Answer the program when everybody else's program runs, too."""
    session.wait_for_text("name?", timeout_s=PATIENCE_S)
    meet()
    session.submit("Ada")
    session.wait_for_text("hello Ada", timeout_s=PATIENCE_S)
    code: int = session.wait_exit(timeout_s=PATIENCE_S).code
    return code


async def atalk(session: Any, meet: Callable[[], None]) -> int | None:
    """The same in a loop."""
    await session.wait_for_text("name?", timeout_s=PATIENCE_S)
    await asyncio.to_thread(meet)
    await session.submit("Ada")
    await session.wait_for_text("hello Ada", timeout_s=PATIENCE_S)
    code: int = (await session.wait_exit(timeout_s=PATIENCE_S)).code
    return code


def recorded(place: Path, meet: Callable[[], None]) -> int | None:
    """A recording."""
    with record(ASK, place) as session:
        return talk(session, meet)


def used(place: Path, meet: Callable[[], None]) -> int | None:
    """A cassette in mode record."""
    with use(place, ASK, mode="record") as session:
        return talk(session, meet)


def driven(_: Path, meet: Callable[[], None]) -> int | None:
    """A session that is not recorded."""
    with Session(ASK) as session:
        return talk(session, meet)


def arecorded(place: Path, meet: Callable[[], None]) -> int | None:
    """A recording in a loop of its own."""

    async def run() -> int | None:
        async with arecord(ASK, place) as session:
            return await atalk(session, meet)

    return asyncio.run(run())


def adriven(_: Path, meet: Callable[[], None]) -> int | None:
    """A session in a loop of its own."""

    async def run() -> int | None:
        async with AsyncSession(ASK) as session:
            return await atalk(session, meet)

    return asyncio.run(run())


def stood_in(place: Path, meet: Callable[[], None]) -> int | None:
    """A session with a stand-in."""
    recorded(place, lambda: None)
    words = [sys.executable, "-m", "ptycassette", "stand-in", str(place)]
    with Session(words, clean_env=False) as session:
        return talk(session, meet)


KINDS = (recorded, used, driven, arecorded, adriven, stood_in)


def forks(ways: tuple[Callable[[], None], ...], stop: threading.Event) -> int:
    """Fork in each way, again and again, until everybody is done."""
    count = 0
    while not stop.is_set() or count < 3:
        for way in ways:
            way()
        count += 1
    return count


def bare_fork() -> None:
    """As os.fork and multiprocessing do."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def with_preexec() -> None:
    """As subprocess does with a function to run between fork and exec."""
    subprocess.run(["/bin/true"], preexec_fn=lambda: None, check=True)


def test_recordings_in_threads_leave_each_other_alone_while_others_fork(tmp_path: Path) -> None:
    """Each program is answered to its end, and each cassette is whole."""
    kinds = [kind for kind in KINDS for _ in range(2)]
    everybody = threading.Barrier(len(kinds), timeout=PATIENCE_S)
    over = threading.Event()

    def one(number: int) -> int | None:
        return kinds[number](tmp_path / f"{number}.cassette", everybody.wait)

    with ThreadPoolExecutor(len(kinds) + 1) as pool:
        forking = pool.submit(forks, (bare_fork, with_preexec), over)
        try:
            codes = list(pool.map(one, range(len(kinds))))
        finally:
            over.set()
        assert forking.result() >= 3

    assert codes == [0] * len(kinds)
    for number, kind in enumerate(kinds):
        if kind not in {driven, adriven}:
            open_cassette(tmp_path / f"{number}.cassette").close()


def in_a_fork(act: Callable[[], object]) -> int:
    """The exit status of a fork that leaves through ``act``, and ends as a process does."""
    pid = os.fork()
    if pid == 0:
        status = 9
        try:
            act()
            status = 0
        except SystemExit as exc:
            status = int(exc.code or 0)
        except SessionError as exc:
            status = 4 if "is a fork of it" in str(exc) else 5
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


OUTSIDE = """
import os, sys, threading
from ptycassette import record, use
command = ["bash", "-c", "read -p 'name? ' name; echo hello $name"]

def fork(inside):
    pid = os.fork()
    if pid == 0:
        if inside == "kept":  # nothing is left of the frames, and the interpreter is finalised
            threading.current_thread()
        sys.exit(3)
    assert os.waitpid(pid, 0)[1] == 3 << 8

with (use("x.cassette", command, mode="record") if sys.argv[2] == "use"
      else record(command, "x.cassette")) as session:
    session.wait_for_text("name?")
    if sys.argv[1] == "inside":
        fork("inside")
    else:
        def quietly():
            try:
                fork("kept")
            except SystemExit:
                os._exit(3)
        thread = threading.Thread(target=quietly)
        thread.start()
        thread.join()
    session.submit("Ada")
    session.wait_for_text("hello Ada")
    print(session.wait_exit().code)
"""


@pytest.mark.parametrize("where", ["inside", "thread"])
@pytest.mark.parametrize("what", ["use", "record"])
def test_a_fork_that_leaves_the_block_ends_nothing(where: str, what: str, tmp_path: Path) -> None:
    """``sys.exit`` in a fork unwinds the block of its parent, and so does a fork in a thread."""
    words = [sys.executable, "-W", "ignore", "-c", OUTSIDE, where, what]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    open_cassette(tmp_path / "x.cassette").close()
    assert [path.name for path in tmp_path.iterdir()] == ["x.cassette"]


def test_a_fork_cannot_use_the_session_of_its_parent() -> None:
    """It is told why, at once; closing it ends nothing."""
    with Session(ASK) as session:
        session.wait_for_text("name?", timeout_s=PATIENCE_S)
        for act in (lambda: session.type("x"), session.screen, lambda: session.signal("int")):
            assert in_a_fork(act) == 4
        assert in_a_fork(session.close) == 0
        assert in_a_fork(session.request_end) == 0
        session.submit("Ada")
        assert session.wait_exit(timeout_s=PATIENCE_S).code == 0


def test_a_fork_removes_no_files_of_its_parent(tmp_path: Path) -> None:
    """What is being written, and temporary folders."""
    writer = CassetteWriter(tmp_path / "new.cassette")
    with writer, temporary_folder() as folder:
        before = sorted(path.name for path in tmp_path.iterdir())
        assert in_a_fork(writer.abort) == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert folder.is_dir()


def test_blocks_end_in_their_own_process_alone() -> None:
    """Their last part runs once, and not in a fork, however the fork leaves them."""
    read, write = os.pipe()

    @owned_context
    def block() -> Iterator[None]:
        try:
            yield
        finally:
            os.write(write, b"x")

    @contextmanager
    def outer() -> Iterator[None]:
        with block():
            yield

    @owned_async_context
    async def ablock() -> Any:
        try:
            yield
        finally:
            os.write(write, b"y")

    def leave(entered: Any) -> None:
        with suppress(StopIteration):
            entered.__aexit__(None, None, None).send(None)

    async def run() -> None:
        async with ablock():
            entered = ablock()
            await entered.__aenter__()
            assert in_a_fork(lambda: leave(entered)) == 0
            await entered.__aexit__(None, None, None)

    with outer(), block():
        plain = block()
        plain.__enter__()
        assert in_a_fork(lambda: plain.__exit__(None, None, None)) == 0
        plain.__exit__(None, None, None)
    asyncio.run(run())
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == b"xxxyy"
