"""Runs a stand-in: opens the cassette, drives the engine, writes the report, ends.

The heavy parts (the emulator for the screen of a divergence) are loaded only when
they are needed; imports inside functions are for that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import msgspec

from ptycassette.cassette.edits import refuse_in_process
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.match import read_secrets
from ptycassette.errors import CassetteError, RecordError, StorageError, UsageError
from ptycassette.model.records import (
    Event,
    ExitStatus,
    OutputRecord,
    OutputStream,
    StreamKinds,
    native,
    storable,
    streams_of,
)
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible
from ptycassette.replaying.standin.comparison import (
    Halt,
    Listen,
    Play,
    RunEnded,
    StandinReport,
    report_lines,
    report_object,
)
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.replaying.standin.io.options import StandinArguments, parse_settings
from ptycassette.seal.io.policy import require_seal
from ptycassette.system.files.whole_file import check_replaceable, read_plain, write_whole
from ptycassette.system.pty.terminal import (
    STOPPING,
    TAKEN,
    WAITED,
    WaitedSignals,
    signal_name,
    signal_number,
)

if TYPE_CHECKING:
    from ptycassette.replaying.standin.io._recorded_screens import RecordedScreens


# Line ends of a terminal, as a program wrote them.


class UnixNewlines:
    """Turns CR LF, however split, back into the LF that the program wrote."""

    def __init__(self) -> None:
        self._held = b""

    def __call__(self, data: bytes) -> bytes:
        """The next piece; a CR at its end waits for the byte after it."""
        data = self._held + data
        self._held = b"\r" if data.endswith(b"\r") else b""
        return data.removesuffix(self._held).replace(b"\r\n", b"\n")


# Ends a stand-in as the recorded program ended, also by a signal.


_NO_END = {
    *(signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT),
    *(signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH),
}
"""No program ends by these, whatever a recording says; some would stop the stand-in for ever."""


def signal_of_text(text: str) -> int | None:
    """The number of a signal as cassettes describe it: ``terminated``, ``TERM``, ``signal 15``."""
    wanted = text.strip().lower()
    digits = wanted.removeprefix("signal ").strip()
    if digits.isdecimal():
        number = int(digits) if len(digits) < 4 else 0
        return number if 0 < number < signal.NSIG else None
    short = wanted.removeprefix("sig")
    for known in signal.valid_signals():
        described = (signal.strsignal(known) or "").split(":")[0].lower()
        named = getattr(known, "name", "").removeprefix("SIG").lower()  # real-time ones lack it
        if (described and wanted == described) or (named and short == named):
            return int(known)
    return None


def end_process(exit_status: ExitStatus) -> NoReturn:
    """End as the recorded program did: with its status, or by its signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    if exit_status.signaled:
        number = signal_of_text(exit_status.signal)
        if number is not None:
            if number not in _NO_END:
                _raise_again(number)
            os._exit(128 + number)
    os._exit(exit_status.code & 0xFF if exit_status.exited else 125)


def _raise_again(number: int) -> None:
    import resource  # noqa: PLC0415 - rarely needed, and start-up counts

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


# The terminal or the pipes between a stand-in and its driver: bytes, size, signals.


READ_BYTES = 65_536


class Data(msgspec.Struct, frozen=True):
    """Bytes from the driver."""

    data: bytes
    cooked: bool = False


class InputEnded(msgspec.Struct, frozen=True):
    """The end of input. ``gone``: nothing can be written any more either."""

    gone: bool


class TerminalResized(msgspec.Struct, frozen=True):
    """The terminal has another size."""

    size: Size


class SignalCame(msgspec.Struct, frozen=True):
    """A signal; ``name`` is its lower-case short name."""

    name: str


Happening = Data | InputEnded | TerminalResized | SignalCame


