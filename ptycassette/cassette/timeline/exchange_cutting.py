"""Cut a session into exchanges: each stretch of input with the output up to the next one.

Exchange 0 is the output before any input. Answers of the terminal to queries
(``source: "terminal"``) are not input of a user or driver: they stay in their exchange. Frames,
service events and the final event belong to the exchange during which they happened.

Without turn marks, a cut is made where input follows output, so every echoed key begins an
exchange. Marks (OSC 7501; OSC 133 and 633, the prompt marks of shells) decide from the first on:

- while a program works on a turn (OSC 7501), input belongs to that turn;
- typed text without Enter continues, whatever was echoed in between; so does a paste when a turn
  that it did not begin ended in between;
- otherwise the first input after the turn begins the next exchange, as without marks.

A prompt mark only shows that some command runs: input to it is cut as without marks. A reset of
the terminal (RIS) clears the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ptycassette.cassette.timeline.terminal_answers import is_terminal_answer
from ptycassette.keys.names import PASTE_END
from ptycassette.model.records import Event, InputRecord

if TYPE_CHECKING:
    from ptycassette.terminal.core import Signal, Turn


_SENDING: Final = (b"\r", b"\n", b"\x03", b"\x04", b"\x1b[13u", b"\x1b[13;1u")
"""Enter, in kitty's keyboard protocol, too; and what ends or abandons a line: ctrl-c, ctrl-d.

Escape alone abandons it, too.
"""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange. ``inputs`` holds input, resize and signal events; ``answers`` all others.

    ``done_seq`` is the event by which the program reported, after the last input, that the
    turn is over; ``None`` without such a report.
    """

    number: int
    inputs: tuple[Event, ...]
    answers: tuple[Event, ...]
    done_seq: int | None = None

    @property
    def typed(self) -> bytes:
        """The bytes of the stretch of input, joined."""
        return b"".join(event.data for event in self.inputs)

    @property
    def output(self) -> bytes:
        """The output that followed, joined."""
        return b"".join(event.data for event in self.answers if event.kind == "output")

    @property
    def first_seq(self) -> int:
        """Where the exchange starts."""
        return (self.inputs or self.answers)[0].seq

    @property
    def last_seq(self) -> int:
        """Where it ends; the same as ``first_seq`` when it has one event."""
        return max(stretch[-1].seq for stretch in (self.inputs, self.answers) if stretch)

    @property
    def t_us(self) -> int:
        """When it starts."""
        return (self.inputs or self.answers)[0].t_us


class ExchangeCutter:
    """Decides for each event in turn whether it begins an exchange. Keeps no event."""

    def __init__(self) -> None:
        # Here, because the stand-in loads this module and starts without the emulator.
        from ptycassette.terminal.core import turn_after  # noqa: PLC0415
        from ptycassette.terminal.signal_reader import TurnReader  # noqa: PLC0415

        self._reader, self._turn_after = TurnReader(), turn_after
        self._turn: Turn = "unknown"
        self._by_agent = False
        self._begun = False
        self._spoken = False
        self._answered = True  # before any input, output simply comes
        self._unsent = self._pasted = False
        self.done = False
        """Whether the last event says that the turn is over."""

    def begins(self, event: Event) -> bool:
        """Take the next event; whether an exchange begins with it."""
        self.done = False
        first = not self._begun
        self._begun = True
        if event.kind == "input" and not is_terminal_answer(event):
            begins = first or (self._answered and not self._goes_on())
            self._answered = False
            self._spoken = True
            self._unsent = _is_unsent(event, before=self._unsent)
            self._pasted = self._unsent and (self._pasted or _is_paste(event))
            return begins
        self._answered = self._answered or event.kind in {"output", "final"}
        if event.kind == "output":
            self._apply_signals(self._reader.feed(event.data))
        return first

    def _goes_on(self) -> bool:
        """Whether input belongs to the open exchange, although output came in between."""
        if self._turn == "unknown" or not self._spoken:
            return False
        return self._unsent or (self._by_agent and self._turn == "working")

    def _apply_signals(self, signals: Iterable[Signal]) -> None:
        for signal in signals:
            turn = self._turn_after((signal,))
            if turn is not None:
                if (self._turn, turn) == ("working", "idle"):
                    # The turn is over, whatever was typed during it; a paste alone sends nothing.
                    self._unsent = self._pasted
                self._turn = turn
                self._by_agent = signal.name == "turn"
                self.done = turn == "idle"


