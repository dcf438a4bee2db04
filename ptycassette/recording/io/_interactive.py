"""The hot loop of an interactive recording: between the user's terminal and the program's PTY.

Why it is cheap and safe:

- A burst is drained into one buffer, read by read, each with its time. One
  checksum and one system call write it to the journal, another system call shows
  it. No rendering, scrubbing, hashing or JSON happens here.
- The journal comes first: everything on the screen was handed to the kernel before.
- Input goes to the program first. It is written to the journal together with the next
  output, which is usually its echo, or after ten milliseconds. The order is kept.
- Input never blocks the loop: input that the program does not take yet waits in a
  queue, so a program that writes before it reads cannot deadlock with us.
- The compiled loop, if there is one (``compiled_relay.py``), handles the frequent
  events; all others are handled here.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import termios
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ptycassette.keys.quantities import time_text
from ptycassette.model.ports import Clock
from ptycassette.model.records import ExitStatus, Noted, Resized, Signalled
from ptycassette.model.screen import Size
from ptycassette.recording.io._side_channel import SideChannel
from ptycassette.recording.io.compiled_relay import (
    BATCH_BYTES,
    HELD_MS,
    KEY_BYTES,
    READ_BYTES,
    SMALL_BYTES,
    CompiledRelay,
    UnfinishedInput,
    UserScreen,
)
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.pty.process import PtyChild, new_poll
from ptycassette.system.pty.terminal import (
    QUIET,
    STOPPING,
    TAKEN,
    WAITED,
    SignalPipe,
    UserTerminal,
    disposition,
    local_modes,
    signal_name,
    stop_self,
    suspend,
)

if TYPE_CHECKING:
    from ptycassette.recording.io.given_streams import GivenStreams


# Typed input, on its way to the program and into the journal.


_SPACE = 0x20
_ENTER = b"\r\n"


class TypedInput:
    """Input for a program that may not take it at once.

    It goes to the program first. The journal holds it until the next output.

    Args:
        master: the program's terminal; non-blocking.
        journal: where it is logged.
        secret_key: the bytes of the key that announces a secret; empty for none. They are not
            sent to the program.
        on_secret: called when the following input is secret, and when it no longer is.

    Attributes:
        waiting: input that the program has not taken yet.
    """

    def __init__(
        self,
        master: int,
        journal: JournalFile,
        *,
        secret_key: bytes = b"",
        on_secret: Callable[[bool], None] = lambda _on: None,
    ) -> None:
        self._master, self._journal = master, journal
        self._secret_key, self._on_secret = secret_key, on_secret
        self._secret = False
        self.waiting: deque[bytes] = deque()

    def type(self, t_us: int, data: bytes) -> None:
        """Hand ``data`` to the program, and log it."""
        if not self._secret_key:
            self._type(t_us, data)
            return
        first, *rest = data.split(self._secret_key)
        self._type_part(t_us, first)
        for part in rest:
            self._tell(not self._secret)
            self._type_part(t_us, part)

    def _type_part(self, t_us: int, data: bytes) -> None:
        """Type ``data``, which does not contain the key. Enter ends the secret."""
        if self._secret:
            end = next((at for at, byte in enumerate(data, 1) if byte in _ENTER), 0)
            if end:
                self._type(t_us, data[:end])
                self._tell(False)
                data = data[end:]
        if data:
            self._type(t_us, data)

    def _tell(self, on: bool) -> None:  # noqa: FBT001 - the one thing that it says
        self._secret = on
        self._on_secret(on)

    def _type(self, t_us: int, data: bytes) -> None:
        # Reading the modes would delay the echo by a tenth. Input that ends no line does not wake a
        # program that reads lines, so for it the modes are the same afterwards.
        ends_line = min(data) < _SPACE
        secret = ends_line and self._is_secret()
        if self.waiting:
            self.waiting.append(data)
        else:
            self._write(data)
        self._log(t_us, data, secret=secret if ends_line else self._is_secret())

    def complete(self, key: UnfinishedInput) -> None:
        """Complete a key that the compiled loop has begun."""
        if key.sent < len(key.data):
            self.waiting.append(key.data[key.sent :])
        self._log(key.t_us, key.data, secret=key.secret)

    def send(self) -> None:
        """Send waiting input, now that there is room."""
        while self.waiting:
            before = len(self.waiting)
            self._write(self.waiting.popleft())
            if len(self.waiting) == before:
                return

    def _log(self, t_us: int, data: bytes, *, secret: bool) -> None:
        self._journal.hold_key(t_us, data, masked=secret or self._secret)

    def _is_secret(self) -> bool:
        """Whether the program reads a line without echo, as password prompts do."""
        flags = local_modes(self._master)
        return bool(flags & termios.ICANON) and not flags & termios.ECHO

    def _write(self, data: bytes) -> None:
        """Write input to the program; input that it does not take at once waits."""
        try:
            done = os.write(self._master, data)
        except BlockingIOError:
            done = 0
        except OSError:
            self.waiting.clear()  # the program is gone; its end comes over the other ways
            return
        if done < len(data):
            self.waiting.appendleft(data[done:])


# The user's streams, and the signals that the recorder gets.


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """The user's streams.

    Attributes:
        in_fd: where input comes from; -1 for nowhere.
        out_fd: where output goes; -1 for nowhere.
        terminal: the user's terminal, raw while the session runs; None if ``in_fd`` is not one.
        channel: the side channel.
        secret_key: the bytes of the key by which the user announces a secret, which ends with
            Enter; empty for none.
        fixed_size: the program's terminal keeps its size, whatever the user's does.
        on_terminal: a stream is the user's terminal.
        passes_signals: a program drives the recorder as if it were the recorded program, so
            signals are passed on unchanged, and recorded.
    """

    in_fd: int = 0
    out_fd: int = 1
    terminal: UserTerminal | None = None
    secret_key: bytes = b""
    fixed_size: bool = False
    on_terminal: bool = False
    passes_signals: bool = False
    channel: SideChannel | None = None


class UserSignals:
    """Handles signals: of changed sizes, those that are passed on, and those that end the recorder.

    Args:
        child: the program.
        journal: gets the event first, because the program may react at once.
        streams: the user's streams.
        size: the size that the program was started with.
        now_us: microseconds since the start.

    Attributes:
        caught: the signals to catch.
        ended_by: the signal that ended the recorder, if one did.
        asked_to_end: whether a signal was passed on that ends programs by default.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        streams: Streams,
        *,
        size: Size,
        now_us: Callable[[], int],
    ) -> None:
        self._child, self._journal, self._now_us = child, journal, now_us
        self._in_fd, self._terminal = streams.in_fd, streams.terminal
        self._follows_size = not streams.fixed_size
        self._size = size
        self._pixels = (0, 0)
        self._passes = streams.passes_signals
        self.caught = TAKEN | WAITED
        if self._terminal is not None or streams.on_terminal:
            # The system sends these when a process in the background uses the terminal.
            self.caught -= {signal.SIGTTIN, signal.SIGTTOU}
        self.ended_by: int | None = None
        self.asked_to_end = False

    def obey(self, signals: SignalPipe) -> None:
        """Handle the signals that have come."""
        for number in signals.take():
            self._obey(number)

    def follow_size(self) -> bool:
        """Give the program's terminal the size of the user's, unless it keeps its own.

        Returns:
            Whether it changed.
        """
        if self._terminal is None or not self._follows_size:
            return False
        size, pixels = self._terminal.size(), self._terminal.pixels()
        if size != self._size:
            self._journal.on_event(Resized(self._now_us(), size))
        elif pixels == self._pixels:
            return False
        self._size, self._pixels = size, pixels
        self._child.set_size(size, pixels)
        return True

    def hang_up(self) -> None:
        """Handle the loss of the user's terminal as a SIGHUP."""
        self.ended_by = self.ended_by or int(signal.SIGHUP)
        self._child.request_end()

    def _obey(self, number: int) -> None:
        if number == signal.SIGWINCH and self._terminal is not None:
            if not self.follow_size() and self._passes:
                self._send(number)  # two changes in one; the program's view is recorded
            return
        if number == signal.SIGCONT and self._terminal is not None and self._terminal_stands():
            self._terminal.make_raw()  # the shell has set it while we were stopped
            self.follow_size()
        if number in STOPPING:
            self._stop(number)
        elif self._passes and self._terminal_stands():
            self._pass(number)
        elif number not in QUIET:
            self.ended_by = number
            self._child.request_end()

    def _pass(self, number: int) -> None:
        self.asked_to_end = self.asked_to_end or number not in QUIET | STOPPING
        self._journal.on_event(Signalled(self._now_us(), signal_name(number)))
        self._send(number)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, number)

    def _stop(self, number: int) -> None:
        """Stop the program and this process, as ``number`` does with a program by default.

        The program leads its session, so the system does not stop it by this signal.
        """
        if self._terminal is not None and not self._passes:
            suspend(self._terminal)
            self.follow_size()
            return
        # Asked before: a program that handles the signal may end at once.
        does = disposition(self._child.pid, number)
        if self._passes:
            self._pass(number)
        if does != "default":
            return
        self._send(signal.SIGSTOP)
        if self._terminal is not None:
            self._terminal.restore()
        stop_self(number)
        if self._terminal is not None:
            self._terminal.make_raw()
            self.follow_size()
        self._send(signal.SIGCONT)

    def _terminal_stands(self) -> bool:
        """Whether the user's terminal is still there: the system sends SIGHUP when it is closed."""
        return self._terminal is None or os.isatty(self._in_fd)


