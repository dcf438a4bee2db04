"""The hot loop of a recording whose program has other streams than a terminal.

Output goes to the journal first and then to the caller, as in ``_interactive.py``. Besides:

- The end of a stream is passed on at once, in either direction, not only with the end of the
  program. A caller that does not read blocks the program.
- The session is over when the program has ended and no process has its streams open any more:
  processes that it left running may still write to them, and the caller waits for that, too.
  Other processes may live on. A caller that ended the program by a signal does not wait for them:
  once they are silent, ``cat`` passes on what they write later, which is not recorded.
- Input is recorded when the program has read it (``_program_input.py``).
"""

from __future__ import annotations

import select
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ptycassette.keys.quantities import time_text
from ptycassette.model.events import ExitStatus
from ptycassette.model.journal import Noted
from ptycassette.recording.io._program_input import FileInput, NoInput, PipedInput
from ptycassette.recording.io._program_output import FileOutput, PipedOutput
from ptycassette.recording.io._program_terminal import ProgramTerminal
from ptycassette.recording.io._user_signals import Streams, UserSignals
from ptycassette.session._stream_ends import StreamEnds
from ptycassette.system.pty.terminal import SignalPipe

if TYPE_CHECKING:
    from ptycassette.model.geometry import Size
    from ptycassette.model.ports import Clock
    from ptycassette.recording.io.given_streams import GivenStreams
    from ptycassette.recording.io.journal_file import JournalFile
    from ptycassette.system.pty.process import PtyChild

_SOON_MS = 1
_LATER_MS = 20
_SOON_TURNS = 50
_TURNS_OF_SILENCE = 12
"""Each of them takes ``_LATER_MS`` or more."""


