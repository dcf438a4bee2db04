"""Record the values that a Python program takes from its surroundings, and serve them again.

A program under test that uses ``Draws`` instead of ``time``, ``uuid``, ``random`` and
``os.environ`` gets the recorded values again, one after the other. A draw of another kind, with
another argument, or one too many is a divergence. So is every draw after it: a program that
swallows the error gets no further values.

A log consists of lines of JSON, ``{"kind":"uuid4","value":"..."}``. It is for one process and one
thread.
"""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from ptycassette.errors import DivergenceError, RecordError, UsageError
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved

T = TypeVar("T")
DrawKind = Literal["time_ns", "uuid4", "random", "randbytes", "environ"]

DRAW_EVENT = "draw"
MAX_RANDBYTES = 30_000
DIVERGENCE_EVENT = "draw-divergence"


class Draw(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One draw: its kind, its argument, and its value as text."""

    kind: DrawKind
    value: str
    asked: str = ""


class DrawSource(Protocol):
    """Gives values when no log serves them."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch."""
        ...

    def uuid4(self) -> uuid.UUID:
        """A random UUID."""
        ...

    def random(self) -> float:
        """A number from 0 up to 1."""
        ...

    def randbytes(self, count: int) -> bytes:
        """Random bytes."""
        ...

    def environ(self, name: str) -> str | None:
        """An environment variable; None if it is not set."""
        ...


class Draws(ABC):
    """Values from the surroundings of a program; see ``RecordedDraws`` and ``ServedDraws``."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, as ``time.time_ns``."""
        return self._draw("time_ns", "", lambda source: source.time_ns(), str, int)

    def now(self) -> datetime:
        """The time in UTC, to the microsecond; counts as a draw of ``time_ns``."""
        seconds, rest = divmod(self.time_ns(), 10**9)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)

    def uuid4(self) -> uuid.UUID:
        """A UUID, as ``uuid.uuid4``."""
        return self._draw("uuid4", "", lambda source: source.uuid4(), str, uuid.UUID)

    def random(self) -> float:
        """A number from 0 up to 1, as ``random.random``; served numbers are bit-exact."""
        return self._draw("random", "", lambda source: source.random(), float.hex, float.fromhex)

    def randbytes(self, count: int) -> bytes:
        """Random bytes, as ``random.randbytes``.

        Raises:
            UsageError: more than ``MAX_RANDBYTES``, which would not fit in a service event.
        """
        if count > MAX_RANDBYTES:
            raise UsageError(
                f"{count} random bytes in one draw", hint=f"draw {MAX_RANDBYTES} at a time"
            )
        return self._draw(
            "randbytes",
            str(count),
            lambda source: source.randbytes(count),
            bytes.hex,
            bytes.fromhex,
        )

    def environ(self, name: str, default: str | None = None) -> str | None:
        """An environment variable, as ``os.environ.get``.

        A recording holds the scrubbed value: a secret in it or the path of a home folder is masked,
        and is served masked.

        Raises:
            UsageError: its text is not UTF-8, or does not fit in a service event.
        """
        value = self._draw(
            "environ", name, lambda source: source.environ(name), _written_value, _read_value
        )
        return default if value is None else value

    @abstractmethod
    def _draw(
        self,
        kind: DrawKind,
        asked: str,
        make: Callable[[DrawSource], T],
        write: Callable[[T], str],
        read: Callable[[str], T],
    ) -> T:
        """Give one value: make and keep it, or read it from the log."""


class RecordedDraws(Draws):
    """Values from a source, recorded.

    Args:
        source: makes the values.
        keep: receives each draw before the program gets it.
    """

    def __init__(self, source: DrawSource, keep: Callable[[Draw], None]) -> None:
        self._source = source
        self._keep = keep

    def _draw(
        self,
        kind: DrawKind,
        asked: str,
        make: Callable[[DrawSource], T],
        write: Callable[[T], str],
        read: Callable[[str], T],  # noqa: ARG002 - for those that are served
    ) -> T:
        value = make(self._source)
        self._keep(Draw(kind, write(value), asked))
        return value


