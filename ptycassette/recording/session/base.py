"""The shared part of the sync and the async session: everything but the waiting.

The actions of a session are in ``core``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from ptycassette.keys.names import canonical_key, encode_key, encode_paste, encode_text
from ptycassette.model.ports import (
    AsyncSleeper,
    Clock,
    Emulator,
    EmulatorFactory,
    SessionTap,
    Sleeper,
)
from ptycassette.model.records import ExitStatus, Noted, StreamKinds
from ptycassette.model.screen import Screen, Size
from ptycassette.recording.session.core import Input, PipedCore, SessionCore, has_pipes
from ptycassette.recording.session.pump import PipePump, Pump, ScriptPump, ThreadPump
from ptycassette.system.clock import MonotonicClock, SystemAsyncSleeper, SystemSleeper
from ptycassette.system.pty.process import DEFAULT_GRACE_S, PipedChild, PtyChild, spawn, spawn_piped
from ptycassette.system.pty.terminal import DEFAULT_SIZE, Scripted
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.system.network import Guard


# How a session is started: the size of its terminal and the environment of its program.


__all__ = [
    "CLEAN_NAMES",
    "DEFAULT_SIZE",
    "PIPES",
    "StreamChoice",
    "child_environment",
    "kinds_named",
    "size_given",
    "words_given",
]

PIPES = StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")

StreamChoice = Literal["terminal", "pipes"] | StreamKinds

CLEAN_NAMES = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)
"""What a clean environment keeps, besides every ``LC_*``: what programs need to find their files
and the user's language, and nothing that holds a credential or names the outer terminal."""

_OF_THE_OUTER_TERMINAL = ("COLUMNS", "LINES", "TERMCAP")


def kinds_named(streams: StreamChoice) -> StreamKinds:
    """The kinds of the program's streams.

    Raises:
        ValueError: it is an unknown word, or a kind that only a caller can give.
    """
    match streams:
        case "terminal":
            return StreamKinds()
        case "pipes":
            return PIPES
        case StreamKinds():
            given = {streams.stdin, streams.stdout, streams.stderr}
            if streams.only_terminal or given <= {"pipe", "null"}:
                return streams
        case _:
            raise ValueError(f"streams is {streams!r}, and must be terminal, pipes or StreamKinds")
    raise ValueError(
        f"streams are pipe or null each here, not {', '.join(sorted(given))}: other kinds are"
        " recorded as the caller gives them, with `ptycassette rec --as-given` or a shim"
    )


def words_given(argv: Sequence[str | bytes | os.PathLike[str]]) -> tuple[str, ...]:
    """The words of a command, as a caller gives them; words may also be bytes or paths.

    Raises:
        TypeError: it is one text, or a word is something else.
    """
    if isinstance(argv, str | bytes | os.PathLike):
        raise TypeError(f"argv is a list of words, such as ['echo', 'hello'], not {argv!r}")
    for word in argv:
        if not isinstance(word, str | bytes | os.PathLike):
            raise TypeError(f"each word of argv is a text, not {word!r}")
    return tuple(map(os.fsdecode, argv))


def size_given(size: Size) -> Size:
    """The size of a terminal, as a caller gives it.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(size, Size):
        raise TypeError(f"size is a Size, such as Size(rows=24, cols=80), not {size!r}")
    return size


def child_environment(
    *,
    clean: bool,
    extra: Mapping[str, str] | None = None,
    term: str = "xterm-256color",
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a program to record.

    TERM is ``term``. COLUMNS, LINES and TERMCAP are removed: they describe
    another terminal than the one that the program gets. ``extra`` overrides everything.

    Args:
        clean: keep only ``CLEAN_NAMES`` and ``LC_*``.
        extra: what to add or replace.
        term: the terminal type.
        base: where to start from; this process's environment when None.
    """
    source = os.environ if base is None else base
    kept = {
        name: value
        for name, value in source.items()
        if not clean or name in CLEAN_NAMES or name.startswith("LC_")
    }
    for name in _OF_THE_OUTER_TERMINAL:
        kept.pop(name, None)
    return {**kept, "TERM": term, **(extra or {})}


DEFAULT_TIMEOUT_S = 10.0
"""How long a wait takes at most when the caller does not say."""

SUBMIT_PAUSE_S = 0.06
"""Between a text and its Enter. Codex, Gemini CLI and Qwen take Enter in the same read as part of
a paste; a pause of 20 ms is too short for them, one of 50 ms is enough."""

CLOSE_GRACE_S = 0.5

Source = Literal["user", "driver"]


class Wiring(TypedDict, total=False):
    """The ports of a session."""

    tap: SessionTap | None
    clock: Clock
    sleeper: Sleeper
    async_sleeper: AsyncSleeper
    emulator: EmulatorFactory
    start_us: int | None  # the moment of the clock that counts as 0; None for now
    guard: Guard | None  # keeps the program off the network; PTYCASSETTE_DISABLE_NETWORK does, too


