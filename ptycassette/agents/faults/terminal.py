"""Faults of the terminal that a driver may meet at a CLI. Pure.

A fault sits between a recording that is played and its driver. It sees each piece of output before
the driver does, each input before the recording does, and the end. Its own output is a valid stream
of a terminal: text, whole escape sequences, and bytes in any pieces, as a PTY delivers them. The
stand-in (``replaying.standin``) carries out its actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from ptycassette.agents.faults.fault import MOST_S, Fault, FaultSpec, Scene
from ptycassette.keys.reader import read_keys
from ptycassette.model.records import Event, ExitStatus, painted_bytes
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.repaint import RESET, repaint_bytes


class Show(msgspec.Struct, frozen=True):
    """Write ``data``, ``after_s`` seconds later than the output before it."""

    data: bytes
    after_s: float = 0.0


class End(msgspec.Struct, frozen=True):
    """End the program, although the recording goes on."""

    exit: ExitStatus


Act = Show | End


class Typed(msgspec.Struct, frozen=True):
    """The result for an input: ``passed`` goes to the recording; ``acts`` come at once."""

    passed: bytes = b""
    acts: tuple[Act, ...] = ()


class TerminalFault(Fault):
    """A fault of one run.

    Args:
        spec: the requested fault.
        scene: the recording.

    Attributes:
        fatal: the driver cannot recover, and can only report the fault. It can recover from all
            other faults.
        needs_keys: it has no meaning for a program over pipes.
        at: the input at which it strikes; 0 is the start.
        met: whether the driver has met it.
        holds: the recording pauses, because a screen of the fault is shown.
        exchange: the number of inputs played so far.
        offset: bytes of output since the last of them.
    """

    fatal: ClassVar[bool] = False
    needs_keys: ClassVar[bool] = False

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec)
        self.scene = scene
        self.at = self.default_place() if spec.at is None else scene.checked(spec.at)
        self.met = False
        self.holds = False
        self.exchange = 0
        self.offset = 0
        self._emulator: PyteEmulator | None = None

    def default_place(self) -> int:
        """The input at which it strikes if none was given."""
        return self.scene.first_answered()

    def played(self, event: Event) -> None:
        """Note output of the recording, before ``output`` is called for it."""
        if self._emulator is not None:
            self._emulator.feed(painted_bytes(event))

    def followed(self, size: Size) -> None:
        """Note that the recording has changed to another size."""
        if self._emulator is not None:
            self._emulator.resize(size)

    # -- what a fault changes ------------------------------------------------------

    def begin(self) -> Iterator[Act]:
        """Acts before the first output."""
        yield from ()

    def output(self, event: Event) -> Iterator[Act]:
        """Acts in place of a piece of output."""
        yield Show(event.data)

    def quiet(self) -> Iterator[Act]:
        """Acts when the recording waits for the driver, or is over."""
        yield from ()

    def typed(self, data: bytes, now_us: int) -> Typed:
        """The result for an input."""
        del now_us
        return Typed(data)

    def resized(self) -> bool:
        """Whether a resize reaches the recording."""
        return True

    def ending(self, exit_status: ExitStatus | None) -> ExitStatus | None:
        """How the program ends."""
        return exit_status

    # -- for faults that paint -----------------------------------------------------

    def follow(self) -> None:
        """Track the screen from now on, for ``repaint``."""
        self._emulator = PyteEmulator(self.scene.size)

    @property
    def screen(self) -> PyteEmulator:
        """The screen of the recording; available after ``follow``."""
        assert self._emulator is not None  # noqa: S101 - followed since the start
        return self._emulator

    def repaint(self) -> bytes:
        """Output that paints the recorded screen over anything else."""
        return RESET + repaint_bytes(self.screen)

    @property
    def middle(self) -> int:
        """Half of the length of the answer to its input, in bytes."""
        return self.scene.answers[self.at] // 2

    def cut(self, event: Event) -> tuple[bytes, bytes] | None:
        """A piece of output, cut at the middle of that answer; None if the middle is elsewhere."""
        here = self.exchange == self.at and not self.met
        if not here or not self.scene.answers[self.at]:
            return None
        left = self.middle - self.offset
        if left >= len(event.data):
            return None
        self.met = True
        return event.data[: max(0, left)], event.data[max(0, left) :]


def exited(code: int) -> ExitStatus:
    """A normal end with this status."""
    return ExitStatus(code=code, exited=True, signaled=False)


# Faults that show a screen of their own, or take input: dialogs, a spinner, lost keys.


_QUITS = ("ctrl-c", "escape")
_RENDERS = 5
_RENDER_S = 0.1
_BURST_US = 120_000
"""Claude Code and Codex take text and Enter within some 100 ms for a paste."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_S = 0.1
_FRESH = b"\x1b[2J\x1b[H"
_TRUST = (
    "Do you trust the files in this folder?\r\n\r\n"
    "  1. Yes, proceed\r\n  2. No, exit\r\n\r\n"
    "Press Enter to confirm, Esc to exit\r\n"
)
_LOGIN = (
    "You are not signed in.\r\n\r\n"
    "  1. Sign in with an account\r\n  2. Use an API key\r\n\r\n"
    "Press Enter to sign in, Esc to exit\r\n"
)
_LOGIN_FAILED = "Signing in failed: the browser cannot be opened.\r\n"
_QUOTA = (
    "You have reached your usage limit.\r\n\r\n"
    "It is reset in a moment. Press Enter to go back, and ask again.\r\n"
)


