"""The hot loop of an interactive recording: between the user's terminal and the program's PTY.

What makes it cheap, and what makes it safe:

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
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from ptycassette.keys.quantities import time_text
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.journal import Noted
from ptycassette.model.ports import Clock
from ptycassette.recording.io._relay_limits import (
    BATCH_BYTES,
    HELD_MS,
    KEY_BYTES,
    READ_BYTES,
    SMALL_BYTES,
)
from ptycassette.recording.io._typed_input import TypedInput
from ptycassette.recording.io._user_screen import UserScreen
from ptycassette.recording.io._user_signals import Streams, UserSignals
from ptycassette.recording.io.compiled_relay import CompiledRelay
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.pty.polling import new_poll
from ptycassette.system.pty.process import PtyChild
from ptycassette.system.pty.terminal import SignalPipe

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
        self._woke_us = 0  # the moment of what is served first in a turn; 0 when it is past
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
        """Run the compiled loop until it returns; whether its reason was handled here."""
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
        """Wait until a descriptor is ready; returns those that are, and the time."""
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
        """Handle every ready descriptor."""
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
                self._signals.obey(signals)  # what is typed after a resize meets the new size
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
            if exc.errno != errno.EIO:  # Linux: nobody has the slave open just now
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
        """Poll for what we can take: no output while too much of it is unshown."""
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
