"""The default emulator behind the ``Emulator`` port: pyte's names, made to agree with xterm.js."""

from __future__ import annotations

import codecs

import pyte

from ptycassette.model import Cursor, EmulatorId, Screen, Size

__all__ = ["PyteEmulator", "default_emulator"]


class PyteEmulator:
    """The default emulator. See ``ptycassette.model.Emulator`` for what each method owes."""

    def __init__(self, size: Size) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("ignore")
        self._screen = pyte.Screen(size.cols, size.rows)
        self._stream = pyte.Stream(self._screen)
        self.synchronized = False

    @property
    def identity(self) -> EmulatorId:
        """Name and version, as pinned in manifests."""
        return EmulatorId("pyte", pyte.__version__)

    @property
    def size(self) -> Size:
        """The size now."""
        return Size(self._screen.lines, self._screen.columns)

    @property
    def pending(self) -> int:
        """How many bytes at the end are an incomplete character."""
        return len(self._decode.getstate()[0])

    def feed(self, data: bytes) -> None:
        """Consume output of the program."""
        try:
            self._stream.feed(self._decode.decode(data))
        except (TypeError, ValueError, IndexError, KeyError):
            self._stream = pyte.Stream(self._screen)

    def resize(self, size: Size) -> None:
        """Take another size."""
        self._screen.resize(size.rows, size.cols)

    def snapshot(self) -> Screen:
        """The screen now."""
        at = self._screen.cursor
        return Screen(
            size=self.size,
            rows=tuple(row.rstrip() for row in self._screen.display),
            cursor=Cursor(at.y, min(at.x, self._screen.columns - 1), visible=not at.hidden),
            title=self._screen.title,
        )

    def answers(self) -> bytes:
        """What the terminal would have sent back."""
        return b""


def default_emulator(size: Size) -> PyteEmulator:
    """The emulator that renders frames unless another one is asked for."""
    return PyteEmulator(size)
