"""Faults that show a screen of their own, or take input: dialogs, a spinner, lost keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.faults.fault import MOST_S, FaultSpec
from ptycassette.faults.scene import Scene
from ptycassette.faults.terminal import Act, End, Show, TerminalFault, Typed, exited
from ptycassette.model.events import Event

_ENTER = re.compile(rb"(\x1b\[200~.*?(?:\x1b\[201~|\Z))|[\r\n]", re.DOTALL)
"""Enter, but not within a paste."""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|O[@-~])")
_QUITS = (b"\x03", b"\x1b")
_RENDERS = 5
_RENDER_S = 0.1
_BURST_US = 120_000
"""Claude Code and Codex take text and Enter that come within some 100 ms for a paste."""
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


def _enter(data: bytes) -> int:
    """Where the first Enter is; -1 where there is none."""
    return next((found.start() for found in _ENTER.finditer(data) if found[1] is None), -1)


def _screen(text: str) -> bytes:
    return _FRESH + text.encode()


class EnterDropped(TerminalFault):
    """The screen before the input is painted five times, every 100 ms; so long Enter is lost."""

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
    return _ENTER.sub(lambda found: found[1] or b"", data)


class PasteEnterRace(TerminalFault):
    """Enter within 120 ms after text belongs to the text, as to a paste, and sends nothing."""

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
        at = _enter(data)
        text = _SEQUENCE.sub(b"", data if at < 0 else data[:at])
        if text or (at < 0 and b"\x1b[200~" in data):
            self._text_us = now_us
        if at < 0:
            return Typed(data)
        if self._text_us is None:
            return Typed(data)
        self.met = True
        if now_us - self._text_us > _BURST_US:
            self._text_us = None
            return Typed(data)
        self._text_us = now_us
        return Typed(_without_enter(data))


class ResizeIgnored(TerminalFault):
    """What was painted within 300 ms after a recorded resize does not come."""

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
    """A screen at the start, which waits for a key."""

    needs_keys = True
    text: str
    ends: bytes = b"".join(_QUITS)
    goes_on: bytes = b""
    failed: str = ""

    def default_place(self) -> int:
        return 0

    def begin(self) -> Iterator[Act]:
        self.met = self.holds = True
        yield Show(_screen(self.text))

    def typed(self, data: bytes, now_us: int) -> Typed:
        if not self.holds:
            return Typed(data)
        keys = _SEQUENCE.sub(b"", data)
        for at, key in enumerate(keys):
            if key in self.ends:
                return Typed(acts=(End(exited(1)),))
            if key in self.goes_on:
                self.holds = False
                return Typed(keys[at + 1 :], (Show(_FRESH),))
        return Typed(acts=(Show(_screen(self.failed + self.text)),) if _enter(keys) >= 0 else ())


class TrustScreen(_StartScreen):
    name = "trust-screen"
    what = "at the start it asks whether the folder is trusted: Enter, y or 1 goes on"
    text = _TRUST
    ends = b"2n\x03\x1b"
    goes_on = b"\r\n1yY"


class LoginScreen(_StartScreen):
    name = "login-screen"
    what = "at the start it wants somebody to sign in, which fails; Esc ends it with status 1"
    fatal = True
    text = _LOGIN
    failed = _LOGIN_FAILED


class QuotaScreen(TerminalFault):
    """Whoever goes back may press Enter again, or type the same again."""

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
        at = _enter(data)
        if at < 0:
            return Typed(data)
        self.met = self.holds = True
        self._typed = self._typed[: _enter(self._typed)]
        return Typed(data[:at], (Show(_screen(_QUOTA)),))

    def _back(self, data: bytes) -> Typed:
        at = _enter(data)
        if at < 0:
            return Typed(acts=(End(exited(1)),) if data in _QUITS else ())
        self.holds = False
        self._again = b""
        more = self._asked_again(data[at + 1 :]) if data[at + 1 :] else Typed()
        return Typed(more.passed, (Show(self.repaint()), *more.acts))

    def _asked_again(self, data: bytes) -> Typed:
        self._again = (self._again or b"") + data
        at = _enter(self._again)
        if at < 0:
            return Typed()
        again, self._again = self._again, None
        return Typed(again[at:] if again[:at] in {b"", self._typed} else again)


class EndlessSpinner(TerminalFault):
    """For ten minutes at most, when the program ends with status 1."""

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
        keys = _SEQUENCE.sub(b"", data)
        return Typed(acts=(End(exited(130)),) if any(key in keys for key in _QUITS) else ())


SCREEN_FAULTS: tuple[type[TerminalFault], ...] = (
    EnterDropped,
    PasteEnterRace,
    ResizeIgnored,
    TrustScreen,
    LoginScreen,
    QuotaScreen,
    EndlessSpinner,
)
