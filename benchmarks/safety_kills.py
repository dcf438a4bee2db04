"""kill -9 at random moments, with a planted secret: nothing lost, nothing half, nothing leaked.

``python -m benchmarks.safety_kills [--points N] [--seed S] [NAME...]``

Five things are killed, each at moments spread over its whole life: ``rec`` from its
start (``recording``), ``rec`` from the program's last line on (``finalising``: scrubbing,
verifying, publishing), ``recover``, ``scrub`` of a cassette in its place, and writing over
a cassette. After each kill

- the directory around the target is searched for the secret, and for its halves, in
  every file that is there, hidden staging directories included;
- the target does not exist or is a whole, valid, scrubbed cassette;
- what had been on the screen is in the cassette once the journal is recovered.

The secret is made at run time and lies in the environment of the program, which
prints it whole, in two colours, and over two writes. Everything runs in forks of this
process, so that a point costs milliseconds. The process ends with 1 when a figure is
missed.
"""

from __future__ import annotations

import os
import pty
import random
import secrets
import select
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from benchmarks.kills import run_kills
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main as command_line
from ptycassette.errors import NotFoundError
from ptycassette.model.records import Output
from ptycassette.recording.io import recording as rec_session
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.recording.io.rescrub import scrub_cassette
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.testing import write_cassette

__all__ = ["KILLS", "Outcome", "killed", "recorded"]

# Loaded and compiled once, so that the forks spend their lives on what is measured.
PREPARED = (rec_session, default_scrubber())
VARIABLE = "DEPLOY_TOKEN"
_MEASURE_EACH = 20
_CLEANED_UP_S = 10.0
SCRIPT = (
    "i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i; done;"
    "printf 'token %s end\\r\\n' \"$" + VARIABLE + '";'
    "a=${" + VARIABLE + "%????????????}; printf 'half \\033[31m%s\\033[32m' \"$a\";"
    "printf '%s\\033[0m\\r\\n' \"${" + VARIABLE + '#$a}"; echo last'
)


class Outcome(msgspec.Struct, kw_only=True):
    """What came of a number of kills. The last four are the figures that must be 0."""

    points: int = 0
    journals: int = 0
    published: int = 0
    nothing: int = 0
    lost: int = 0
    not_recovered: int = 0
    half: int = 0
    leaked: int = 0
    failures: list[str] = []

    def add(self, other: Outcome) -> None:
        """Count another one's in."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.lost or self.not_recovered or self.half or self.leaked)


def make_secret() -> str:
    """A value that no rule knows and no other text holds."""
    return f"{secrets.token_hex(10)}Q{secrets.token_hex(9)}z"


def pieces(secret: str) -> list[bytes]:
    """What may be found nowhere: the secret and its halves."""
    half = len(secret) // 2
    return [secret.encode(), secret[:half].encode(), secret[half:].encode()]


def leaks(place: Path, secret: str) -> list[str]:
    """The files below ``place`` that hold a piece of the secret."""
    found = []
    for folder, _, names in os.walk(place):
        for name in names:
            path = Path(folder, name)
            try:
                data = path.read_bytes()
            except OSError:
                continue
            if any(piece in data for piece in pieces(secret)):
                found.append(str(path))
    return found


def _start(action: Callable[[], object]) -> tuple[int, int]:
    """Run in a fork with a terminal of its own; process id and master side."""
    pid, fd = pty.fork()
    if pid == 0:
        status = 99
        with suppress(BaseException):
            # Those of the parent may stand for a file.
            sys.stdin = open(0, closefd=False)  # noqa: SIM115
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            done = action()
            status = done if isinstance(done, int) else 0
        os._exit(status)
    return pid, fd


def _seen(fd: int, until: float) -> bytes:
    """What appears on the screen until that moment, or until the terminal is closed."""
    shown = b""
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        try:
            shown += os.read(fd, 65536)
        except OSError:
            time.sleep(max(0.0, until - time.monotonic()))
            break
    return shown


def killed(action: Callable[[], object], seconds: float, *, after: bytes = b"") -> bytes:
    """Run, kill -9 at that moment; everything that was on the screen.

    The moment counts from when ``after`` is on the screen.
    """
    pid, fd = _start(action)
    shown = b""
    while after not in shown:
        shown += os.read(fd, 65536)
    shown += _seen(fd, time.monotonic() + seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    shown += _seen(fd, time.monotonic() + 0.002)  # what was on its way to the screen already
    os.close(fd)
    return shown


def length_of(action: Callable[[], object], *, after: bytes = b"") -> float:
    """How long it takes undisturbed, from when ``after`` is on the screen."""
    began = time.monotonic()
    pid, fd = _start(action)
    shown = b""
    with suppress(OSError):
        while data := os.read(fd, 65536):
            if after not in shown and after in (shown := shown + data):
                began = time.monotonic()
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    if status:
        raise RuntimeError(f"an undisturbed run ended with {status}: {shown!r}")
    return time.monotonic() - began


def moments(
    measure: Callable[[], float], count: int, until: float, *, seed: int = 1
) -> Iterator[float]:
    """``count`` moments over a life and a little more, fewer when time is up.

    ``measure`` tells how long a life is. It is asked again now and then, as a busy machine
    makes lives longer.
    """
    chance = random.Random(f"{seed} {count}")  # noqa: S311 - moments, not secrets
    order = list(range(count))
    chance.shuffle(order)
    measure()  # the first one is slow
    lengths = [measure() for _ in range(3)]
    for at, number in enumerate(order):
        if time.monotonic() > until:
            return
        if at % _MEASURE_EACH == _MEASURE_EACH - 1:
            lengths = [*lengths[1:], measure()]
        yield (number + chance.random()) * 1.1 * statistics.median(lengths) / count


def recorded(target: Path) -> bytes | None:
    """The bytes of the cassette, which must be a valid one; None when there is none."""
    try:
        with open_cassette(target) as cassette:
            return b"".join(cassette.raw())
    except NotFoundError:
        return None


def _same(shown: bytes, kept: bytes, secret: str) -> bool:
    """Whether all that was shown is kept, the secret's bytes apart (scrubbing keeps lengths)."""
    if len(kept) < len(shown):
        return False
    plain, half = secret.encode(), len(secret) - 12
    masked: set[int] = set()
    for piece in (plain, plain[:half], plain[half:]):
        at = shown.find(piece[:4])
        while at != -1:
            masked.update(range(at, at + len(piece)))
            at = shown.find(piece[:4], at + 1)
    return all(kept[at] == byte for at, byte in enumerate(shown) if at not in masked)