def _at_enter(data: bytes) -> tuple[bytes, bytes] | None:
    """The bytes before and behind the first Enter; None without one. A paste has no Enter."""
    before = b""
    for key in read_keys(data):
        if key.name == "enter":
            return before, data[len(before) + len(key.raw) :]
        before += key.raw
    return None


def _screen(text: str) -> bytes:
    return _FRESH + text.encode()


class EnterDropped(TerminalFault):
    """The screen before the input is painted five times, every 100 ms; meanwhile Enter is lost."""

    name = "enter-dropped"
    what = "Enter that comes while the dialog before it is still rendered is lost"
    needs_keys = True

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._rendered = self.at == 0

    def default_place(self) -> int:
        return self.scene.first_sent()

    def begin(self) -> Iterator[Act]:
        self.follow()
        yield from ()

    def quiet(self) -> Iterator[Act]:
        if self.exchange != self.at - 1 or self.met:
            return
        self.met = True
        for _ in range(_RENDERS):
            yield Show(self.repaint(), _RENDER_S)
        self._rendered = True

    def typed(self, data: bytes, now_us: int) -> Typed:
        if self._rendered or self.exchange != self.at - 1:
            return Typed(data)
        return Typed(_without_enter(data))


def _without_enter(data: bytes) -> bytes:
    return b"".join(key.raw for key in read_keys(data) if key.name != "enter")


class PasteEnterRace(TerminalFault):
    """Enter within 120 ms after text belongs to the text, as in a paste, and submits nothing."""

    name = "paste-enter-race"
    what = "Enter that comes together with the text before it does not send it"
    needs_keys = True

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._text_us: int | None = None

    def default_place(self) -> int:
        return 0

    def typed(self, data: bytes, now_us: int) -> Typed:
        if self.at not in {0, self.exchange + 1}:
            return Typed(data)
        sent = _at_enter(data)
        keys = read_keys(data if sent is None else sent[0])
        if any(key.kind in {"text", "paste"} or len(key.raw) == 1 for key in keys):
            self._text_us = now_us
        if sent is None or self._text_us is None:
            return Typed(data)
        self.met = True
        if now_us - self._text_us > _BURST_US:
            self._text_us = None
            return Typed(data)
        self._text_us = now_us
        return Typed(_without_enter(data))


class ResizeIgnored(TerminalFault):
    """Output within 300 ms after a recorded resize is missing."""

    name = "resize-ignored"
    what = "the program ignores a resize: it paints nothing because of it"
    needs_keys = True

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._left = scene.resizes

    def output(self, event: Event) -> Iterator[Act]:
        if event.seq not in self.scene.repaints:
            yield Show(event.data)

    def resized(self) -> bool:
        self.met = True
        self._left -= 1
        return self._left >= 0


class _StartScreen(TerminalFault):
    """A screen at the start that waits for a key."""

    needs_keys = True
    text: str
    ends: tuple[str, ...] = _QUITS
    goes_on: tuple[str, ...] = ()
    failed: str = ""

    def default_place(self) -> int:
        return 0

    def begin(self) -> Iterator[Act]:
        self.met = self.holds = True
        yield Show(_screen(self.text))

    def typed(self, data: bytes, now_us: int) -> Typed:
        if not self.holds:
            return Typed(data)
        at = 0
        for key in read_keys(data):
            at += len(key.raw)
            for pressed in (key.name,) if key.name else key.text:
                if pressed in self.ends:
                    return Typed(acts=(End(exited(1)),))
                if pressed in self.goes_on:
                    self.holds = False
                    return Typed(data[at:], (Show(_FRESH),))
        return Typed(acts=(Show(_screen(self.failed + self.text)),) if _at_enter(data) else ())


