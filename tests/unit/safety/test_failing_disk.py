"""Every call to the system fails once, in every way that disks fail, in everything that writes.

A run without faults counts the calls; then there is a run for each call and
each fault. Whatever fails: the error is one of ours, no half cassette stands
at the target, what was acknowledged is in the journal or in the cassette, no
descriptor stays open, and a failed sync is never followed by success.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io import staging
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError, NotFoundError, StorageError
from ptycassette.model.records import Finished, Harness, Noted, Output, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Finaliser, recover
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.rescrub import scrub_cassette
from ptycassette.recording.io.saver import JournalSource
from ptycassette.replaying.standin.comparison import StandinReport
from ptycassette.replaying.standin.io.process import write_report
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.files.locks import LockHolder, target_lock
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.system.files.whole_file import write_whole
from ptycassette.testing import write_cassette

CALLS = (
    "open", "write", "writev", "fsync", "fdatasync", "rename", "replace", "link", "unlink", "mkdir",
    "rmdir", "fchmod", "ftruncate", "pwrite", "scandir", "pread",
)  # fmt: skip
SYNCS = {"fsync", "fdatasync"}
FAULTS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR, "short": None}
KILLED = -1
LINES = [b"line %d\r\n" % number for number in range(4)]
EVENTS = [*(Output(number, line) for number, line in enumerate(LINES)), Noted(9, {"a": 1})]


class Disk:
    """Stands between us and the system; the call of number ``at`` fails, once."""

    def __init__(self, patch: pytest.MonkeyPatch, inside: Path) -> None:
        self.count = 0
        self.at = 0
        self.fault: int | None = None
        self.failed = ""
        self.synced_after: list[str] = []
        self.seen: list[tuple[str, str]] = []
        """Calls and the files that they were about; of two names the second."""
        self._inside = str(inside)
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, self._standing_for(name, getattr(os, name)))
        patch.setattr(fcntl, "flock", self._standing_for("flock", fcntl.flock))
        patch.setattr(staging, "exchange", self._standing_for("exchange", staging.exchange))

    def _standing_for(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._counts(args):
                return real(*args, **kwargs)
            self.count += 1
            self.seen.append((name, _place(args[1] if name == "link" else args[0])))
            if self.failed and name in SYNCS:
                self.synced_after.append(name)
            if self.count != self.at:
                return real(*args, **kwargs)
            self.failed = name
            if self.fault == KILLED:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault is not None:
                raise OSError(self.fault, os.strerror(self.fault))
            if name == "write":
                return real(args[0], bytes(args[1])[: max(1, len(args[1]) // 2)])
            if name == "writev":
                data = b"".join(args[1])
                return real(args[0], [data[: max(1, len(data) // 2)]])
            return real(*args, **kwargs)

        return call

    def _counts(self, args: tuple[Any, ...]) -> bool:
        """Whether it is about a file of the test."""
        if not args:
            return False
        place = _place(args[0])
        return bool(place) and (place.startswith(self._inside) or not place.startswith("/"))


def _place(what: Any) -> str:
    """The file of a descriptor or a path; empty when it is closed."""
    if not isinstance(what, int):
        return os.fsdecode(what)
    try:
        return str(Path(f"/proc/self/fd/{what}").readlink())
    except OSError:
        return ""


def meta(target: Path) -> SessionMeta:
    """A head."""
    return SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("sh",),
        size=Size(4, 20),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        target=str(target),
    )


def descriptors() -> set[str]:
    """What is open, as names."""
    names = set()
    for fd in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            names.add(f"{fd} {Path(f'/proc/self/fd/{fd}').readlink()}")
        except OSError:
            continue
    return {name for name in names if "/proc/" not in name}


class Work:
    """One thing that writes: how it is prepared, done and looked at."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.target = place / "out" / "c"
        self.acknowledged = 0
        self.journal: Path | None = None
        self.old: bytes | None = None

    def prepare(self) -> None:
        """Before faults."""

    def run(self) -> None:
        """With faults."""

    def recorded(self) -> bytes | None:
        """The output at the target; the test fails when half a cassette stands there."""
        try:
            with open_cassette(self.target) as cassette:
                return b"".join(cassette.raw())
        except NotFoundError:
            return None

    def check(self, *, failed: bool) -> None:
        """After faults."""
        kept = self.recorded()
        assert kept in {None, self.old, b"".join(LINES)}
        assert failed or kept == b"".join(LINES)


class Journal(Work):
    """Writing a journal."""

    def run(self) -> None:
        """Five events and the end."""
        journal = JournalFile(
            meta(self.target),
            directory=journal_dir(),
            durability="disk",
            write=os.writev,  # the default was bound before the disk could fail
            sync=os.fdatasync,
        )
        self.journal = journal.path
        try:
            for event in EVENTS:
                if isinstance(event, Output):
                    journal.on_output(event.t_us, event.data)
                else:
                    journal.on_event(event)
                self.acknowledged += 1
        finally:
            journal.close()

    def check(self, *, failed: bool) -> None:
        """All that was acknowledged is there, and can be recovered."""
        if self.journal is None:
            return
        events = list(JournalSource(self.journal)())

        assert events[: self.acknowledged] == EVENTS[: self.acknowledged]
        assert failed or events == EVENTS
        # A run that printed nothing is no recording.
        wanted = "published" if events else "diagnostic"
        assert recover(self.journal).outcome == wanted