def _rec(target: Path, lines: int, secret: str, *, tail: str = "") -> Callable[[], object]:
    def run() -> int:
        os.environ[VARIABLE] = secret
        script = SCRIPT.replace("{lines}", str(lines)) + tail
        return command_line(["rec", "-q", str(target), "--", "sh", "-c", script])

    return run


def _judge(outcome: Outcome, target: Path, secret: str, shown: bytes, at: str) -> None:
    """Look at what a kill left, recover, and look again."""
    outcome.points += 1
    found = leaks(target.parent, secret)
    try:
        before = recorded(target)
    except Exception as exc:  # noqa: BLE001 - that is what is counted
        outcome.half += 1
        outcome.failures.append(f"{at}: {exc}")
        return
    journals = [Path(left.path) for left in left_journals(journal_dir())]
    try:
        for journal in journals:
            recover(journal)
        after = recorded(target)
    except Exception as exc:  # noqa: BLE001 - likewise
        outcome.not_recovered += 1
        outcome.failures.append(f"{at}: {exc}")
        return
    kind = "published" if before is not None else "journals" if journals else "nothing"
    setattr(outcome, kind, getattr(outcome, kind) + 1)
    found += leaks(target.parent, secret)
    if found:
        outcome.leaked += 1
        outcome.failures.append(f"{at}: the secret is in {found}")
    if not _same(shown, after or b"", secret):
        outcome.lost += 1
        outcome.failures.append(f"{at}: of {len(shown)} bytes {len(after or b'')} are kept")


def _folder(place: Path, number: int | str) -> Path:
    folder = place / str(number)
    folder.mkdir(parents=True)
    return folder


def _remove(folder: Path) -> None:
    """Remove it, while a saver that has lost its recorder may still be cleaning up there."""
    until = time.monotonic() + _CLEANED_UP_S
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < until)


def _rec_killed(
    place: Path, points: int, until: float, seed: int, *, after: bytes = b""
) -> Outcome:
    outcome, secret = Outcome(), make_secret()

    def measure() -> float:
        folder = _folder(place, "whole")
        try:
            return length_of(_rec(folder / "c", 40, secret), after=after)
        finally:
            shutil.rmtree(folder)

    for number, seconds in enumerate(moments(measure, points, until, seed=seed)):
        folder = _folder(place, number)
        shown = killed(_rec(folder / "c", 40, secret), seconds, after=after)
        _judge(outcome, folder / "c", secret, shown, f"rec killed after {seconds:.4f} s")
        _remove(folder)
    return outcome


def kill_recordings(place: Path, points: int, *, until: float, seed: int = 1) -> Outcome:
    """Kill ``rec`` from its start to its end."""
    return _rec_killed(place, points, until, seed)


def kill_finalisers(place: Path, points: int, *, until: float, seed: int = 1) -> Outcome:
    """Kill ``rec`` from the program's last line on."""
    return _rec_killed(place, points, until, seed, after=b"last")


def kill_recoveries(place: Path, points: int, *, until: float, seed: int = 1) -> Outcome:
    """Kill ``recover``, recover again. One journal serves for all, put back each time."""
    outcome, secret = Outcome(), make_secret()
    shown = killed(
        _rec(_folder(place, -1) / "c", 40, secret, tail="; exec sleep 60"), 0.0, after=b"last"
    )
    (journal,) = (Path(left.path) for left in left_journals(journal_dir()))
    data = journal.read_bytes()
    target = place / "-1" / "c"

    def run() -> int:
        return command_line(["recover", str(journal)])

    def put_back() -> None:
        shutil.rmtree(target, ignore_errors=True)
        journal.write_bytes(data)
        journal.chmod(0o600)

    def measure() -> float:
        put_back()
        return length_of(run)

    for seconds in moments(measure, points, until, seed=seed):
        put_back()
        killed(run, seconds)
        _judge(outcome, target, secret, shown, f"recover killed after {seconds:.4f} s")
    return outcome


