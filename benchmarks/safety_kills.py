"""kill -9 at random moments, with a planted secret: nothing lost, nothing half, nothing leaked.

Four things are killed, each at moments spread over its whole life: recording
(start, session, scrubbing, finalising, publishing), recovering, scrubbing a
cassette in its place, and writing over a cassette. After each kill

- the directory around the target is searched for the secret, and for the first
  half of it, in every file that is there, hidden staging directories included;
- the target does not exist or is a whole, valid, scrubbed cassette;
- what had been on the screen is in the cassette once the journal is recovered.

The secret is made at run time and lies in the environment of the program, which
prints it whole, in two colours, and over two writes.
"""

from __future__ import annotations

import os
import pty
import random
import secrets
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ptycassette.cli import main as command_line
from ptycassette.errors import NotFoundError
from ptycassette.host import rec_session
from ptycassette.host.cassette_reader import open_cassette
from ptycassette.host.recovery import left_behind, recover
from ptycassette.host.scrub_cassette import scrub_cassette
from ptycassette.host.staging import journal_dir
from ptycassette.model import Output
from ptycassette.scrub import default_scrubber
from ptycassette.testing import write_cassette

__all__ = ["Outcome", "kill_recordings", "kill_recoveries", "kill_scrubs", "kill_writers"]

# Loaded and compiled once, so that the forks spend their lives on what is measured.
PREPARED = (rec_session, default_scrubber())
VARIABLE = "DEPLOY_TOKEN"
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
    told: list[str] = []

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
    pid, fd = pty.fork()
    if pid == 0:
        status = 99
        with suppress(BaseException):
            done = action()
            status = done if isinstance(done, int) else 0
        os._exit(status)
    return pid, fd