class TrustScreen(_StartScreen):
    name = "trust-screen"
    what = "at the start it asks whether the folder is trusted: Enter, y or 1 goes on"
    text = _TRUST
    ends = ("2", "n", *_QUITS)
    goes_on = ("enter", "1", "y", "Y")


class LoginScreen(_StartScreen):
    name = "login-screen"
    what = "at the start it wants somebody to sign in, which fails; Esc ends it with status 1"
    fatal = True
    text = _LOGIN
    failed = _LOGIN_FAILED


class QuotaScreen(TerminalFault):
    """A driver that goes back may press Enter again, or type the same text again."""

    name = "quota-screen"
    what = "a usage limit in place of an answer: Enter goes back, and asking again is answered"
    needs_keys = True

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec, scene)
        self._typed = b""
        self._again: bytes | None = None

    def begin(self) -> Iterator[Act]:
        self.follow()
        yield from ()

    def typed(self, data: bytes, now_us: int) -> Typed:
        if self.holds:
            return self._back(data)
        if self._again is not None:
            return self._asked_again(data)
        if self.met or self.exchange != self.at - 1:
            return Typed(data)
        self._typed += data
        sent = _at_enter(data)
        if sent is None:
            return Typed(data)
        self.met = self.holds = True
        self._typed, _ = _at_enter(self._typed) or sent
        return Typed(sent[0], (Show(_screen(_QUOTA)),))

    def _back(self, data: bytes) -> Typed:
        sent = _at_enter(data)
        if sent is None:
            keys = read_keys(data)
            quits = len(keys) == 1 and keys[0].name in _QUITS
            return Typed(acts=(End(exited(1)),) if quits else ())
        self.holds = False
        self._again = b""
        more = self._asked_again(sent[1]) if sent[1] else Typed()
        return Typed(more.passed, (Show(self.repaint()), *more.acts))

    def _asked_again(self, data: bytes) -> Typed:
        self._again = (self._again or b"") + data
        sent = _at_enter(self._again)
        if sent is None:
            return Typed()
        again, self._again = self._again, None
        return Typed(again[len(sent[0]) :] if sent[0] in {b"", self._typed} else again)


class EndlessSpinner(TerminalFault):
    """Spins for ten minutes at most; then the program ends with status 1."""

    name = "endless-spinner"
    what = "a spinner in place of an answer, for ever; Ctrl-C or Esc ends it with status 130"
    fatal = True

    def output(self, event: Event) -> Iterator[Act]:
        if self.exchange != self.at or self.met:
            yield Show(event.data)
            return
        self.met = self.holds = True
        for number in range(round(MOST_S / _FRAME_S)):
            frame = _FRAMES[number % len(_FRAMES)]
            text = f"\x1b7{frame} Working ({number // 10}s, esc to interrupt)\x1b8"
            yield Show(text.encode(), _FRAME_S)
        yield End(exited(1))

    def typed(self, data: bytes, now_us: int) -> Typed:
        if not self.holds:
            return Typed(data)
        quits = any(key.name in _QUITS for key in read_keys(data))
        return Typed(acts=(End(exited(130)),) if quits else ())


SCREEN_FAULTS: tuple[type[TerminalFault], ...] = (
    EnterDropped,
    PasteEnterRace,
    ResizeIgnored,
    TrustScreen,
    LoginScreen,
    QuotaScreen,
    EndlessSpinner,
)


# Faults of the stream of output: its pieces, its pace, its bytes, its end.


_MOST_PIECES = 500
_PIECE_S = 0.001
_GARBAGE = b"\xff\xfe\x00\xc3\x28\xed\xa0\x80\x9b\x1b[?12;\x18\x1b]777;x\x07\x1bP+q\xf0\x1b\\\x80"
"""Invalid UTF-8, NUL, a surrogate, a lone C1, a sequence cancelled by CAN, unknown OSC and DCS."""
_GARBAGE_CELLS = 12


class ChunksSplit(TerminalFault):
    """At most 500 pieces after an input, so that a long output takes no longer than half a second.

    Output is cut where readers often fail: after ESC and in the parameters of a sequence, within a
    character of several bytes, between CR and LF.
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
    """Drawn at the cursor, and erased again. All sequences in it are complete."""

    name = "garbage-bytes"
    what = "bytes that are not UTF-8, and unknown sequences, come before an answer"

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
    """Replaces the glyph only in cells of the prompt's column, and nowhere else in the output."""

    name = "prompt-renamed"
    what = "the prompt has another glyph"

    def begin(self) -> Iterator[Act]:
        self.follow()
        yield from ()

    def played(self, event: Event) -> None:
        """Do nothing; ``output`` follows the pieces."""

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
