"""Signals: what a program reports to its terminal besides text, such as titles and turns.

A ``Signal`` is information for code that drives or watches a session. Nothing is ever
executed. The clipboard of OSC 52 is reported, never set.

===================  ==================================================================
name                 data
===================  ==================================================================
``title``            ``text`` (OSC 0, OSC 2)
``icon``             ``text`` (OSC 0, OSC 1)
``cwd``              ``uri`` (OSC 7), or ``path`` (OSC 9;9, OSC 1337 CurrentDir)
``link``             ``uri``, ``params`` (OSC 8; empty when a link ends)
``notification``     ``body``, and ``title`` when given (OSC 9, OSC 777, OSC 99)
``progress``         ``state``, ``percent`` (OSC 9;4)
``clipboard``        ``selection``, ``payload`` (base64 as sent; ``?`` is a request) (OSC 52)
``prompt``           ``mark`` (A prompt, B command, C output, D done), ``detail`` (OSC 133, OSC 633)
``turn``             ``state`` and what else follows (OSC 7501)
``bell``
``mode``             ``mode`` (``?25`` private, ``4`` ANSI), ``on``
``synchronized``     ``on`` (DEC private mode 2026)
``alt-screen``       ``on``
``reset``            RIS
``query``            ``query``: a question that a terminal may answer, by its name in profiles
===================  ==================================================================

Sources: xterm's ctlseqs; the iTerm2, kitty, VTE and ConEmu documents on OSC 7, 8,
9, 99, 133, 777 and 1337; the synchronised output proposal for 2026.
"""

from __future__ import annotations

from typing import Final

import msgspec

MAX_SIGNALS: Final = 4096
"""Signals kept until somebody takes them; the oldest are dropped first."""

MAX_TEXT: Final = 4096
"""Characters kept of any value."""


class Signal(msgspec.Struct, frozen=True):
    """One signal. ``data`` depends on ``name``; see the table in the module."""

    name: str
    data: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        return self.data[key]


class SignalLog:
    """Signals in order, bounded, until they are taken."""

    __slots__ = ("_kept", "dropped")

    def __init__(self) -> None:
        self._kept: list[Signal] = []
        self.dropped = 0

    def add(self, signal: Signal) -> None:
        """Append a signal."""
        if len(self._kept) >= MAX_SIGNALS:
            del self._kept[: MAX_SIGNALS // 2]
            self.dropped += MAX_SIGNALS // 2
        self._kept.append(signal)

    def tell(self, name: str, **data: str) -> None:
        """Append a signal made of text; long values are cut."""
        self.add(Signal(name, {key: value[:MAX_TEXT] for key, value in data.items()}))

    def take(self) -> tuple[Signal, ...]:
        """The signals since the last call."""
        kept = tuple(self._kept)
        self._kept.clear()
        return kept