def _seen(fd: int, until: float) -> bytes:
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
    """Run in a fork with a terminal of its own, kill at that moment; what was on the screen."""
    pid, fd = _start(action)
    shown = b""
    while after not in shown:
        shown += os.read(fd, 65536)
    shown += _seen(fd, time.monotonic() + seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    shown += _seen(fd, time.monotonic() + 0.002)
    os.close(fd)
    return shown


def length_of(action: Callable[[], object]) -> float:
    """How long it takes undisturbed."""
    began = time.monotonic()
    pid, fd = _start(action)
    with suppress(OSError):
        while os.read(fd, 65536):
            pass
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    if status:
        raise RuntimeError(f"an undisturbed run ended with {status}")
    return time.monotonic() - began


def moments(length_s: float, count: int, until: float) -> Iterator[float]:
    """``count`` moments over a life and a little more, fewer when time is up."""
    chance = random.Random(count)  # noqa: S311 - moments, not secrets
    order = list(range(count))
    chance.shuffle(order)
    for number in order:
        if time.monotonic() > until:
            return
        yield (number + chance.random()) * 1.1 * length_s / count


def _output(target: Path) -> bytes | None:
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
        before = _output(target)
    except Exception as exc:  # noqa: BLE001 - that is what is counted
        outcome.half += 1
        outcome.told.append(f"{at}: {exc}")
        return
    journals = [Path(left.path) for left in left_behind(journal_dir())]
    try:
        for journal in journals:
            recover(journal)
        after = _output(target)
    except Exception as exc:  # noqa: BLE001 - likewise
        outcome.not_recovered += 1
        outcome.told.append(f"{at}: {exc}")
        return
    kind = "published" if before is not None else "journals" if journals else "nothing"
    setattr(outcome, kind, getattr(outcome, kind) + 1)
    found += leaks(target.parent, secret)
    if found:
        outcome.leaked += 1
        outcome.told.append(f"{at}: the secret is in {found}")
    if not _same(shown, after or b"", secret):
        outcome.lost += 1
        outcome.told.append(f"{at}: of {len(shown)} bytes {len(after or b'')} are kept")


def _folder(place: Path, number: int) -> Path:
    folder = place / str(number)
    folder.mkdir(parents=True)
    return folder


def _clear(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    folder.rmdir()


def kill_recordings(place: Path, points: int, *, until: float) -> Outcome:
    """Kill ``ptycassette rec`` from its start to its end."""
    outcome, secret = Outcome(), make_secret()
    length_s = max(length_of(_rec(_folder(place, -n) / "c", 40, secret)) for n in range(1, 4))
    for number, seconds in enumerate(moments(length_s, points, until)):
        folder = _folder(place, number)
        shown = killed(_rec(folder / "c", 40, secret), seconds)
        _judge(outcome, folder / "c", secret, shown, f"rec killed after {seconds:.4f} s")
        _clear(folder)
    return outcome


def kill_recoveries(place: Path, points: int, *, until: float) -> Outcome:
    """Kill a recovery, recover again."""
    outcome, secret = Outcome(), make_secret()
    length_s = 0.1
    for number, share in enumerate(moments(1.0, points, until)):
        folder = _folder(place, number)
        target = folder / "c"
        shown = killed(_rec(target, 40, secret, tail="; exec sleep 60"), 0.0, after=b"last")
        for left in left_behind(journal_dir()):
            journal = Path(left.path)
            began = time.monotonic()
            killed(lambda journal=journal: recover(journal), share * length_s)  # type: ignore[misc]
            if _output(target) is not None:
                length_s = 0.9 * length_s + 0.1 * (time.monotonic() - began)
        _judge(outcome, target, secret, shown, f"recover killed at {share:.3f} of its life")
        _clear(folder)
    return outcome


def kill_scrubs(place: Path, points: int, *, until: float) -> Outcome:
    """Kill ``scrub`` of a cassette in its place: it is the old one or the new one, and whole."""
    outcome, secret = Outcome(), make_secret()
    data = b"".join(b"line %d\r\n" % n for n in range(40)) + f"token {secret}\r\n".encode()

    def scrub(target: Path) -> Callable[[], object]:
        return lambda: scrub_cassette(target, default_scrubber(known=[secret]))

    folder = _folder(place, -1)
    write_cassette(folder / "c", Output(0, data))
    length_s = length_of(scrub(folder / "c"))
    for number, seconds in enumerate(moments(length_s, points, until)):
        folder = _folder(place, number)
        target = folder / "c"
        write_cassette(target, Output(0, data))
        killed(scrub(target), seconds)
        outcome.points += 1
        try:
            kept = _output(target)
        except Exception as exc:  # noqa: BLE001 - that is what is counted
            outcome.half += 1
            outcome.told.append(f"scrub killed after {seconds:.4f} s: {exc}")
            continue
        old = kept == data
        outcome.nothing += old
        outcome.published += not old
        outcome.lost += kept is None or len(kept) != len(data)
        # What stands beside the target: a staging directory, or, swapped out, the old cassette.
        beside = [path for path in folder.iterdir() if path != target]
        if old and any(leaks(path, secret) for path in beside):
            outcome.leaked += 1
            outcome.told.append(f"scrub killed after {seconds:.4f} s: the secret in {beside}")
        scrub_cassette(target, default_scrubber(known=[secret]))
        if left := leaks(folder, secret):
            outcome.not_recovered += 1
            outcome.told.append(f"scrub killed after {seconds:.4f} s, and again: {left}")
        _clear(folder)
    return outcome


def kill_writers(place: Path, points: int, *, until: float) -> Outcome:
    """Kill a writer that replaces a cassette: the old one or the new one stands there, whole."""
    outcome = Outcome()
    target = _folder(place, 0) / "c"
    versions = [b"old " * 50_000, b"new " * 50_000]

    def write(data: bytes) -> Callable[[], object]:
        return lambda: write_cassette(target, Output(0, data), overwrite=True)

    write(versions[0])()
    length_s = length_of(write(versions[0]))
    for number, seconds in enumerate(moments(length_s, points, until)):
        killed(write(versions[number % 2]), seconds)
        outcome.points += 1
        try:
            kept = _output(target)
        except Exception as exc:  # noqa: BLE001 - that is what is counted
            outcome.half += 1
            outcome.told.append(f"writer killed after {seconds:.4f} s: {exc}")
            continue
        outcome.published += kept in versions
        outcome.lost += kept not in versions
    write(versions[0])()
    if [path.name for path in target.parent.iterdir()] != ["c"]:
        outcome.half += 1
        outcome.told.append(f"left beside the target: {list(target.parent.iterdir())}")
    return outcome
