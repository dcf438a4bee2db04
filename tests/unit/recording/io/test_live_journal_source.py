"""A journal read while it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from record_doubles import PLAIN

from ptycassette.errors import JournalError
from ptycassette.model.records import ExitStatus, Finished, Output
from ptycassette.recording.io import saver_process as _live_journal_source
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.recording.io.saver_process import Flood, Following

END = Finished(t_us=9, exit=ExitStatus(code=0, exited=True, signaled=False))


class Script:
    """A pace that does something each time that the reader waits at the live end."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps: Iterator[Callable[[], object]] = iter(steps)
        self.waited_s: list[float] = []
        self.blocks = 0

    def wait(self, seconds: float) -> None:
        """The next step."""
        self.waited_s.append(seconds)
        next(self.steps)()

    def yield_to_others(self) -> None:
        """Count."""
        self.blocks += 1


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[JournalFile]:
    """One that is being written."""
    made = JournalFile(PLAIN, directory=tmp_path)
    yield made
    made.close()


def test_events_come_as_they_are_written(journal: JournalFile) -> None:
    """Up to the end of the session, and not beyond."""
    pace = Script(
        lambda: journal.on_output(1, b"one"),
        lambda: journal.on_output(2, b"two"),
        lambda: journal.on_event(END),
    )
    source = Following(journal.path, pace)

    assert list(source()) == [Output(1, b"one"), Output(2, b"two"), END]
    assert len(pace.waited_s) == 3
    assert source.read_bytes == source.size == journal.size


def test_each_iterator_starts_at_the_first_event(journal: JournalFile) -> None:
    """A second pass may begin while the first one waits."""
    journal.on_output(1, b"one")
    source = Following(journal.path, Script(lambda: journal.on_event(END)))
    first = source()
    begun = next(first)
    rest = list(first)

    assert [begun, *rest] == list(source()) == list(JournalSource(journal.path)())


def test_a_record_that_is_half_there_is_waited_for(journal: JournalFile, tmp_path: Path) -> None:
    """Wherever the reader finds the file cut off."""
    journal.on_output(1, b"one")
    journal.on_event(END)
    data = journal.path.read_bytes()
    for cut in range(12, len(data)):
        part = tmp_path / f"{cut}.part"
        part.write_bytes(data[:cut])
        pace = Script(partial(part.write_bytes, data))

        assert list(Following(part, pace)()) == [Output(1, b"one"), END]


def test_it_waits_longer_when_nothing_comes(journal: JournalFile) -> None:
    """A program that is silent costs nothing; one that speaks again is read at once."""
    idle = [lambda: None] * 10
    steps = [*idle, lambda: journal.on_output(1, b"x"), lambda: journal.on_event(END)]
    pace = Script(*steps)
    list(Following(journal.path, pace)())

    assert pace.waited_s[0] == pace.waited_s[11] == 0.002
    assert pace.waited_s[10] == 0.05
    assert pace.waited_s[:11] == sorted(pace.waited_s[:11])


def test_it_waits_while_output_floods_the_journal(
    monkeypatch: pytest.MonkeyPatch, journal: JournalFile
) -> None:
    """And misses nothing of it."""
    outruns, goes_on = iter([True]), iter([True])

    class Growing(Flood):
        def outruns(self, size: int, at: int) -> bool:
            return next(outruns, False)

        def goes_on(self, size: int) -> bool:
            return next(goes_on, False)

    monkeypatch.setattr(_live_journal_source, "Flood", Growing)
    journal.on_output(1, b"one")
    pace = Script(
        lambda: journal.on_output(2, b"two" * 60),
        lambda: journal.on_output(3, b"three" * 60),
        lambda: journal.on_event(END),
    )

    assert [*Following(journal.path, pace)()][1:] == [
        Output(2, b"two" * 60), Output(3, b"three" * 60), END,
    ]  # fmt: skip
    assert pace.waited_s[:2] == [Flood.WAIT_S] * 2


def test_half_a_session_never_looks_like_a_whole_one(journal: JournalFile) -> None:
    """When the pace gives up, so does the reader; it does not just end."""

    def gone() -> None:
        raise KeyboardInterrupt

    journal.on_output(1, b"one")

    with pytest.raises(KeyboardInterrupt):
        list(Following(journal.path, Script(gone))())


def test_a_journal_may_lose_its_name_meanwhile(journal: JournalFile) -> None:
    """What is open stays readable."""
    source = Following(journal.path, Script(lambda: journal.on_event(END)))
    journal.path.unlink()

    assert list(source()) == [END]


def test_damage_is_an_error(journal: JournalFile) -> None:
    """A saver that sees it falls over, and the recorder says what is to be said."""
    journal.on_output(1, b"one" * 100)
    journal.on_output(2, b"two" * 100)
    journal.on_event(END)
    data = bytearray(journal.path.read_bytes())
    data[data.index(b"oneone")] ^= 1
    journal.path.write_bytes(data)

    with pytest.raises(JournalError):
        list(Following(journal.path, Script())())
