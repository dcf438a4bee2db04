"""Terminal signals as events: derived from the output, not stored.

A title, a notification or a turn mark is bytes in ``output.raw``, so a recording needs no
record of it: it is found on demand, in recordings of any age and writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.model.records import Event


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