class ServedDraws(Draws):
    """Values from a log.

    Args:
        draws: the log.
        keep: receives each served draw before the program gets it.
        diverged: receives the message of the first divergence before the program gets it.
        beyond: gives the source for a draw that the log does not have; None to diverge instead.
    """

    def __init__(
        self,
        draws: Iterable[Draw],
        keep: Callable[[Draw], None] | None = None,
        diverged: Callable[[str], None] | None = None,
        beyond: Callable[[], DrawSource | None] = lambda: None,
    ) -> None:
        self._beyond = beyond
        self._left = list(draws)
        self._number = 0
        self._keep = keep
        self._tell = diverged
        self._divergence: DivergenceError | None = None

    @property
    def left(self) -> tuple[Draw, ...]:
        """The draws of the log that were not used."""
        return tuple(self._left[self._number :])

    def finish(self) -> None:
        """Check that the program drew exactly what the log has.

        Raises:
            DivergenceError: a draw diverged before, or unused draws are left.
        """
        if self._divergence is not None:
            raise self._divergence
        if self.left:
            raise DivergenceError(
                f"{len(self.left)} recorded draws were not made; the next is {self.left[0].kind}"
            )

    def _draw(
        self,
        kind: DrawKind,
        asked: str,
        make: Callable[[DrawSource], T],
        write: Callable[[T], str],
        read: Callable[[str], T],
    ) -> T:
        if self._divergence is None:
            self._divergence = self._diverges(kind, asked)
            if self._divergence is not None and (source := self._beyond()) is not None:
                self._divergence = None
                made = make(source)
                if self._keep is not None:
                    self._keep(Draw(kind, write(made), asked))
                return made
            if self._divergence is not None and self._tell is not None:
                self._tell(self._divergence.message)
        if self._divergence is not None:
            raise self._divergence
        draw = self._left[self._number]
        try:
            value = read(draw.value)
        except ValueError as wrong:
            raise RecordError(f"draw {self._number + 1} is no {kind}: {wrong}") from wrong
        self._number += 1
        if self._keep is not None:
            self._keep(draw)
        return value

    def _diverges(self, kind: DrawKind, asked: str) -> DivergenceError | None:
        number = self._number + 1
        if not self.left:
            return DivergenceError(f"draw {number} is a {kind}, and none is left in the recording")
        draw = self.left[0]
        if (draw.kind, draw.asked) == (kind, asked):
            return None
        recorded, live = f"{draw.kind}({draw.asked})", f"{kind}({asked})"
        return DivergenceError(f"draw {number} was {recorded} in the recording, and is {live}")


def _written_value(value: str | None) -> str:
    """``=`` and the value of a variable that is set; empty if it is not set."""
    if value is None:
        return ""
    try:
        length = len(value.encode())
    except UnicodeEncodeError as wrong:
        raise UsageError("a variable that is not UTF-8 cannot be drawn") from wrong
    if length > MAX_RANDBYTES:
        raise UsageError(
            f"a variable of {length} bytes cannot be drawn", hint=f"at most {MAX_RANDBYTES}"
        )
    return f"={value}"


def _read_value(text: str) -> str | None:
    if text and not text.startswith("="):
        raise ValueError(f"{text[:20]!r} is not a variable")
    return text[1:] if text else None


def write_draw(draw: Draw) -> bytes:
    """The line of a draw."""
    return msgspec.json.encode(draw) + b"\n"


class DrawnValues(msgspec.Struct, frozen=True):
    """The draws of a recording in order, and the divergence message if served draws diverged."""

    draws: tuple[Draw, ...] = ()
    divergences: tuple[str, ...] = ()


def draw_event(draw: Draw) -> dict[str, Any]:
    """The payload of the service event for a draw."""
    return {"type": DRAW_EVENT, **msgspec.to_builtins(draw)}


def divergence_event(message: str) -> dict[str, Any]:
    """The payload of the service event for a draw that differs from the recorded one."""
    return {"type": DIVERGENCE_EVENT, "message": message}


def drawn_in(payloads: Iterable[Any]) -> DrawnValues:
    """Collect the draws from payloads of service events."""
    draws: list[Draw] = []
    divergences: list[str] = []
    for payload in payloads:
        match payload:
            case {"type": "draw", **fields}:
                with suppress(msgspec.ValidationError):  # an event of the program's own
                    draws.append(msgspec.convert(fields, resolved(Draw)))
            case {"type": "draw-divergence", "message": str(message)}:
                divergences.append(message)
    return DrawnValues(tuple(draws), tuple(divergences))


def draw_differences(recorded: DrawnValues, now: DrawnValues) -> list[str]:
    """The differences between recorded and new draws, one line each; empty if all are equal."""
    if now.divergences:
        return list(now.divergences)  # nothing was served after the first
    found: list[str] = []
    drawn = len(now.draws)
    if now.draws != recorded.draws[:drawn]:
        found.append("other values were drawn than were served")
    elif drawn < len(recorded.draws):
        left = len(recorded.draws) - drawn
        found.append(
            f"{left} of {len(recorded.draws)} recorded draws were not made; "
            f"the next is a {recorded.draws[drawn].kind}"
        )
    return found


def read_draws(data: bytes, *, where: str) -> Iterator[Draw]:
    """The draws of a log. An incomplete last line is ignored: the program never got its value.

    Raises:
        RecordError: a line is not a draw.
    """
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield msgspec.json.decode(line, type=resolved(Draw))
        except NOT_JSON as wrong:
            raise RecordError(f"not a draw: {wrong}", where=f"{where}, line {number}") from wrong


def draws_digest(draws: Sequence[Draw]) -> str:
    """SHA-256 (hex) of draws in order."""
    return hashlib.sha256(b"".join(map(write_draw, draws))).hexdigest()
