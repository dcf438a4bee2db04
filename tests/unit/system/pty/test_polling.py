"""select(2) behind the calls of poll(2): the two say the same."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from ptycassette.system.pty.process import Poll, SelectPoll, new_poll


@pytest.fixture(params=["linux", "darwin"])
def poll(request: pytest.FixtureRequest) -> Poll:
    """Both ways."""
    return new_poll(request.param)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a pipe."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


def test_what_is_ready_is_told(poll: Poll, pipe: tuple[int, int]) -> None:
    """Readable when something was written, writable while there is room."""
    reading, writing = pipe
    poll.register(reading, select.POLLIN)
    poll.register(writing, select.POLLOUT)
    before = poll.poll(0)
    os.write(writing, b"x")
    after = poll.poll(None)

    assert before == [(writing, select.POLLOUT)]
    assert sorted(after) == sorted([(reading, select.POLLIN), (writing, select.POLLOUT)])


def test_what_is_watched_can_change(poll: Poll, pipe: tuple[int, int]) -> None:
    """Another mask, nothing, or not at all."""
    reading, writing = pipe
    os.write(writing, b"x")
    poll.register(reading, select.POLLIN)
    poll.modify(reading, 0)
    silent = poll.poll(0)
    poll.modify(reading, select.POLLIN)
    told = poll.poll(0)
    poll.unregister(reading)

    assert (silent, told, poll.poll(0)) == ([], [(reading, select.POLLIN)], [])


def test_what_is_not_watched_cannot_be_changed(poll: Poll, pipe: tuple[int, int]) -> None:
    """A mistake shows in the same way."""
    with pytest.raises(FileNotFoundError):
        poll.modify(pipe[0], select.POLLIN)
    with pytest.raises(KeyError):
        poll.unregister(pipe[0])


def test_each_system_has_its_own() -> None:
    """Poll on Linux, select elsewhere."""
    assert not isinstance(new_poll("linux"), SelectPoll)
    assert isinstance(new_poll("darwin"), SelectPoll)