def _is_unsent(event: Event, *, before: bool) -> bool:
    """Whether the line has text that Enter has not sent; ``before`` is the last answer."""
    record, data = event.record, event.data
    if not isinstance(record, InputRecord) or record.kind != "input":
        return before
    if data.endswith(_SENDING) or data == b"\x1b":
        return False
    if _is_paste(event):
        return True
    if data.startswith(b"\x1b"):
        return before  # a key that moves or edits
    return before or data[-1:] >= b" "


def _is_paste(event: Event) -> bool:
    record = event.record
    marked = isinstance(record, InputRecord) and bool(record.paste)
    return marked or event.data.endswith(PASTE_END)


def exchanges(events: Iterable[Event]) -> Iterator[Exchange]:
    """Cut ``events`` into exchanges; each event is in exactly one of them.

    A stretch of input ends with the first output or the final event behind
    it; frames and service events in the middle of typing do not end it. Marks
    of turns make stretches longer (see the module).
    Holds one exchange in memory at a time.
    """
    number = 0
    cutter = ExchangeCutter()
    inputs: list[Event] = []
    answers: list[Event] = []
    done_seq: int | None = None
    for event in events:
        begins = cutter.begins(event)
        if begins and (inputs or answers):
            yield _exchange(number, inputs, answers, done_seq)
            inputs, answers = [], []
        if event.kind == "input" and not is_terminal_answer(event):
            number += not inputs
            inputs.append(event)
            done_seq = None
        else:
            answers.append(event)
            if cutter.done:
                done_seq = event.seq
    if inputs or answers:
        yield _exchange(number, inputs, answers, done_seq)


def _exchange(
    number: int, inputs: list[Event], answers: list[Event], done_seq: int | None
) -> Exchange:
    return Exchange(number=number, inputs=tuple(inputs), answers=tuple(answers), done_seq=done_seq)


# Terminal signals as events: derived from the output, not stored.
#
# A title, a notification or a turn mark is bytes in ``output.raw``, so a recording needs no record
# of it: it is found on demand, in recordings of any age and writer.


class TerminalSignal(msgspec.Struct, frozen=True):
    """One signal. ``seq`` and times are those of the output that completed it.

    ``name`` is ``title``, ``cwd``, ``notification``, ``turn``, ``bell``, ...; the table in
    ``ptycassette.terminal.core`` lists the ``data`` of each.
    """

    seq: int
    t_us: int
    t_ms: int
    name: str
    data: dict[str, str] = {}


class SignalFinder:
    """Finds the signals of one recording, event by event. See ``terminal_signals``."""

    def __init__(self) -> None:
        # Here, because the stand-in loads this module and starts without the emulator.
        from ptycassette.terminal.signal_reader import SignalReader  # noqa: PLC0415

        self._reader = SignalReader()

    def feed(self, event: Event) -> Iterator[TerminalSignal]:
        """The signals that the next event completes; none unless it is output. Ask for all."""
        if event.kind == "output":
            seq, t_us, t_ms = event.seq, event.t_us, event.record.t_ms
            for signal in self._reader.each(event.data):
                yield TerminalSignal(seq, t_us, t_ms, signal.name, signal.data)


def terminal_signals(events: Iterable[Event]) -> Iterator[TerminalSignal]:
    """The terminal's signals in ``events``, in order; several may share a ``seq``.

    Give it the events from the start: a sequence may begin in one output and end
    in another. Nothing is executed, and texts are as the program sent them.
    """
    finder = SignalFinder()
    for event in events:
        yield from finder.feed(event)
