"""The journal on disk: privacy, order, refusing disks, reading back."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from record_doubles import PLAIN

from ptycassette.errors import JournalError, LockedError, NotFoundError, StorageError
from ptycassette.model.records import Noted, Output, Typed
from ptycassette.recording.io.finalising import recover
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource, lock_left_behind


class Disk:
    """A ``writev`` that does what it is told, then what the system does."""

    def __init__(self, *script: int | OSError) -> None:
        self.script = list(script)

    def __call__(self, fd: int, buffers: Sequence[bytes | memoryview]) -> int:
        """The next step of the script."""
        if not self.script:
            return os.writev(fd, buffers)
        step = self.script.pop(0)
        if isinstance(step, OSError):
            raise step
        return os.write(fd, b"".join(buffers)[:step])

    def then(self, *script: int | OSError) -> None:
        """Do this from now on."""
        self.script = list(script)


def full() -> OSError:
    """What a full disk raises."""
    return OSError(errno.ENOSPC, "No space left on device")


def test_what_was_appended_is_readable_while_the_recorder_lives(tmp_path: Path) -> None:
    """Every call hands its bytes to the kernel before it returns."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.on_output(3, b"hello")
    journal.on_event(Noted(4, {"x": 1}))

    source = JournalSource(journal.path)

    assert source.meta == PLAIN
    assert list(source()) == [Output(3, b"hello"), Noted(4, {"x": 1})]
    journal.close()


def test_a_key_is_held_until_its_answer(tmp_path: Path) -> None:
    """Both go to the kernel in one call, the key first."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    before = journal.size
    journal.hold_key(5, b"x")
    held = journal.holding, journal.size == before
    journal.on_output(6, b"X")

    assert held == (True, True)
    assert not journal.holding
    assert list(JournalSource(journal.path)()) == [Typed(5, b"x"), Output(6, b"X")]
    journal.close()


@pytest.mark.parametrize("last", [JournalFile.flush, JournalFile.close])
def test_a_key_without_an_answer_is_not_lost(
    tmp_path: Path, last: Callable[[JournalFile], None]
) -> None:
    """The end of the recording and an idle moment both write it."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.hold_key(5, b"x", masked=True)
    last(journal)

    assert list(JournalSource(journal.path)()) == [Typed(5, b"x", masked=True)]
    journal.close()


def test_a_key_that_the_disk_refuses_is_an_error(tmp_path: Path) -> None:
    """At the flush, and the journal still closes."""
    disk = Disk()
    journal = JournalFile(PLAIN, directory=tmp_path, write=disk)
    journal.hold_key(5, b"x")
    disk.then(full())

    with pytest.raises(StorageError, match="No space left"):
        journal.flush()
    journal.close()
    assert list(JournalSource(journal.path)()) == []


def test_a_journal_is_private(tmp_path: Path) -> None:
    """Nobody else may read what is not scrubbed yet."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.close()

    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [journal.path]


def test_a_second_journal_of_the_same_id_replaces_nothing(tmp_path: Path) -> None:
    """A crash may have left one with the id that a caller fixed."""
    first = JournalFile(PLAIN, directory=tmp_path)
    second = JournalFile(PLAIN, directory=tmp_path)
    first.close()
    second.close()

    assert first.path != second.path


@pytest.mark.parametrize(
    "script", [(3,), (3, 0, 1), (InterruptedError(),), (3, InterruptedError())]
)
def test_short_and_interrupted_writes_are_continued(
    tmp_path: Path, script: tuple[int | OSError, ...]
) -> None:
    """A record is whole or an error, never cut in the middle."""
    disk = Disk()
    journal = JournalFile(PLAIN, directory=tmp_path, write=disk)
    disk.then(*script)

    journal.on_output(1, b"hello")
    journal.on_output(2, b"world")
    journal.close()

    assert list(JournalSource(journal.path)()) == [Output(1, b"hello"), Output(2, b"world")]


@pytest.mark.parametrize("script", [(full(),), (9, full()), (OSError(errno.EIO, "I/O error"),)])
def test_a_full_disk_leaves_the_journal_readable_to_the_last_whole_record(
    tmp_path: Path, script: tuple[int | OSError, ...]
) -> None:
    """The torn record is cut off, and the failure is sticky."""
    disk = Disk()
    journal = JournalFile(PLAIN, directory=tmp_path, write=disk)
    journal.on_output(1, b"hello")
    disk.then(*script)
    with pytest.raises(StorageError, match="cannot write the journal"):
        journal.on_output(2, b"world")
    with pytest.raises(StorageError, match="cannot write the journal"):
        journal.on_output(3, b"again")
    journal.close()

    source = JournalSource(journal.path)

    assert list(source()) == [Output(1, b"hello")]
    assert source.torn_bytes == 0


def test_a_failed_sync_is_never_retried(tmp_path: Path) -> None:
    """The kernel may have dropped the pages; a second sync would say that all is well."""
    calls: list[int] = []

    def sync(fd: int) -> None:
        calls.append(fd)
        raise OSError(errno.EIO, "I/O error")

    journal = JournalFile(PLAIN, directory=tmp_path, durability="disk", sync=sync)
    with pytest.raises(StorageError, match="I/O error"):
        journal.close()
    journal.close()

    assert len(calls) == 1


def test_durability_disk_syncs_what_was_written(tmp_path: Path) -> None:
    """Nothing is left unsynced when the journal is closed."""
    sizes: list[int] = []

    def sync(fd: int) -> None:
        sizes.append(os.fstat(fd).st_size)

    journal = JournalFile(PLAIN, directory=tmp_path, durability="disk", sync=sync)
    for number in range(3):
        journal.on_output(number, b"x" * 70_000)
    journal.close()

    assert sizes[-1] == journal.path.stat().st_size


def test_a_failed_sync_stops_the_recording(tmp_path: Path) -> None:
    """The next write after a failed sync raises instead of pretending."""

    def sync(fd: int) -> None:
        raise OSError(errno.EIO, "I/O error")

    journal = JournalFile(PLAIN, directory=tmp_path, durability="disk", sync=sync)
    assert journal._syncer is not None
    journal._syncer._once()
    with pytest.raises(StorageError, match="I/O error"):
        _twice(lambda: journal.on_output(1, b"x"))
    with pytest.raises(StorageError):
        journal.close()


def _twice(call: Callable[[], None]) -> None:
    call()
    call()


def test_large_output_and_large_input_are_split(tmp_path: Path) -> None:
    """No record grows past what a reader takes."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.on_output(1, b"x" * (3 << 20))
    journal.on_event(Typed(2, b"y" * ((1 << 20) + 5)))
    journal.close()

    events = list(JournalSource(journal.path)())

    assert [len(event.data) for event in events if isinstance(event, Output)] == [1 << 20] * 3
    assert [len(event.data) for event in events if isinstance(event, Typed)] == [1 << 20, 5]


