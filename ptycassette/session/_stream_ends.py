"""Ends of streams that are events of their own.

Every stream ends with its program. Only one that the program closed well before its own end was
closed on purpose, and that is recorded: somebody may wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptycassette.model import Output

if TYPE_CHECKING:
    from ptycassette.model import OutputStream

_ON_PURPOSE_US = 50_000
"""A program that just ends closes its streams some milliseconds before."""


class StreamEnds:
    """The ends that were seen and not decided about yet."""

    def __init__(self) -> None:
        self._seen: list[Output] = []

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, t_us: int, stream: OutputStream) -> None:
        """A stream has ended."""
        self._seen.append(Output(t_us, b"", stream=stream, eof=True))

    def due(self, t_us: int, *, ended: bool) -> list[Output]:
        """Those that were ends on purpose, to be recorded now.

        Args:
            t_us: the time.
            ended: the program has ended.
        """
        if ended:
            self._seen.clear()
        due = [end for end in self._seen if t_us - end.t_us >= _ON_PURPOSE_US]
        del self._seen[: len(due)]
        return due