class DriverPort:
    """Standard input and output of a stand-in.

    Args:
        stdin, stdout: the descriptors.
        early: input that was read before this object existed; it was cooked.
        saved: terminal attributes to restore at the end, if raw mode is already set.
        kinds: the kinds of the recorded program's streams.

    Attributes:
        most_input: how many more bytes of stdin to read; None for all.
    """

    def __init__(
        self,
        stdin: int = 0,
        stdout: int = 1,
        *,
        early: bytes = b"",
        saved: list[object] | None = None,
        kinds: StreamKinds | None = None,
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self._kinds = kinds or StreamKinds()
        self._shown = self._terminal_output()
        # A terminal that was closed meanwhile does not look like one any more.
        self.is_terminal = saved is not None or os.isatty(self._shown)
        self._input_is_terminal = saved is not None or (
            os.isatty(stdin) and self._kinds.stdin == "terminal"
        )
        self.most_input: int | None = None
        self._stdin_start = _offset_of(stdin)
        self._saved = saved
        self._early = early
        self._pending: deque[tuple[int, bytes]] = deque()
        self._lost: set[int] = set()
        self._input_open = True
        self._gone = False
        self._hung_up = False
        self._continued = False
        self._waited = WaitedSignals(self._wake)
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        self._out = self._open_output()

    # -- start and end -----------------------------------------------------------

    def start(self, recorded: Container[str] = ()) -> None:
        """Watch signals, and set the terminal raw.

        Signals that this process ignores from its start, and those that stop it, are watched only
        if the recording has them: otherwise they do what they do to every program.

        Args:
            recorded: the names of the signals in the recording.
        """
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in TAKEN:
            special = number in STOPPING or signal.getsignal(number) is signal.SIG_IGN
            if not special or signal_name(number) in recorded:
                signal.signal(number, self._woken)
        self._waited.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals() - WAITED)
        if self._saved is None and self._input_is_terminal:
            self._saved = set_raw(self.stdin)
            self._early = read_now(self.stdin)

    def close(self) -> None:
        """Restore the terminal; descriptors of the driver stay open."""
        if self._saved is not None and not self._gone:
            self._set_terminal(self._saved)
        offset = self._kinds.stdin_offset
        if offset is not None and self._stdin_start is not None:
            with contextlib.suppress(OSError, OverflowError):
                os.lseek(self.stdin, max(0, self._stdin_start + offset), os.SEEK_SET)
        self._waited.stop()
        signal.set_wakeup_fd(-1)
        for end in (self._wake_read, self._wake_write):
            os.close(end)
        if self._out != self._shown:
            os.close(self._out)

    def stop(self, name: str) -> None:
        """Stop this process as signal ``name`` does by default; returns when it is continued.

        Returns at once if it was continued since that signal came, or the system does not stop it
        (an orphaned process group).
        """
        number = signal_number(name)
        if self._saved is not None:
            self._set_terminal(self._saved)
        # While it is blocked it is pending, and SIGCONT takes it back.
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)
        signal.signal(number, signal.SIG_IGN if self._continued else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        signal.signal(number, self._woken)
        if self._saved is not None:
            set_raw(self.stdin)

    # -- progress ----------------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Whether the driver closed its side: nothing can be written any more."""
        return self._gone

    @property
    def takes_keys(self) -> bool:
        """Whether input ends only with the driver, as at a terminal."""
        return self.is_terminal and self._kinds.stdin == "terminal"

    @property
    def size(self) -> Size | None:
        """The size of the terminal; None over pipes, or if no size is set."""
        if not self.is_terminal:
            return None
        try:
            packed = fcntl.ioctl(self._shown, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return None
        rows, cols = struct.unpack("HHHH", packed)[:2]
        return Size(rows=rows, cols=cols) if rows and cols else None

    @property
    def hung_up(self) -> bool:
        """Whether the terminal was closed on the driver's side (its ioctls fail then)."""
        if not self.is_terminal:
            return False
        try:
            fcntl.ioctl(self._shown, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return True
        return False

    def queue(self, data: bytes, stream: OutputStream | None = None) -> None:
        """Write ``data`` as the driver takes it; see ``flushed``."""
        fd = self._fd_of(stream)
        if data and fd not in self._lost:
            self._pending.append((fd, data))

    def close_stream(self, stream: OutputStream | None) -> None:
        """Close one of our streams, as the recorded program did."""
        fd = self.stdin if stream == "stdin" else self._fd_of(stream)
        if stream == "stdin":
            self._input_open = False
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, fd)
        os.close(null)

    def _terminal_output(self) -> int:
        """The descriptor for terminal output: a stream that was the program's terminal."""
        kinds = self._kinds
        if kinds.stdout == "terminal" or not kinds.with_terminal:
            return self.stdout
        return 2 if kinds.stderr == "terminal" else self.stdin

    def _fd_of(self, stream: OutputStream | None) -> int:
        if stream is None:
            return self._out
        return 2 if stream == "stderr" else self.stdout

    @property
    def flushed(self) -> bool:
        """Whether everything queued was written, or the driver is gone."""
        return self._gone or not self._pending

    def wait(self, timeout_us: int | None) -> Iterator[Happening]:
        """Wait for the driver's next event, at most ``timeout_us`` (for ever when None)."""
        if self._early:
            early, self._early = self._early, b""
            yield Data(early, cooked=True)
            return
        # select, because poll does not support terminals on every macOS.
        listens = self._input_open and self.most_input != 0
        readers = [self._wake_read, self.stdin] if listens else [self._wake_read]
        writers = [self._pending[0][0]] if self._pending else []
        timeout_s = None if timeout_us is None else timeout_us / 1e6
        readable, writable, _ = select.select(readers, writers, [], timeout_s)
        if self._wake_read in readable:
            yield from self._signals()
        if writable:
            yield from self._write()
        if self.stdin in readable and listens and self._input_open:
            yield self._read()

    # -- inside --------------------------------------------------------------------

    def _read(self) -> Happening:
        try:
            data = os.read(self.stdin, min(READ_BYTES, self.most_input or READ_BYTES))
        except OSError as exc:
            if exc.errno not in {errno.EIO, errno.EBADF, errno.ECONNRESET}:
                raise
            data = b""
        if data:
            if self.most_input is not None:
                self.most_input -= len(data)
            return Data(data)
        self._input_open = False
        self._hung_up = self._input_is_terminal
        self._gone = self._gone or (self._hung_up and self.is_terminal)
        return InputEnded(gone=self._gone)

    def _write(self) -> Iterator[Happening]:
        fd, data = self._pending[0]
        try:
            # A pipe that is ready takes PIPE_BUF bytes without blocking (POSIX).
            whole = self.is_terminal and fd == self._out
            done = os.write(fd, data if whole else data[: select.PIPE_BUF])
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in {errno.EIO, errno.EPIPE, errno.ECONNRESET}:
                raise
            if not self._kinds.only_terminal:
                self._lose(fd)
                return
            self._gone = True
            yield InputEnded(gone=True)
            return
        if done == len(data):
            self._pending.popleft()
        else:
            self._pending[0] = (fd, data[done:])

    def _lose(self, fd: int) -> None:
        """Drop a stream that has no reader any more; others may still be read."""
        self._lost.add(fd)
        self._pending = deque(item for item in self._pending if item[0] != fd)

    def _signals(self) -> Iterator[Happening]:
        for number in os.read(self._wake_read, READ_BYTES):
            if number == signal.SIGWINCH:
                size = self.size
                if size is not None:
                    yield TerminalResized(size)
            elif number == signal.SIGCONT:
                if self._saved is not None:  # a shell restored its own modes while we were stopped
                    with contextlib.suppress(termios.error):
                        set_raw(self.stdin)
            else:
                yield SignalCame(signal_name(number))

    def _woken(self, number: int, frame: object) -> None:
        """Note a stop and its end. The wake-up descriptor reports the number of the signal."""
        del frame
        self._continued = number == signal.SIGCONT or (self._continued and number not in STOPPING)

    def _wake(self, number: int) -> None:
        """Take a signal that another thread waited for, as if it had been handled here."""
        with contextlib.suppress(OSError):  # it is full, or closed
            os.write(self._wake_write, bytes([number]))

    def _set_terminal(self, attributes: list[object]) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.stdin, termios.TCSANOW, attributes)  # type: ignore[arg-type]

    def _open_output(self) -> int:
        """Open the output again, non-blocking, so that the driver's own flags do not change."""
        if self.is_terminal:
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
                return os.open(os.ttyname(self._shown), flags)
        return self._shown


def _offset_of(fd: int) -> int | None:
    try:
        return os.lseek(fd, 0, os.SEEK_CUR)
    except OSError:
        return None


def now_us() -> int:
    """Monotonic microseconds. ``system.clock`` would load asyncio, which slows the start-up."""
    return time.monotonic_ns() // 1000


def set_raw(fd: int) -> list[object]:
    """Set a terminal raw without echo; returns the attributes that it had."""
    saved = termios.tcgetattr(fd)
    raw = [*saved[:6], list(saved[6])]
    raw[0] &= ~(
        termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.INPCK
        | termios.ISTRIP | termios.IXON
    )  # fmt: skip
    raw[1] &= ~termios.OPOST
    raw[2] = (raw[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    with contextlib.suppress(termios.error):
        termios.tcsetattr(fd, termios.TCSANOW, raw)
    return list(saved)


def read_now(fd: int) -> bytes:
    """All bytes that can be read without waiting."""
    if not select.select([fd], [], [], 0)[0]:
        return b""
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


# Writes and reads the report files of stand-ins.


_UNSAFE = re.compile(r"[^\w.-]+")
MAX_REPORT_BYTES = 64 << 20


def write_report(path: str, report: StandinReport) -> None:
    """Write a report as JSON to ``path``, and as text beside it (``.txt``).

    A directory (or a path that ends in a slash) gets two files per process. Nothing
    is written when ``path`` is empty. Readers never see half a report. Only
    regular files are replaced, never ``/dev/null``, a pipe or a link.

    Raises:
        ExistsError: there is such a file.
        StorageError: the disk or the directory refuses.
    """
    if not path:
        return
    try:
        target = _target(path, report)
        text = "".join(f"{line}\n" for line in report_lines(report))
        beside = target.with_name(f"{target.name.removesuffix('.json')}.txt")
        check_replaceable(beside)
        check_replaceable(target)
        _replace(target, json.dumps(storable(native(report_object(report))), indent=2) + "\n")
        _replace(beside, text)
    except (OSError, StorageError) as exc:
        why = exc.message if isinstance(exc, StorageError) else f"cannot be written: {exc.strerror}"
        raise StorageError(
            f"the report {why}", where=path,
            hint="name a file or a directory that may be written in PTYCASSETTE_REPORT",
        ) from exc  # fmt: skip


def read_reports(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The reports in a file or a directory, in the order in which the stand-ins started.

    Raises:
        RecordError: a file is not a report.
        UnsafeFileError, UnreadableError, LimitError: it cannot be read.
    """
    place = Path(path)
    if place.is_dir():
        files = sorted(place.glob("*.json"), key=lambda file: (_started_ns(file), file.name))
    else:
        files = [place] if place.exists() else []
    for file in files:
        try:
            report = json.loads(read_plain(file, max_bytes=MAX_REPORT_BYTES))
            kind = report["report"]
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            raise RecordError("not a report of a stand-in", where=str(file)) from exc
        if kind != "ptycassette-stand-in":
            raise RecordError("a report, but not of a stand-in", where=str(file))
        yield report


def _target(path: str, report: StandinReport) -> Path:
    place = Path(path)
    if not (path.endswith("/") or place.is_dir()):
        return place
    place.mkdir(parents=True, exist_ok=True)
    name = _UNSAFE.sub("_", Path(report.cassette).name)[:80] or "stand-in"
    return place / f"{name}-{report.pid}.json"


def _replace(target: Path, text: str) -> None:
    write_whole(target, [text.encode("utf-8", "backslashreplace")], durable=False)


def _started_ns(file: Path) -> int:
    return file.stat().st_mtime_ns


_PINNED_BYTES = 64 << 20
"""Of files that are hashed before they are played: some 40 ms."""

FAILED = 125
"""The stand-in's own exit status, as ``env`` and ``docker run`` use it."""


class Started(Protocol):
    """The work that start-up already did (``boot.Handover``)."""

    written: int
    checked: frozenset[str]
    early: bytes
    saved: list[object] | None
    size: tuple[int, int] | None


def run(args: Sequence[str], started: Started | None = None) -> int:
    """Run a stand-in with ``args``; ends the process when the recording was played to its end.

    Returns:
        125 when something diverged or failed, 2 when the arguments are wrong.
    """
    fallback = os.environ.get("PTYCASSETTE_REPORT", "")
    try:
        settings = parse_settings(args, report=fallback)
        if settings.fault:
            from ptycassette.replaying.io.faults import fault_in_force  # noqa: PLC0415 - few need it

            fault_in_force(settings.fault, {})
    except UsageError as wrong:
        _complain(wrong)
        return wrong.exit_status
    return play(settings, started)


def play(settings: StandinArguments, started: Started | None = None) -> int:
    """Play a cassette as the recorded program, by ``settings``. See ``run``."""
    report = StandinReport(
        result="running", cassette=settings.name or settings.cassette, argv=settings.argv,
        pid=os.getpid(),
    )  # fmt: skip
    try:
        settings.matching()
        require_seal(settings.cassette)
        with open_cassette(
            settings.cassette,
            expect_id=settings.expect_id,
            expect_sha256=settings.expect_sha256,
            allow_unscrubbed=settings.allow_unscrubbed,
            check="manifest",
        ) as cassette:
            refuse_in_process(cassette.manifest, settings.cassette)
            cassette.check_pins(
                most_bytes=_PINNED_BYTES, checked=started.checked if started else frozenset()
            )
            report = msgspec.structs.replace(
                report, cassette_id=cassette.manifest.id, fault=_fault_text(settings)
            )
            write_report(settings.report, report)
            report = _Run(cassette, settings, started).report(report)
        write_report(settings.report, report)
        if report.result == "diverged" and not (settings.report or settings.lenient):
            _tell(report)
    except CassetteError as failed:
        report = msgspec.structs.replace(report, result="failed", error=str(failed))
        with suppress(CassetteError):  # writing may be the failure
            write_report(settings.report, report)
        _complain(failed)
        return FAILED
    return end_process(report.exit or ExitStatus(code=FAILED, exited=True, signaled=False))


class _Run:
    def __init__(
        self, cassette: Cassette, settings: StandinArguments, started: Started | None
    ) -> None:
        self._cassette = cassette
        self._settings = settings
        self._skip = started.written if started else 0
        saved = started.saved if started else None
        kinds = streams_of(cassette.manifest)
        early = started.early if started else b""
        self._port = DriverPort(early=early, saved=saved, kinds=kinds)
        terminal = cassette.manifest.terminal
        at_terminal = self._port.is_terminal and kinds.with_terminal
        compare = at_terminal and not settings.ignore_size
        recorded = _size(terminal.initial_rows, terminal.initial_cols) if compare else None
        size = self._port.size if compare else None
        self._inputs = tuple(cassette.inputs())
        self._signals = frozenset(
            record.signal for record in self._inputs if record.kind == "signal" and record.signal
        )
        # A driver may set its size after we started; not if sizes are ignored.
        self._minds_sizes = not settings.ignore_size or any(
            record.kind == "resize" for record in self._inputs
        )
        self._fault_met = False
        self._engine = self._made_engine(
            options=msgspec.structs.replace(
                settings,
                recorded_size=recorded,
                stdin_is_stream=kinds.stdin != "terminal",
            ),
            matching=settings.matching(),
            size=_size(*started.size) if compare and started and started.size else size,
            screen=self._screen,
            secrets=read_secrets(cassette.manifest, where=str(cassette.path)),
        )
        if size is not None:
            self._engine.resized(size, now_us())
        self._port.most_input = self._engine.most_input
        self._shape = self._output_shape()
        self._screens: RecordedScreens | None = None

    def _made_engine(self, **options: Any) -> StandinEngine:
        """The engine, with its fault if requested; few runs need the modules of faults."""
        if not _fault_text(self._settings):
            return StandinEngine(self._cassette.events(), self._inputs, **options)
        from ptycassette.replaying.io.faults import fault_in_force, faulty_engine_of  # noqa: PLC0415

        spec = fault_in_force(self._settings.fault, os.environ)
        return faulty_engine_of(self._cassette, spec, self._note_met, options)

    def _note_met(self) -> None:
        self._fault_met = True

    def report(self, report: StandinReport) -> StandinReport:
        port = self._port
        port.start(self._signals)
        try:
            finished = self._loop(report)
            return self._judge(report, finished)
        finally:
            port.close()

    def _loop(self, report: StandinReport) -> RunEnded:
        engine, port = self._engine, self._port
        while True:
            todo = engine.step(now_us())
            match todo:
                case Play(event=event):
                    self._play(event)
                    if port.gone:
                        engine.stop()
                case Listen(us=us):
                    if engine.diverged:
                        port.most_input = None  # other lines have other lengths
                    if engine.awaits_kill and not engine.diverged:
                        killed = msgspec.structs.replace(report, result="passed", killed_by="kill")
                        write_report(self._settings.report, killed)
                    self._take(port.wait(us))
                case Halt(signal=name):
                    port.stop(name)
                case RunEnded():
                    return todo

    def _play(self, event: Event) -> None:
        port, record = self._port, event.record
        assert isinstance(record, OutputRecord)  # noqa: S101 - the engine plays outputs only
        data = self._unwritten(event)
        port.queue(self._shape(data) if record.stream is None else data, record.stream)
        while not port.flushed:
            self._take(port.wait(None))
        if record.eof:
            port.close_stream(record.stream)

    def _take(self, happenings: Iterator[Happening]) -> None:
        engine, port = self._engine, self._port
        for happening in happenings:
            at_us = now_us()  # not before: it is here that the port waits
            match happening:
                case Data(data=data, cooked=cooked):
                    engine.feed(data, at_us, cooked=cooked)
                case InputEnded(gone=gone):
                    engine.input_ended(of_pipe=not gone and not port.takes_keys)
                case TerminalResized(size=size):
                    if self._minds_sizes:
                        engine.resized(size, at_us)
                case _:
                    # A terminal that is closed sends HUP as well, which is not the driver's signal.
                    if happening.name == "hup" and "hup" not in self._signals and port.hung_up:
                        engine.input_ended()
                    else:
                        engine.signalled(happening.name, at_us)

    def _unwritten(self, event: Event) -> bytes:
        """The bytes of an event that start-up has not written."""
        data = event.data
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        return data[skipped:]

    def _output_shape(self) -> Callable[[bytes], bytes]:
        """How output is written: as recorded, or with the line ends of a pipe."""
        how = self._settings.newlines
        mode = self._cassette.manifest.terminal.pty_mode or {}
        at_terminal = mode.get("kind") != "pipe"
        kinds = streams_of(self._cassette.manifest)
        # A terminal without keys is not set raw, so it makes CR LF itself.
        cooked = kinds.with_terminal and kinds.stdin != "terminal"
        if how == "unix" or (
            how == "auto" and at_terminal and (cooked or not self._port.is_terminal)
        ):
            return UnixNewlines()
        return bytes

    def _judge(self, report: StandinReport, finished: RunEnded) -> StandinReport:
        engine, port = self._engine, self._port
        unplayed = engine.unplayed()
        result = "diverged" if engine.diverged else "unplayed" if unplayed else "passed"
        return msgspec.structs.replace(
            report,
            result=result,
            divergences=tuple(engine.divergences),
            notes=tuple(engine.notes),
            unplayed=unplayed,
            early_eof=port.gone and not finished.complete,
            killed_by=finished.killed_by,
            exit=self._exit(finished),
            fault_met=self._fault_met,
        )

    def _exit(self, finished: RunEnded) -> ExitStatus:
        tolerated = self._settings.lenient or not self._engine.diverged
        if tolerated and finished.complete:
            return finished.exit or ExitStatus(code=0, exited=True, signaled=False)
        if tolerated and finished.killed_by:
            return ExitStatus(code=-1, signal=finished.killed_by, exited=False, signaled=True)
        return ExitStatus(code=FAILED, exited=True, signaled=False)

    def _screen(self, seq: int) -> tuple[str, ...]:
        """The rows after event ``seq``, rendered from the output."""
        if self._screens is None:
            from ptycassette.replaying.standin.io import _recorded_screens  # noqa: PLC0415 - pyte

            self._screens = _recorded_screens.RecordedScreens(self._cassette)
        return self._screens.rows_at(seq)


def _fault_text(settings: StandinArguments) -> str:
    """The requested fault, as the user wrote it."""
    return settings.fault or os.environ.get("PTYCASSETTE_FAULT", "")


def _size(rows: int, cols: int) -> Size:
    return Size(rows=rows, cols=cols)


def _tell(report: StandinReport) -> None:
    """Print the differences on stderr, if it is not the terminal and no report was requested."""
    with suppress(OSError, ValueError):
        if not os.isatty(2):
            sys.stderr.write("".join(f"ptycassette: {line}\n" for line in report_lines(report)))
            sys.stderr.flush()


def _complain(failed: CassetteError) -> None:
    for number, line in enumerate(str(failed).split("\n")):
        sys.stderr.write(f"{'  ' if number else 'ptycassette: '}{visible(line)}\r\n")