_HUNG_UP_MS = 20


class PassThrough:
    """One interactive session. Call ``run`` once.

    Args:
        child: the program, just spawned.
        journal: where everything goes first.
        clock: time.
        start_us: the time that counts as 0.
        size: the size that the program was started with.
        streams: the user's streams, and the side channel.
        timeout_s: end the program after this long.

    Attributes:
        ended_us: when it was over.
        failure: why the run must not become a cassette; None if it may.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        *,
        clock: Clock,
        start_us: int,
        streams: Streams,
        size: Size,
        timeout_s: float | None = None,
    ) -> None:
        self._child, self._journal = child, journal
        self._master = child.fd
        self._now_us, self._start_us = clock.now_us, start_us
        self._in_fd = streams.in_fd
        self._terminal, self._channel = streams.terminal, streams.channel
        self._signals = UserSignals(child, journal, streams, size=size, now_us=self._elapsed_us)
        self._deadline_us = None if timeout_s is None else start_us + round(timeout_s * 1_000_000)
        self._view = memoryview(bytearray(BATCH_BYTES + READ_BYTES))
        self._poll = new_poll()
        self._screen = UserScreen(streams.out_fd, self._poll, on_lost=self._lose_terminal)
        self._input = TypedInput(
            child.fd, journal, secret_key=streams.secret_key, on_secret=self._screen.mark_secret
        )
        # The compiled loop reads the system's clock itself, and does not support the secret key.
        compilable = isinstance(clock, MonotonicClock) and not streams.secret_key
        self._library = CompiledRelay.load() if compilable else None
        self._over = False
        self._hung_up = False
        self._woke_us = 0  # the time of the event that a turn serves first; 0 when it is past
        self._wanted = select.POLLIN
        self.failure: str | None = None
        self.ended_us = 0

    @property
    def ended_by(self) -> int | None:
        """The signal that ended the recorder, if one did."""
        return self._signals.ended_by

    def _elapsed_us(self) -> int:
        return self._now_us() - self._start_us

    def run(self) -> ExitStatus:
        """Relay until the program has ended and all its output was read; returns its exit."""
        poll = self._poll
        poll.register(self._master, select.POLLIN)
        poll.register(self._child.control_fd, select.POLLIN)
        if self._in_fd >= 0:
            poll.register(self._in_fd, select.POLLIN)
        if self._channel is not None:
            poll.register(self._channel.fd, select.POLLIN)
        # Signals first: once the terminal is raw, no signal may end us without restoring it.
        with (
            SignalPipe(self._signals.caught) as signals,
            self._terminal or nullcontext(),
        ):
            poll.register(signals.fd, select.POLLIN)
            self._signals.follow_size()  # it may have changed since the program was started
            compiled = self._compiled(signals)
            while not self._over or self._screen.waiting:
                if compiled is None or not self._run_compiled(compiled):
                    self._turn(self._wait(), signals)
        self._screen.mark_secret(False)
        self._child.release_slave()
        status = self._child.wait()
        self.ended_us = self._elapsed_us()
        assert status is not None  # noqa: S101 - without a timeout it waits for the end
        if self._channel is not None:
            self._note(self._channel.finish())
        if status.signaled or self.ended_by is not None:
            self._clean_screen()
        return status

    def _compiled(self, signals: SignalPipe) -> CompiledRelay | None:
        """The compiled loop, if there is one."""
        if self._library is None:
            return None
        others = [signals.fd, self._child.control_fd]
        if self._channel is not None:
            others.append(self._channel.fd)
        return CompiledRelay(
            self._library,
            master=self._master,
            in_fd=self._in_fd,
            others=others,
            start_us=self._start_us,
        )

    def _run_compiled(self, relay: CompiledRelay) -> bool:
        """Run the compiled loop until it returns; True if its reason was handled here."""
        lent = self._journal.for_relay()
        busy = self._screen.waiting or self._input.waiting or self._hung_up or self.ended_by
        if lent is None or busy:
            return False
        fd, salt, index = lent
        run = relay.run(
            journal_fd=fd,
            salt=salt,
            index=index,
            out_fd=self._screen.fd,
            deadline_us=self._deadline_us,
        )
        self._journal.appended(records=run.records, written=run.written, error=run.error)
        if run.unshown:
            self._screen.keep(run.unshown)
            self._watch_master()
        if run.key is not None:
            self._input.complete(run.key)
            self._watch_master()
        return run.key is not None

    def _wait(self) -> list[tuple[int, int]]:
        """Wait until a descriptor is ready, note the time, and return the ready ones."""
        if self._journal.holding:
            ready = self._poll.poll(HELD_MS)
            if not ready:
                self._journal.flush()
        else:
            ready = self._poll.poll(self._timeout_ms())
        self._woke_us = self._now_us() - self._start_us
        return ready

    def _timeout_ms(self) -> int | None:
        if self._hung_up:
            return _HUNG_UP_MS
        if self._deadline_us is None:
            return None
        return max(0, (self._deadline_us - self._now_us()) // 1000 + 1)

    def _moment_us(self) -> int:
        """The time of the event that is served now: when we woke, if it woke us."""
        woke_us, self._woke_us = self._woke_us, 0
        return woke_us or self._now_us() - self._start_us

    def _turn(self, ready: list[tuple[int, int]], signals: SignalPipe) -> None:
        for fd, what in ready:
            if fd == self._master:
                if what & select.POLLOUT:
                    self._input.send()
                    self._watch_master()
                if what & ~select.POLLOUT:
                    self._relay()
            elif fd == self._screen.fd:
                self._screen.show_rest()
                self._watch_master()
            elif fd == self._in_fd:
                self._signals.obey(signals)  # input after a resize meets the new size
                self._take_input()
            elif fd == signals.fd:
                self._signals.obey(signals)
            elif self._channel is not None and fd == self._channel.fd:
                self._note(self._channel.read())
            else:
                self._look_for_end()
            self._woke_us = 0
        if self._hung_up and not self._over:
            self._look_again()
        if self._deadline_us is not None and self._now_us() >= self._deadline_us:
            self._time_out()

    def _relay(self) -> None:
        """Drain the PTY into one batch: journal, then screen."""
        view, master = self._view, self._master
        reads: list[tuple[int, int]] = []
        at = 0
        try:
            while at < BATCH_BYTES:
                count = os.readv(master, (view[at:],))
                if count == 0:
                    self._hang_up()
                    break
                reads.append((self._moment_us(), count))
                at += count
                if count < SMALL_BYTES:
                    break
        except BlockingIOError:
            pass
        except OSError as exc:
            if exc.errno != errno.EIO:  # Linux: no process has the slave open now
                raise
            self._hang_up()
        if at:
            data = view[:at]
            self._journal.append_batch(reads, data)
            self._show(data)

    def _hang_up(self) -> None:
        """Note that no process has the PTY open. One may still open it again."""
        if not self._hung_up:
            self._hung_up = True
            self._poll.unregister(self._master)  # it would be ready all the time

    def _look_again(self) -> None:
        """Check whether a process has opened the PTY again."""
        self._hung_up = False
        self._poll.register(self._master, self._wanted)
        self._relay()

    def _show(self, data: memoryview) -> None:
        self._screen.show(data)
        if self._screen.full:
            self._watch_master()

    def _watch_master(self) -> None:
        """Poll only for events that we can take: no output while too much is not shown yet."""
        wanted = 0 if self._screen.full else select.POLLIN
        if self._input.waiting:
            wanted |= select.POLLOUT
        if wanted != self._wanted:
            self._wanted = wanted
            if not self._hung_up:
                self._poll.modify(self._master, wanted)

    def _take_input(self) -> None:
        try:
            data = os.read(self._in_fd, KEY_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(self._in_fd)
            self._lose_terminal()
            return
        self._input.type(self._moment_us(), data)
        if self._input.waiting:
            self._watch_master()

    def _lose_terminal(self) -> None:
        """Handle the loss of the user's terminal as a SIGHUP."""
        self._screen.drop()
        self._signals.hang_up()

    def _time_out(self) -> None:
        assert self._deadline_us is not None  # noqa: S101 - narrows the type
        seconds = (self._deadline_us - self._start_us) / 1_000_000
        self.failure = f"timeout: the program had not ended after {time_text(seconds)}"
        self._deadline_us = None
        self._child.request_end()

    def _look_for_end(self) -> None:
        """Read the supervisor's message. When no process is left, only unread output remains."""
        if self._child.poll() is None:
            return
        size = -1
        while size != self._journal.size:
            size = self._journal.size
            self._relay()
        self._over = True

    def _note(self, payloads: Iterable[Any]) -> None:
        for payload in payloads:
            self._journal.on_event(Noted(self._elapsed_us(), payload))

    def _clean_screen(self) -> None:
        if self._terminal is not None and self._screen.fd >= 0:
            self._terminal.clean_up()