def test_nothing_read_is_nothing_written(tmp_path: Path) -> None:
    """An empty read makes no record."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    before = journal.path.stat().st_size
    journal.on_output(1, b"")
    journal.on_idle()
    journal.close()

    assert journal.path.stat().st_size == before


def test_a_directory_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    """The message names the directory."""
    with pytest.raises(StorageError, match="cannot create a journal"):
        JournalFile(PLAIN, directory=tmp_path / "missing")


def test_a_head_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A recording that never began leaves no file behind."""
    with pytest.raises(StorageError):
        JournalFile(PLAIN, directory=tmp_path, write=Disk(full()))

    assert list(tmp_path.iterdir()) == []


def test_discard_deletes_the_file(tmp_path: Path) -> None:
    """After publishing nothing is left of the unscrubbed bytes."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.discard()
    journal.discard()

    assert list(tmp_path.iterdir()) == []


def test_a_live_journal_is_locked(tmp_path: Path) -> None:
    """``recover`` keeps its hands off a recording that goes on, and takes it afterwards."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    with pytest.raises(LockedError, match="another process is recording"):
        lock_left_behind(journal.path)
    journal.close()

    os.close(lock_left_behind(journal.path))


def test_damage_is_an_error_and_salvage_keeps_what_stands_before_it(tmp_path: Path) -> None:
    """With ``salvage`` the events end where the damage begins, and the damage is kept."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.on_output(1, b"hello")
    middle = journal.path.stat().st_size
    journal.on_output(2, b"world")
    journal.on_output(3, b"end")
    journal.close()
    content = bytearray(journal.path.read_bytes())
    content[middle + 26] ^= 1  # in the body of the second read
    journal.path.write_bytes(content)

    with pytest.raises(JournalError, match="damaged") as caught:
        list(JournalSource(journal.path)())
    source = JournalSource(journal.path, salvage=True)

    assert str(journal.path) in str(caught.value)
    assert list(source()) == [Output(1, b"hello")]
    assert source.damage is not None


def test_what_is_no_journal_raises_even_when_salvaging(tmp_path: Path) -> None:
    """Salvage needs a head."""
    (tmp_path / "x").write_bytes(b"nothing of ours")
    with pytest.raises(JournalError, match="not a journal"):
        JournalSource(tmp_path / "x", salvage=True)
    (tmp_path / "y").write_bytes(b"")
    with pytest.raises(JournalError, match="before its head"):
        JournalSource(tmp_path / "y")


def test_a_missing_journal_is_not_found(tmp_path: Path) -> None:
    """For reading and for locking."""
    with pytest.raises(NotFoundError):
        JournalSource(tmp_path / "x")
    with pytest.raises(NotFoundError):
        lock_left_behind(tmp_path / "x")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A name in the state directory cannot lead elsewhere."""
    (tmp_path / "x").symlink_to(tmp_path / "y")
    (tmp_path / "y").write_bytes(b"")

    with pytest.raises(JournalError, match="cannot be read"):
        lock_left_behind(tmp_path / "x")


def test_recovering_a_missing_journal_is_not_found(tmp_path: Path) -> None:
    """Also where others may read the folder, in which a journal would not be trusted."""
    tmp_path.chmod(0o755)
    with pytest.raises(NotFoundError, match="no such journal"):
        recover(tmp_path / "nosuch.journal")


def test_a_directory_is_no_journal(tmp_path: Path) -> None:
    """Reading it is the declared error."""
    with pytest.raises(JournalError, match="not a regular file"):
        JournalSource(tmp_path)


def test_a_file_system_without_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network and USB file systems know none; still nothing is replaced."""

    def refuse(*paths: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    journals = [JournalFile(PLAIN, directory=tmp_path) for _ in range(2)]
    for journal in journals:
        journal.close()

    assert sorted(tmp_path.iterdir()) == sorted(journal.path for journal in journals)


def test_a_name_that_cannot_be_given_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may fill up at any moment."""

    def refuse(*paths: object) -> None:
        raise full()

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="No space left"):
        JournalFile(PLAIN, directory=tmp_path)

    assert list(tmp_path.iterdir()) == []