class StreamRelay:
    """One session. Call ``run`` once.

    Args:
        child: the program, just spawned; it lingers.
        journal: where everything goes first.
        given: the streams.
        clock: time.
        start_us: the time that counts as 0.
        size: the size of the program's terminal.
        streams: the user's streams that are terminals, and the side channel.
        timeout_s: end the program after this long.

    Attributes:
        ended_us: when it was over.
        failure: why the run must not become a cassette; None if it may.
        stdin_offset: the final position in a file that was the program's stdin.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        given: GivenStreams,
        *,
        clock: Clock,
        start_us: int,
        size: Size,
        streams: Streams,
        timeout_s: float | None = None,
    ) -> None:
        self._child, self._journal, self._given = child, journal, given
        self._clock, self._start_us = clock, start_us
        self._channel = streams.channel
        self._signals = UserSignals(child, journal, streams, size=size, now_us=self._now_us)
        self._deadline_us = None if timeout_s is None else start_us + round(timeout_s * 1_000_000)
        self._input = self._make_input()
        self._outputs: list[PipedOutput] = []
        self._files: list[FileOutput] = []
        self._make_outputs()
        self._terminal = ProgramTerminal.of(child, journal, given, streams)
        self._ends = StreamEnds()
        self._quiet_turns = 0
        self._turns_of_silence = 0
        self.failure: str | None = None
        self.stdin_offset: int | None = None
        self.ended_us = 0

    def _make_input(self) -> NoInput:
        kind = self._given.kinds.stdin
        if kind == "file":
            return FileInput(self._given, self._journal)
        if self._given.ours[0] >= 0:
            return PipedInput(self._given, self._journal, now_us=self._now_us)
        return NoInput()

    def _make_outputs(self) -> None:
        for number in (1, 2):
            ours, given = self._given.ours[number], self._given.given[number]
            if ours < 0:
                continue
            if self._given.program_has_file[number]:
                self._files.append(FileOutput(number, self._given, self._journal))
            elif given >= 0:
                self._outputs.append(PipedOutput(number, self._given, self._journal))

    @property
    def ended_by(self) -> int | None:
        """The signal that ended the recorder, if one did."""
        return self._signals.ended_by

    def _now_us(self) -> int:
        return self._clock.now_us() - self._start_us

    def run(self) -> ExitStatus:
        """Relay until the program has ended and all its output was read; returns its exit."""
        with SignalPipe(self._signals.caught) as signals, self._terminal or nullcontext():
            while not self._over():
                self._turn(signals)
        self.stdin_offset = self._input.end(self._now_us())
        self._settle()
        if self._channel is not None:
            self._note(self._channel.finish())
        self._child.leave()
        status = self._child.wait()
        self.ended_us = self._now_us()
        assert status is not None  # noqa: S101 - without a timeout it waits for the end
        return status

    def _over(self) -> bool:
        if self._child.ended is None:
            return False
        if self._terminal is not None and not self._terminal.drain(self._now_us()):
            return False
        if all(output.done for output in self._outputs):
            return True
        if not self._waits_no_more or self._turns_of_silence < _TURNS_OF_SILENCE:
            return False
        for output in self._outputs:
            output.leave()
        return True

    @property
    def _waits_no_more(self) -> bool:
        """Whether the caller has ended the program, and got all that it wrote."""
        gone = self._signals.asked_to_end and self._child.ended is not None
        return gone and not any(output.wants_room for output in self._outputs)

    def _turn(self, signals: SignalPipe) -> None:
        """Wait for the next event, and handle it."""
        ready = dict(self._poll(signals.fd))
        t_us = self._now_us()
        self._input.settle(t_us)
        if signals.fd in ready or self._given.given[0] in ready:
            self._signals.obey(signals)  # one that came before the input reaches the program first
        busy = False
        for output in self._outputs:
            busy = self._relay(output, ready, t_us) or busy
        if self._terminal is not None:
            self._terminal.serve(ready, t_us)
        self._feed(ready)
        if self._channel is not None and self._channel.fd in ready:
            self._note(self._channel.read())
        self._settle()
        self._turns_of_silence = (
            0 if busy or not self._waits_no_more else self._turns_of_silence + 1
        )
        self._quiet_turns = 0 if busy or self._input.wants_room else self._quiet_turns + 1
        if self._deadline_us is not None and self._clock.now_us() >= self._deadline_us:
            self._time_out()

    def _poll(self, signals_fd: int) -> list[tuple[int, int]]:
        poll = select.poll()
        if self._child.ended is None:
            poll.register(self._child.control_fd, select.POLLIN)
        poll.register(signals_fd, select.POLLIN)
        if self._channel is not None:
            poll.register(self._channel.fd, select.POLLIN)
        for fd, events in self._wanted():
            poll.register(fd, events)
        return poll.poll(self._timeout_ms())

    def _wanted(self) -> Iterable[tuple[int, int]]:
        """The descriptors to wait for, and for what; 0 for errors only (a closed end)."""
        for output in self._outputs:
            if not output.closed and output.wants_output:
                yield output.fd, select.POLLIN
            if output.caller_fd >= 0:
                yield output.caller_fd, select.POLLOUT if output.wants_room else 0
        if self._input.wants_input:
            yield self._given.given[0], select.POLLIN
        if self._given.ours[0] >= 0:
            yield self._given.ours[0], select.POLLOUT if self._input.wants_room else 0
        if self._terminal is not None:
            yield from self._terminal.wanted()

    def _timeout_ms(self) -> int | None:
        waits: list[int] = []
        if self._input.unsettled or self._ends:
            waits.append(_SOON_MS if self._quiet_turns < _SOON_TURNS else _LATER_MS)
        if self._waits_no_more:
            waits.append(_LATER_MS)
        if self._files or (self._terminal is not None and self._terminal.hung_up):
            waits.append(_LATER_MS)
        if self._deadline_us is not None:
            waits.append(max(0, (self._deadline_us - self._clock.now_us()) // 1000 + 1))
        return min(waits) if waits else None

    def _relay(self, output: PipedOutput, ready: dict[int, int], t_us: int) -> bool:
        """Serve one output stream; returns whether there was output."""
        caller = output.caller_fd
        if caller in ready:
            if ready[caller] & (select.POLLERR | select.POLLNVAL) or (
                ready[caller] & select.POLLHUP and not ready[caller] & select.POLLOUT
            ):
                output.lose_caller()
            else:
                output.write()
        if output.closed or output.fd not in ready:
            return False
        count = output.read(t_us)
        if count == 0:
            self._ends.note(t_us, output.name)
        return bool(count)

    def _feed(self, ready: dict[int, int]) -> None:
        source = self._input
        if not isinstance(source, PipedInput):
            return
        ours, given = self._given.ours[0], self._given.given[0]
        if ours >= 0 and ready.get(ours, 0) & (select.POLLERR | select.POLLHUP):
            source.lose_reader()
            self._ends.note(self._now_us(), "stdin")
            return
        if ours >= 0 and ours in ready:
            source.send()
        if given >= 0 and given in ready and source.wants_input:
            source.take()

    def _settle(self) -> None:
        """Do the work that no descriptor announces."""
        t_us = self._now_us()
        self._input.settle(t_us)
        for file in self._files:
            file.settle(t_us)
        for end in self._ends.due(t_us, ended=self._child.ended is not None):
            self._journal.on_event(end)

    def _time_out(self) -> None:
        assert self._deadline_us is not None  # noqa: S101 - narrows the type
        seconds = (self._deadline_us - self._start_us) / 1_000_000
        self.failure = f"timeout: the program had not ended after {time_text(seconds)}"
        self._deadline_us = None
        self._child.request_end()

    def _note(self, payloads: Iterable[Any]) -> None:
        for payload in payloads:
            self._journal.on_event(Noted(self._now_us(), payload))
