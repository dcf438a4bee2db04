"""Which ends of streams are recorded as events.

Every stream ends with its program. A stream that ends well before the program was closed on
purpose; that is recorded, because a caller may wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptycassette.model.journal import Output

if TYPE_CHECKING:
    from ptycassette.model.events import OutputStream

_ON_PURPOSE_US = 50_000
"""A program that just ends closes its streams some milliseconds before."""


class StreamEnds:
    """The ends of streams that are not decided yet."""

    def __init__(self) -> None:
        self._seen: list[Output] = []

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, t_us: int, stream: OutputStream) -> None:
        """A stream has ended."""
        self._seen.append(Output(t_us, b"", stream=stream, eof=True))

    def due(self, t_us: int, *, ended: bool) -> list[Output]:
        """The ends that were on purpose, to be recorded now.

        Args:
            t_us: the time.
            ended: the program has ended.
        """
        if ended:
            self._seen.clear()
        due = [end for end in self._seen if t_us - end.t_us >= _ON_PURPOSE_US]
        del self._seen[: len(due)]
        return due