def kill_scrubs(place: Path, points: int, *, until: float, seed: int = 1) -> Outcome:
    """Kill ``scrub`` of a cassette in its place: it is the old one or the new one, and whole."""
    outcome, secret = Outcome(), make_secret()
    data = b"".join(b"line %d\r\n" % n for n in range(40)) + f"token {secret}\r\n".encode()
    folder = _folder(place, 0)
    target, kept = folder / "c", place / "kept"
    write_cassette(kept, Output(0, data))

    def scrub() -> int:
        os.environ[VARIABLE] = secret
        return command_line(["scrub", str(target)])

    def put_back() -> None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(kept, target)

    def measure() -> float:
        put_back()
        return length_of(scrub)

    for seconds in moments(measure, points, until, seed=seed):
        put_back()
        killed(scrub, seconds)
        outcome.points += 1
        try:
            found = recorded(target)
        except Exception as exc:  # noqa: BLE001 - that is what is counted
            outcome.half += 1
            outcome.failures.append(f"scrub killed after {seconds:.4f} s: {exc}")
            continue
        old = found == data
        outcome.nothing += old
        outcome.published += not old
        outcome.lost += found is None or len(found) != len(data)
        if left := seen_by_git(folder, target if old else None, secret):
            outcome.leaked += 1
            outcome.failures.append(f"scrub killed after {seconds:.4f} s: the secret in {left}")
        scrub_cassette(target, default_scrubber(known=[secret]))
        if left := leaks(target, secret):
            outcome.not_recovered += 1
            outcome.failures.append(f"scrub killed after {seconds:.4f} s, and again: {left}")
    return outcome


def seen_by_git(folder: Path, unscrubbed: Path | None, secret: str) -> list[str]:
    """Where the secret is, apart from the cassette that was to be scrubbed and what is ignored."""
    found = []
    for path in folder.iterdir():
        if path == unscrubbed:
            continue
        ignored = path / ".gitignore"
        if ignored.exists() and ignored.read_bytes() == b"*\n" and path.stat().st_mode & 0o77 == 0:
            continue
        found += leaks(path, secret)
    return found


def kill_writers(place: Path, points: int, *, until: float, seed: int = 1) -> Outcome:
    """Kill a writer that replaces a cassette: the old one or the new one stands there, whole."""
    outcome = Outcome()
    target = _folder(place, 0) / "c"
    versions = [b"old " * 50_000, b"new " * 50_000]

    def write(data: bytes) -> Callable[[], object]:
        return lambda: write_cassette(target, Output(0, data), overwrite=True)

    write(versions[0])()
    measured = moments(lambda: length_of(write(versions[0])), points, until, seed=seed)
    for number, seconds in enumerate(measured):
        killed(write(versions[number % 2]), seconds)
        outcome.points += 1
        try:
            kept = recorded(target)
        except Exception as exc:  # noqa: BLE001 - that is what is counted
            outcome.half += 1
            outcome.failures.append(f"writer killed after {seconds:.4f} s: {exc}")
            continue
        outcome.published += kept in versions
        outcome.lost += kept not in versions
    write(versions[0])()
    if [path.name for path in target.parent.iterdir()] != ["c"]:
        outcome.half += 1
        outcome.failures.append(f"left beside the target: {list(target.parent.iterdir())}")
    return outcome


KILLS: dict[str, Callable[..., Outcome]] = {
    "recording": kill_recordings,
    "finalising": kill_finalisers,
    "recovering": kill_recoveries,
    "scrubbing": kill_scrubs,
    "replacing": kill_writers,
}


def kill(name: str, points: int, *, seed: int = 1, seconds: float = 1e9) -> Outcome:
    """Kill what is named, in a temporary place, at most for so long."""
    before = os.environ.get("PTYCASSETTE_STATE_DIR")
    with tempfile.TemporaryDirectory() as made:
        os.environ["PTYCASSETTE_STATE_DIR"] = str(Path(made, "state"))
        try:
            until = time.monotonic() + seconds
            return KILLS[name](Path(made, "targets"), points, until=until, seed=seed)
        finally:
            del os.environ["PTYCASSETTE_STATE_DIR"]
            if before is not None:
                os.environ["PTYCASSETTE_STATE_DIR"] = before


def _line(done: Outcome) -> str:
    return (
        f"{done.points} points ({done.journals} left a journal, {done.published} a "
        f"cassette, {done.nothing} nothing new): {done.lost} lost, "
        f"{done.not_recovered} not recovered, {done.half} half, {done.leaked} leaked"
    )


def main() -> int:
    """Kill what is named, everything when nothing is; the exit status."""
    return run_kills(KILLS, kill, _line, about=__doc__, points=500)


if __name__ == "__main__":
    raise SystemExit(main())
