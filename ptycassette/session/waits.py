"""Wait conditions, as questions about a ``SessionView``. Pure: no waiting, no clock.

A condition is asked with every new view and the time. It answers whether it is met, and
when it could be met by time alone. The sessions do the waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from ptycassette.errors import CassetteError, SessionClosedError, WaitTimeoutError
from ptycassette.keys.quantities import time_text
from ptycassette.model.geometry import Cursor
from ptycassette.model.screen import Screen
from ptycassette.model.visible_text import printable
from ptycassette.session._piped_core import PipedCore
from ptycassette.session.core import SessionView, describe_exit

_HINT = "wait for something that appears, or give it more time (timeout_s)"


class WaitCondition(Protocol):
    """A condition on views."""

    @property
    def what(self) -> str:
        """The condition in words."""
        ...

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether it is met, ``now_us`` after the start of the session."""
        ...

    def due_us(self, view: SessionView) -> int | None:
        """When it will be met if nothing happens; None for never."""
        ...


class Satisfies:
    """A predicate over the screen."""

    def __init__(self, predicate: Callable[[Screen], bool], what: str) -> None:
        self.what = what
        self._predicate = predicate

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the predicate is true."""
        return self._predicate(view.screen)

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


def contains(text: str) -> Satisfies:
    """The screen shows ``text``; a newline in it continues in the next row.

    Blanks at the end of a row count, as on a screen: ``"$ "`` finds an empty prompt.
    """
    *inner, last = text.split("\n")
    pattern = re.compile(
        "".join(f"{re.escape(line.rstrip())} *\n" for line in inner) + re.escape(last)
    )

    def shown(screen: Screen) -> bool:
        rows = "\n".join(row.ljust(screen.size.cols) for row in screen.rows)
        return pattern.search(rows) is not None

    return Satisfies(shown, f"the text '{printable(text)}'")


def matches(pattern: str | re.Pattern[str]) -> Satisfies:
    """``pattern`` is found in the rows joined by newlines; ``^`` and ``$`` match at rows."""
    compiled = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
    what = f"a match of '{printable(compiled.pattern)}'"
    return Satisfies(lambda screen: compiled.search(screen.text) is not None, what)


def matches_in_file(source: str) -> Satisfies:
    """As ``matches``, for a pattern from a file: RE2 searches in linear time.

    Raises:
        PatternError: it is not a regular expression that files may have.
    """
    # Imported here, so that patterns of Python code do not load RE2.
    from ptycassette.model.file_patterns import file_pattern  # noqa: PLC0415

    pattern = file_pattern(source, multiline=True)
    what = f"a match of '{printable(source)}'"
    return Satisfies(lambda screen: pattern.found(screen.text), what)


class CursorAt(Satisfies):
    """The cursor is at a position; None for any row or column."""

    def __init__(self, row: int | None, col: int | None) -> None:
        def there(cursor: Cursor) -> bool:
            return row in {None, cursor.row} and col in {None, cursor.col}

        super().__init__(lambda screen: there(screen.cursor), f"the cursor at ({row}, {col})")


class Stable:
    """Nothing on the screen changed for ``quiet_ms``."""

    def __init__(self, quiet_ms: float) -> None:
        self.what = f"a screen that is stable for {quiet_ms:g} ms"
        self._quiet_us = round(quiet_ms * 1000)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether the last change is long enough ago; at once when the program ended."""
        return view.finished or now_us >= view.changed_us + self._quiet_us

    def due_us(self, view: SessionView) -> int | None:
        """When it is long enough ago."""
        return view.changed_us + self._quiet_us


class Idle:
    """It is the driver's turn: the program reports so, or shows nothing more.

    The reports of a program (OSC 7501, OSC 133) decide: it is not idle while it reports
    that it works, however quiet it is, and idle as soon as it reports the end of its turn
    after the last input. Without a report since the last input it is idle when neither
    screen nor input changed for ``quiet_ms``.
    """

    def __init__(self, quiet_ms: float) -> None:
        self.what = f"an idle program (or a screen that is stable for {quiet_ms:g} ms)"
        self._quiet_us = round(quiet_ms * 1000)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether it is idle; at once when it ended."""
        if view.finished:
            return True
        if view.turn == "working":
            return False
        reported_idle = view.turn == "idle" and view.turn_us > view.input_us
        return reported_idle or now_us >= self._quiet_at(view)

    def due_us(self, view: SessionView) -> int | None:
        """When it has been quiet for long enough; None while it works."""
        return None if view.turn == "working" else self._quiet_at(view)

    def _quiet_at(self, view: SessionView) -> int:
        return max(view.changed_us, view.input_us) + self._quiet_us


class LineRead:
    """A stream has another line, or has ended; see ``PipedCore.has_line``."""

    hint = (
        "many programs keep back what they write to a pipe until it is a lot, or they end: run"
        " them unbuffered (python -u, stdbuf -oL), end their stdin (close_stdin), or give them"
        " more time (timeout_s)"
    )

    def __init__(self, core: PipedCore, stream: str) -> None:
        if stream not in core.outputs:
            raise ValueError(f"stream is {stream!r}, and must be stdout or stderr")
        self.what = f"a line on {stream}"
        self._core, self._stream = core, stream

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether a line can be taken."""
        return self._core.has_line(self._stream)

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


class Exited:
    """The program and all that it started have ended, and all of their output was read."""

    what = "the end of the program"

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the session is over."""
        return view.finished

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


def broken_off(wait: WaitCondition, view: SessionView, timeout_s: float) -> CassetteError:
    """The error of a wait that failed, with the scrubbed screen: timeout, or the program ended."""
    # Imported here, so that a recorder does not load the scrubber while a program waits.
    from ptycassette.scrub.io.conceal import concealed_screen  # noqa: PLC0415

    what, rows = concealed_screen(wait.what, tuple(view.screen.text.split("\n")))
    rows = tuple(map(printable, rows))
    if not view.finished:
        return WaitTimeoutError(
            f"waited {time_text(timeout_s)} for {what}",
            screen=rows,
            hint=getattr(wait, "hint", _HINT),
        )
    shown = "\n".join(f"  | {row}" for row in rows)
    return SessionClosedError(
        f"waited for {what}, but {describe_exit(view.exit)}; the screen at its end:\n{shown}"
    )


def unread(view: SessionView, timeout_s: float) -> WaitTimeoutError:
    """The error when the program did not read input in time, with the scrubbed screen."""
    from ptycassette.scrub.io.conceal import concealed_screen  # noqa: PLC0415 - as above

    message, rows = concealed_screen(
        f"waited {time_text(timeout_s)} for the program to read its input", view.screen.rows
    )
    return WaitTimeoutError(
        message,
        screen=rows,
        hint="it is busy or stopped; wait for its prompt before sending more",
    )