class Publish(Work):
    """Finalising into a cassette."""

    def run(self) -> None:
        """Where nothing was."""
        events = [*EVENTS, Finished(t_us=10)]
        finaliser = Finaliser(scrubber=default_scrubber)
        finaliser.publish(
            meta(self.target), lambda: iter(events), self.target, overwrite=self.old is not None
        )


class Overwrite(Publish):
    """Finalising over a cassette."""

    def prepare(self) -> None:
        """Put an old one there."""
        self.old = b"old"
        write_cassette(self.target, Output(0, self.old))

    def check(self, *, failed: bool) -> None:
        """The old one is never lost before the new one is there."""
        assert self.recorded() is not None
        super().check(failed=failed)


class OverwriteAside(Overwrite):
    """The same where names cannot be exchanged: the old cassette is renamed first."""

    def run(self) -> None:
        """As on a file system that cannot."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(staging, "exchange", lambda *_: False)
            super().run()


class Recover(Work):
    """Recovering a journal."""

    def prepare(self) -> None:
        """Leave one behind."""
        journal = JournalFile(meta(self.target), directory=journal_dir())
        for event in EVENTS:
            journal.on_event(event)
        journal.close()
        self.journal = journal.path

    def run(self) -> None:
        """Publish it."""
        assert self.journal is not None
        recover(self.journal)

    def check(self, *, failed: bool) -> None:
        """The journal stays until the cassette is durable; a second recovery brings it all."""
        assert self.journal is not None
        assert self.journal.exists() or self.recorded() is not None
        if self.journal.exists():
            recover(self.journal)
        super().check(failed=False)


class Scrub(Work):
    """Scrubbing a cassette in its place."""

    def prepare(self) -> None:
        """One that has nothing to hide, so that what it should hold is known."""
        write_cassette(self.target, *EVENTS)

    def run(self) -> None:
        """In its place."""
        scrub_cassette(self.target, default_scrubber())

    def check(self, *, failed: bool) -> None:
        """It is there, whole."""
        assert self.recorded() == b"".join(LINES)


class ScrubSecret(Scrub):
    """Scrubbing a cassette in its place that has something to hide, and so replacing it."""

    secret = "gh" + "p_" + "Zk3x" * 9

    def prepare(self) -> None:
        """One with a secret."""
        self.old = f"token {self.secret}\r\n".encode()
        write_cassette(self.target, Output(0, self.old))

    def check(self, *, failed: bool) -> None:
        """As it was, or scrubbed; both whole."""
        kept = self.recorded()
        assert kept is not None
        assert len(kept) == len(self.old or b"")
        assert kept == self.old or self.secret.encode() not in kept
        assert failed or kept != self.old


class ScrubSecretAside(ScrubSecret):
    """The same where names cannot be exchanged."""

    def run(self) -> None:
        """As on a file system that cannot."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(staging, "exchange", lambda *_: False)
            super().run()


class Small(Work):
    """Reports, exports and locks."""

    def prepare(self) -> None:
        """Make room."""
        (self.place / "out").mkdir()

    def run(self) -> None:
        """Each of them."""
        out = self.place / "out"
        with target_lock(out, target=self.target, holder=LockHolder(pid=1, what="x")):
            write_whole(out / "whole", [b"new", b"er"])
            write_report(str(out / "report.json"), StandinReport(result="passed", cassette="c"))

    def check(self, *, failed: bool) -> None:
        """Whole, or as before; nothing is left beside them."""
        out = self.place / "out"
        names = {path.name for path in out.iterdir()} if out.exists() else set()
        whole = out / "whole"
        assert not whole.exists() or whole.read_bytes() == b"newer"
        assert failed or {"whole", "report.json", "report.txt"} <= names


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="/proc")
WORKS = (
    Journal, Publish, Overwrite, OverwriteAside, Recover, Scrub, ScrubSecret, ScrubSecretAside,
    Small,
)  # fmt: skip
KILLED_WORKS = [Publish, Overwrite, Recover, Scrub, ScrubSecret]


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Work]:
    """Make the same work again and again, each in a place of its own."""
    made = []

    def make(kind: type[Work]) -> Work:
        place = tmp_path / str(len(made))
        place.mkdir()
        monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(place / "state"))
        work = kind(place)
        made.append(work)
        work.prepare()
        return work

    return make