class SessionBase:
    """A program under a PTY or over pipes, driven from here. See ``Session``, ``AsyncSession``.

    Args:
        argv: the program and its arguments; no shell is involved.
        size: of the terminal, set before exec.
        cwd: where the program starts; here when None.
        env: what to add to its environment, or to replace there.
        base_env: the environment to start from; this process's when None.
        clean_env: give the program only ``CLEAN_NAMES``, ``LC_*`` and ``env``.
        term: its TERM.
        timeout_s: end the program after this long; ``timed_out`` is then true.
        streams: ``terminal``, or ``pipes``: three pipes for stdin, stdout and stderr, as
            ``subprocess`` gives them. Or the kind of each, ``pipe`` or ``null``. With pipes,
            ``size`` is that of the screen that shows all output.
        tap: listens to everything that happens; called from the pump's thread.
        clock: where times come from.
        sleeper: waits in ``submit``; ``async_sleeper`` does in an event loop.
        emulator: makes the emulator that renders the screen and answers queries.

    Raises:
        SpawnError: the program could not be started.
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and cannot be enforced here.
        TypeError: ``argv`` is one text, or ``size`` no Size.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that a user may say
        self,
        argv: Sequence[str],
        *,
        size: Size = DEFAULT_SIZE,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        base_env: Mapping[str, str] | None = None,
        clean_env: bool = True,
        term: str = "xterm-256color",
        timeout_s: float | None = None,
        streams: StreamChoice = "terminal",
        **wiring: Unpack[Wiring],
    ) -> None:
        words = words_given(argv)
        # Before the program, because it takes time, and output gets its time when it is read.
        emulator = wiring.get("emulator", default_emulator)(size_given(size))
        kinds = kinds_named(streams)
        environment = child_environment(clean=clean_env, extra=env, term=term, base=base_env)
        start = functools.partial(
            spawn, words, size=size, cwd=cwd, env=environment, guard=wiring.get("guard")
        )
        child: PtyChild | PipedChild = (
            start()
            if kinds.only_terminal
            else spawn_piped(kinds, lambda given: start(streams=given, lingers=True))
        )
        self._take(child, size, timeout_s, {**wiring, "emulator": lambda _: emulator})

    @classmethod
    def over(
        cls,
        pty: PtyChild | PipedChild | Scripted,
        *,
        size: Size = DEFAULT_SIZE,
        timeout_s: float | None = None,
        **wiring: Unpack[Wiring],
    ) -> Self:
        """A session over an existing PTY: a ``PtyChild``, or a ``ScriptedPty``.

        The session owns it from here on. Over a script, the sleeper must move the clock, as
        ``ManualClock`` does; such a session uses no thread and no real time.
        """
        session = cls.__new__(cls)
        session._take(pty, size, timeout_s, wiring)  # noqa: SLF001 - our own
        return session

    def _take(
        self,
        pty: PtyChild | PipedChild | Scripted,
        size: Size,
        timeout_s: float | None,
        wiring: Wiring,
    ) -> None:
        """Connect core, pump and ports, and start."""
        clock = wiring.get("clock") or MonotonicClock()
        self._async_sleeper: AsyncSleeper = wiring.get("async_sleeper") or SystemAsyncSleeper()
        sleeper: Sleeper = wiring.get("sleeper") or SystemSleeper()
        emulator: Emulator = wiring.get("emulator", default_emulator)(size)
        self._pty = pty
        self._size = size
        self._closed = False
        parts: dict[str, Any] = {
            "clock": clock,
            "emulator": emulator,
            "tap": wiring.get("tap"),
            "start_us": wiring.get("start_us"),
        }
        self._pipes = PipedCore(pty, **parts) if has_pipes(pty) else None
        self._core: SessionCore = self._pipes or SessionCore(pty, **parts)
        live: dict[str, Any] = {
            "sleeper": sleeper,
            "timeout_s": timeout_s,
            "grace_s": DEFAULT_GRACE_S,
        }
        self._pump: Pump
        if isinstance(pty, PtyChild):
            self._pump = ThreadPump(self._core, pty, **live)
        elif isinstance(pty, PipedChild):
            assert self._pipes is not None  # noqa: S101 - narrows the type
            self._pump = PipePump(self._pipes, pty, **live)
        else:
            self._pump = ScriptPump(self._core, pty, clock=clock, sleeper=sleeper)
        self._pump.start()

    @property
    def pid(self) -> int:
        """Process id of the program; 0 for a script."""
        return self._pty.pid if isinstance(self._pty, PtyChild | PipedChild) else 0

    @property
    def size(self) -> Size:
        """The terminal's size."""
        return self._size

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the program ended; None while it runs."""
        return self._core.exit

    @property
    def finished(self) -> bool:
        """Whether the program and all that it started ended, and their output has been read."""
        return self._core.finished

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because ``timeout_s`` had passed."""
        return self._core.timed_out

    @property
    def elapsed_us(self) -> int:
        """Microseconds since the start, as the tap's ``t_us``; constant after the end."""
        ended_us = self._core.ended_us
        return self._core.now_us() if ended_us is None else ended_us

    @property
    def last_screen(self) -> Screen:
        """The last rendered screen; costs nothing, and may be a moment old."""
        return self._core.view().screen

    @property
    def position(self) -> int | None:
        """In replay, the ``seq`` of the event that was played last; None elsewhere."""
        return getattr(self._pty, "position", None)

    @property
    def hides_input(self) -> bool:
        """In replay, whether the next recorded input was typed unseen; false elsewhere."""
        return bool(getattr(self._pty, "hides_input", False))

    def _key(self, name: str, source: Source, *, secret: bool = False) -> Input:
        """A key, in the mode that the program has set; over pipes only Enter exists."""
        if self._pipes is not None:
            if canonical_key(name) != "enter":
                raise ValueError(
                    f"{name}: keys are for terminals, and the program has pipes; send bytes"
                    " (send), or end its stdin (close_stdin)"
                )
            return Input(data=b"\n", source=source, secret=secret)
        scan = self._core.scan
        data = encode_key(
            name,
            application_cursor=scan.application_cursor,
            keyboard_flags=self._core.keyboard_flags,
        )
        return Input(data=data, source=source, key=canonical_key(name), secret=secret)

    def _bytes(self, data: bytes, source: Source) -> Input:
        """Bytes as they are.

        Raises:
            TypeError: they are no bytes.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"send() takes bytes, not {type(data).__name__}: b'...', or type() for text"
            )
        return Input(data=bytes(data), source=source)

    def _text(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """Text as from a keyboard: a newline is the Enter key, over pipes a newline."""
        _check_text(text)
        if self._pipes is not None:
            data = text.encode("utf-8", "surrogateescape")
            return Input(data=data, source=source, secret=secret)
        data = encode_text(text, keyboard_flags=self._core.keyboard_flags)
        return Input(data=data, source=source, secret=secret)

    def _focus(self, *, gained: bool) -> Input | None:
        """The report of a gained or lost focus; None if the program did not request reports."""
        if self._pipes is not None or not self._core.scan.focus_reports:
            return None
        return Input(data=b"\x1b[I" if gained else b"\x1b[O", source="terminal")

    def _paste(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """Text as from a clipboard, bracketed if the program requested that."""
        if self._pipes is not None:
            return self._text(text, source, secret=secret)
        _check_text(text)
        data = encode_paste(text, bracketed=self._core.scan.bracketed_paste)
        return Input(data=data, source=source, paste=True, secret=secret)

    def _without_enter(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """The first half of a submission: pasted where pastes are bracketed, typed elsewhere."""
        if self._pipes is None and self._core.scan.bracketed_paste:
            return self._paste(text, source, secret=secret)
        return self._text(text, source, secret=secret)

    @property
    def _submit_pause_s(self) -> float:
        return SUBMIT_PAUSE_S if self._pipes is None else 0.0

    @property
    def stdout(self) -> bytes:
        """All that the program wrote to its stdout so far; for programs over pipes.

        Raises:
            ValueError: it is at a terminal.
        """
        return bytes(self._with_pipes().outputs["stdout"])

    @property
    def stderr(self) -> bytes:
        """All of its stderr so far, as ``stdout``. Empty where both are one stream."""
        return bytes(self._with_pipes().outputs["stderr"])

    def _with_pipes(self) -> PipedCore:
        if self._pipes is None:
            raise ValueError(
                "the program is at a terminal, which has one stream for all: use screen() and"
                " keys, or start it with streams='pipes'"
            )
        return self._pipes

    def _all_input(self, data: bytes | str) -> Input:
        """The input of ``communicate``. Raises ``ValueError`` at a terminal."""
        self._with_pipes()
        given = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        return Input(data=given)

    def _noted(self, payload: Any) -> Any:
        return lambda t_us: Noted(t_us, payload)

    def _raise_failure(self) -> None:
        """Raise the session's failure, if it has one."""
        if self._core.failure is not None:
            raise self._core.over()

    def _status(self) -> ExitStatus:
        """How the program ended; raises while it runs."""
        if self._core.exit is None:
            raise self._core.over()
        return self._core.exit


def _check_text(text: object) -> None:
    """Raise ``TypeError`` unless ``text`` is a string."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}: send() takes bytes")
