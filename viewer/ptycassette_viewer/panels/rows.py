"""Rows of the list of events: all of them, those of one kind, or the signals."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Protocol

from rich.text import Text

from ptycassette_viewer.panels.panel import event_line, signal_line
from ptycassette_viewer.session.index import Kind
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.signals import SignalLines


class Rows(Protocol):
    """Rows in order of time; more may be added at the end."""

    def count(self) -> int:
        """The current number of rows."""
        ...

    def seq(self, number: int) -> int:
        """The event to which row ``number`` belongs."""
        ...

    def line(self, number: int) -> Text:
        """Row ``number``, safe to show."""
        ...

    def place(self, seq: int) -> int:
        """The row of event ``seq``, or the last one before it; -1 when there is none."""
        ...


class KindRows:
    """The events of one kind."""

    def __init__(self, session: ViewerSession, kind: Kind) -> None:
        self._session = session
        self._seqs = session.index.of_kind(kind)

    def count(self) -> int:
        """The current number of rows."""
        return len(self._seqs)

    def seq(self, number: int) -> int:
        """The event in row ``number``."""
        return self._seqs[number]

    def line(self, number: int) -> Text:
        """The event in a line."""
        return event_line(self._session, self._seqs[number])

    def place(self, seq: int) -> int:
        """The row of event ``seq``, or the last one before it."""
        return bisect_right(self._seqs, seq) - 1


class SignalRows:
    """Signals; several rows may belong to one output."""

    def __init__(self, session: ViewerSession, signals: SignalLines) -> None:
        self._session = session
        self._signals = signals

    def count(self) -> int:
        """The current number of rows."""
        return len(self._signals)

    def seq(self, number: int) -> int:
        """The output that completed it."""
        return self._signals.seqs[number]

    def line(self, number: int) -> Text:
        """Time and content."""
        return signal_line(self._session, self.seq(number), self._signals.line(number))

    def place(self, seq: int) -> int:
        """The first row of ``seq``, or the last one before it."""
        first = bisect_left(self._signals.seqs, seq)
        if first < len(self._signals) and self._signals.seqs[first] == seq:
            return first
        return first - 1


class AllRows:
    """All events, and after each output its notable signals.

    Signal ``n`` is in row ``seqs[n] + n``: after so many events and signals.
    """

    def __init__(self, session: ViewerSession) -> None:
        self._session = session
        self._signals = SignalRows(session, session.signals.notable)
        self._seqs = session.signals.notable.seqs

    def count(self) -> int:
        """The current number of rows."""
        return self._session.index.count + self._signals.count()

    def _signals_before(self, number: int) -> int:
        return bisect_left(
            range(self._signals.count()), number, key=lambda place: self._seqs[place] + place
        )

    def _signal(self, number: int) -> int | None:
        """The signal in row ``number``, None when there is an event."""
        before = self._signals_before(number)
        there = before < self._signals.count() and self._seqs[before] + before == number
        return before if there else None

    def seq(self, number: int) -> int:
        """The event in row ``number``, or the output of the signal there."""
        signal = self._signal(number)
        if signal is not None:
            return self._seqs[signal]
        return number - self._signals_before(number) + 1

    def line(self, number: int) -> Text:
        """The event or the signal in a line."""
        signal = self._signal(number)
        if signal is not None:
            return self._signals.line(signal)
        return event_line(self._session, self.seq(number))

    def place(self, seq: int) -> int:
        """The row of event ``seq``."""
        return seq - 1 + bisect_left(self._seqs, seq)
