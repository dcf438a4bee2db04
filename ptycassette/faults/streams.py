"""Faults of the stream of output: its pieces, its pace, its bytes, its end."""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.faults.fault import FaultSpec
from ptycassette.faults.scene import Scene
from ptycassette.faults.terminal import Act, End, Show, TerminalFault, exited
from ptycassette.model.events import Event, ExitStatus

_MOST_PIECES = 500
_PIECE_S = 0.001
_GARBAGE = b"\xff\xfe\x00\xc3\x28\xed\xa0\x80\x9b\x1b[?12;\x18\x1b]777;x\x07\x1bP+q\xf0\x1b\\\x80"
"""No UTF-8, NUL, a surrogate, a lone C1, a sequence that CAN cancels, an unknown OSC and DCS."""
_GARBAGE_CELLS = 12


class ChunksSplit(TerminalFault):
    """At most 500 pieces behind an input, so that a long output takes no longer than half a second.

    They are cut where readers are not ready for it: behind ESC and in the parameters of a
    sequence, within a character of several bytes, between CR and LF.
    """

    name = "chunks-split"
    what = "output comes in pieces, cut within sequences, characters and line ends"

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._pieces = [0, 0]

    def output(self, event: Event) -> Iterator[Act]:
        if self._pieces[0] != self.exchange:
            self._pieces = [self.exchange, 0]
        begin = 0
        for at in _weak_places(event.data):
            if self._pieces[1] >= _MOST_PIECES:
                break
            self.met = True
            self._pieces[1] += 1
            yield Show(event.data[begin:at], _PIECE_S)
            begin = at
        yield Show(event.data[begin:], _PIECE_S)


def _weak_places(data: bytes) -> Iterator[int]:
    for at in range(1, len(data)):
        before, here = data[at - 1], data[at]
        sequence = before == 0x1B or data[max(0, at - 2) : at] == b"\x1b["
        if sequence or 0x80 <= here < 0xC0 or (before, here) == (0x0D, 0x0A):
            yield at


class ChunksMerged(TerminalFault):
    name = "chunks-merged"
    what = "all output up to the next input comes at once; what was shown meanwhile is never seen"

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._held: list[bytes] = []

    def output(self, event: Event) -> Iterator[Act]:
        self._held.append(event.data)
        yield from ()

    def quiet(self) -> Iterator[Act]:
        held, self._held = self._held, []
        self.met = self.met or len(held) > 1
        if held:
            yield Show(b"".join(held))


class Stall(TerminalFault):
    name = "stall"
    what = "output stops in the middle of an answer, and goes on"
    number = "TIME"
    default = 5.0

    def output(self, event: Event) -> Iterator[Act]:
        cut = self.cut(event)
        if cut is None:
            yield Show(event.data)
        else:
            yield Show(cut[0])
            yield Show(cut[1], self.spec.value)


class Garbage(TerminalFault):
    """Drawn at the cursor, and erased again there. All sequences in it are ended."""

    name = "garbage-bytes"
    what = "bytes that are no UTF-8, and unknown sequences, come before an answer"

    def output(self, event: Event) -> Iterator[Act]:
        if self.exchange == self.at and not self.met and not self._within_sequence():
            self.met = True
            yield Show(b"\x1b7" + _GARBAGE + b"\x1b8\x1b[%dX" % _GARBAGE_CELLS)
        yield Show(event.data)

    def begin(self) -> Iterator[Act]:
        self.follow()
        yield from ()

    def played(self, event: Event) -> None:
        self._pending = self.screen.pending
        super().played(event)

    def _within_sequence(self) -> bool:
        return bool(self._pending)


class PromptRenamed(TerminalFault):
    """Where a cell of the prompt's column is painted with it, and nowhere else in the output."""

    name = "prompt-renamed"
    what = "the prompt has another glyph"

    def begin(self) -> Iterator[Act]:
        self.follow()
        yield from ()

    def played(self, event: Event) -> None:
        """Followed in ``output``, piece by piece."""

    def output(self, event: Event) -> Iterator[Act]:
        old = self.scene.glyph.encode()
        other = ("%" if "»" in self.scene.glyph else "»") * len(self.scene.glyph)
        out = b""
        data = event.data
        while old and (at := data.find(old)) >= 0:
            self.screen.feed(data[:at])
            drawn = not self.screen.pending and self._column() == self.scene.column
            self.met = self.met or drawn
            out += data[:at] + (other.encode() if drawn else old)
            self.screen.feed(old)
            data = data[at + len(old) :]
        self.screen.feed(data)
        yield Show(out + data)

    def _column(self) -> int:
        return self.screen.snapshot().cursor.col


class EarlyEof(TerminalFault):
    name = "early-eof"
    what = "the program ends in the middle of an answer, with status 0"
    fatal = True

    def output(self, event: Event) -> Iterator[Act]:
        cut = self.cut(event)
        if cut is None:
            yield Show(event.data)
        else:
            yield Show(cut[0])
            yield End(exited(0))


class ExitCode(TerminalFault):
    name = "exit-code"
    what = "all is as recorded, but the program ends with another status"
    number = "STATUS"
    default = 1.0
    fatal = True

    def ending(self, exit_status: ExitStatus | None) -> ExitStatus | None:
        self.met = True
        code = int(self.spec.value)
        same = exit_status is not None and exit_status.exited and exit_status.code == code
        return exited(code % 255 + 1 if same else code)


class ExitSignal(TerminalFault):
    name = "exit-signal"
    what = "all is as recorded, but the program ends by SIGKILL, as when memory runs out"
    fatal = True

    def ending(self, exit_status: ExitStatus | None) -> ExitStatus | None:
        self.met = True
        return ExitStatus(code=-1, signal="killed", exited=False, signaled=True)


STREAM_FAULTS: tuple[type[TerminalFault], ...] = (
    ChunksSplit,
    ChunksMerged,
    Stall,
    Garbage,
    PromptRenamed,
    EarlyEof,
    ExitCode,
    ExitSignal,
)