def run(work: Work, at: int, fault: int | None) -> tuple[Disk, BaseException | None]:
    """Do it with a fault at that call; what the disk saw, and what was raised."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, work.place)
        disk.at, disk.fault = at, fault
        try:
            work.run()
        except BaseException as exc:  # noqa: BLE001 - it is looked at
            return disk, exc
        return disk, None


def problems_of(
    kind: type[Work], works: Callable[..., Work], faults: Callable[[int], Sequence[str]]
) -> list[str]:
    """What went wrong with the faults of each call to the system, one run for each."""
    disk, raised = run(works(kind), 0, None)
    assert raised is None
    calls = disk.count
    assert calls > 5
    problems = []
    for at, fault in ((call, fault) for call in range(1, calls + 1) for fault in faults(call)):
        work = works(kind)
        before = descriptors()
        disk, raised = run(work, at, FAULTS[fault])
        after = descriptors()
        told = f"call {at} of {calls}, {disk.failed}, {fault}: {raised!r}"
        if raised is not None and not isinstance(raised, CassetteError):
            problems.append(f"no error of ours: {told}")
        if fault == "short" and raised is not None:
            problems.append(f"a short write is no failure: {told}")
        if disk.failed in SYNCS and fault != "short" and raised is None:
            problems.append(f"a failed sync was swallowed: {told}")
        if not after <= before:
            problems.append(f"left open: {after - before}: {told}")
        try:
            work.check(failed=raised is not None)
        except (AssertionError, CassetteError) as exc:
            problems.append(f"{exc}: {told}")
    return problems


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", WORKS, ids=lambda kind: kind.__name__.lower())
def test_whatever_call_fails_nothing_is_half_and_nothing_is_lost(
    kind: type[Work], fault: str, works: Callable[..., Work]
) -> None:
    """Every fault at every call to the system."""
    assert problems_of(kind, works, lambda _: [fault]) == []


@needs_proc
@pytest.mark.parametrize("kind", WORKS, ids=lambda kind: kind.__name__.lower())
def test_some_calls_fail_and_nothing_is_half_and_nothing_is_lost(
    kind: type[Work], works: Callable[..., Work]
) -> None:
    """As above, a sample: one fault at every third call."""
    faults = [*FAULTS]

    assert problems_of(kind, works, lambda at: [] if at % 3 else [faults[at // 3 % 4]]) == []


def unkilled(kind: type[Work], works: Callable[..., Work], step: int) -> list[str]:
    """What a kill before each call, or each of so many, left half."""
    calls = run(works(kind), 0, None)[0].count
    assert calls > 5
    problems = []
    for at in range(1, calls + 1, step):
        work = works(kind)
        pid = os.fork()
        if pid == 0:
            run(work, at, KILLED)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        try:
            work.check(failed=True)
        except (AssertionError, CassetteError) as exc:
            problems.append(f"{exc}: killed before call {at} of {calls}")
        if status != signal.SIGKILL:
            problems.append(f"not killed before call {at} of {calls}: {status}")
    return problems


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("kind", KILLED_WORKS)
def test_a_kill_before_whatever_call_leaves_nothing_half(
    kind: type[Work], works: Callable[..., Work]
) -> None:
    """Forks end by -9 once before each call to the system; nothing of ours can clean up."""
    assert unkilled(kind, works, 1) == []


@pytest.mark.sampled(2)
@needs_proc
@pytest.mark.parametrize("kind", KILLED_WORKS)
def test_a_kill_before_some_call_leaves_nothing_half(
    kind: type[Work], works: Callable[..., Work]
) -> None:
    """As above, a sample."""
    assert unkilled(kind, works, 7) == []


@needs_proc
def test_the_name_of_a_durable_journal_is_synced_before_anything_is_recorded(
    works: Callable[..., Work],
) -> None:
    """After a crash of the machine a file without a name is lost, whole as it may be."""
    work = works(Journal)
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, work.place)
        work.run()
    assert work.journal is not None
    folder = work.journal.parent
    named = disk.seen.index(("link", str(work.journal)))
    synced = [disk.seen.index(("fsync", str(place))) for place in (folder, folder.parent)]
    recorded = [at for at, (name, _) in enumerate(disk.seen) if name == "writev" and at > named]

    assert named < min(synced)
    assert max(synced) < min(recorded)


@needs_proc
def test_a_journal_of_which_the_name_cannot_be_synced_is_none(works: Callable[..., Work]) -> None:
    """The program is not started, and nothing is left for ``recover``."""
    work = works(Journal)
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, work.place)
        work.run()
    folder = work.journal.parent if work.journal is not None else work.place
    at = disk.seen.index(("fsync", str(folder))) + 1
    work = works(Journal)
    _, raised = run(work, at, errno.EIO)

    assert isinstance(raised, StorageError)
    assert "the disk is failing" in str(raised)
    assert list(work.place.rglob("*.journal")) == []


def test_a_failed_sync_of_the_journal_is_told_once_and_not_tried_again(
    works: Callable[..., Work],
) -> None:
    """The kernel may have dropped the pages: a second sync that succeeds would be a lie."""
    work = works(Journal)
    calls = run(works(Journal), 0, None)[0].count
    failing = [run(works(Journal), at, errno.EIO) for at in range(1, calls + 1)]
    synced = [(disk, raised) for disk, raised in failing if disk.failed in SYNCS]

    assert synced
    assert all(isinstance(raised, StorageError) for _, raised in synced)
    assert not any(disk.synced_after for disk, _ in synced)
    assert stat.S_ISDIR(work.place.stat().st_mode)