# The PTY of a program whose streams are a terminal in part, and the user's terminal.


_READ_BYTES = 64 << 10


class ProgramTerminal:
    """A context manager: the user's terminal is raw while input comes from it.

    Args:
        child: the program and its PTY.
        journal: where everything goes first.
        in_fd: where input comes from; -1 if stdin is not a terminal.
        out_fd: the user's terminal.
        streams: the user's side.

    Attributes:
        hung_up: no process has the PTY open now.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        *,
        in_fd: int,
        out_fd: int,
        streams: Streams,
    ) -> None:
        self._child, self._journal = child, journal
        self._in_fd, self._out_fd = in_fd, out_fd
        self._user = streams.terminal
        self._typed = TypedInput(child.fd, journal, secret_key=streams.secret_key)
        self._held = b""
        self.hung_up = False

    @classmethod
    def of(
        cls, child: PtyChild, journal: JournalFile, given: GivenStreams, streams: Streams
    ) -> Self | None:
        """The terminal for these streams; None if none is a terminal."""
        kinds = (given.kinds.stdin, given.kinds.stdout, given.kinds.stderr)
        fds = [fd for fd, kind in zip(given.given, kinds, strict=True) if kind == "terminal"]
        if not fds:
            return None
        in_fd = given.given[0] if kinds[0] == "terminal" else -1
        return cls(child, journal, in_fd=in_fd, out_fd=fds[-1], streams=streams)

    def __enter__(self) -> Self:
        if self._user is not None:
            self._user.make_raw()
        return self

    def __exit__(self, *_: object) -> None:
        if self._user is not None:
            self._user.restore()

    def wanted(self) -> Iterator[tuple[int, int]]:
        """The descriptors to wait for."""
        if not self.hung_up:
            room = select.POLLOUT if self._typed.waiting else 0
            yield self._child.fd, select.POLLIN | room
        if self._in_fd >= 0:
            yield self._in_fd, select.POLLIN

    def serve(self, ready: dict[int, int], t_us: int) -> None:
        """Handle the ready descriptors."""
        what = ready.get(self._child.fd, 0)
        if what & select.POLLOUT:
            self._typed.send()
        if what & ~select.POLLOUT or self.hung_up:
            self._read(t_us)
        if self._in_fd in ready:
            self._take(t_us)
        self._journal.flush()

    def drain(self, t_us: int) -> bool:
        """Read the remaining output; returns whether all was read."""
        while self._read(t_us):
            pass
        return True

    def _read(self, t_us: int) -> bool:
        try:
            data = os.read(self._child.fd, _READ_BYTES)
        except BlockingIOError:
            self.hung_up = False
            return False
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            data = b""
        self.hung_up = not data
        if data:
            self._journal.on_output(t_us, data)
            with suppress(OSError):  # the user's terminal may be gone
                self._show(data)
        return bool(data)

    def _show(self, data: bytes) -> None:
        if self._user is None:
            # It is not raw: it would translate LF to CR LF again, as the program's PTY did already.
            data = self._held + data
            self._held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(self._held).replace(b"\r\n", b"\n")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._out_fd, rest) :]

    def _take(self, t_us: int) -> None:
        try:
            data = os.read(self._in_fd, _READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._in_fd = -1
            return
        self._typed.type(t_us, data)
