"""Learns typed secrets from the screens of the reader of a session."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ptycassette.model.ports import Emulator
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.scrub.typed.secrets import TypedSecret, TypedSecrets, at_cursor, row_asks

# Secrets that a program asks for by name over pipes.


_LABEL = lazy_pattern(r"[^:?>：？＞]{1,160}[:?>：？＞]+\s?")  # noqa: RUF001
_PROMPT_ENDS = tuple(":?>：？＞")  # noqa: RUF001
_MOST_WAITING = 64
_LONGEST_LINE = 4 << 10


class PipedLine(NamedTuple):
    """A line that a prompt for a secret takes: its bytes, and the event in which it began."""

    line: bytes
    number: int


class _Stream:
    """The unfinished last line of one stream, and how many of its prompts were noticed."""

    def __init__(self) -> None:
        self.line = b""
        self.prompts = 0


class PipedPrompts:
    """Pairs the prompts of a session over pipes with the lines that answer them."""

    def __init__(self) -> None:
        self._number = -1
        self._streams: dict[str | None, _Stream] = {}
        self._prompts: deque[str] = deque(maxlen=_MOST_WAITING)
        self._lines: deque[PipedLine] = deque(maxlen=_MOST_WAITING)
        self._typed = b""
        self._since = 0

    def feed(self, event: JournalEvent) -> list[PipedLine]:
        """Take one event; the secret lines that are known through it."""
        self._number += 1
        match event:
            case Output():
                self._prompts.extend(self._new_prompts(event))
            case Typed(masked=False):
                self._type(event.data)
            case _:
                return []
        return [*self._answered()]

    def ended(self) -> list[PipedLine]:
        """The events have ended: text at the end of the input is a line as well."""
        if self._typed:
            self._type(b"\n")
        return [*self._answered()]

    def _type(self, data: bytes) -> None:
        if not self._typed:
            self._since = self._number
        *lines, self._typed = (self._typed + data).split(b"\n")
        for line in lines:
            self._lines.append(PipedLine(line.rstrip(b"\r")[:_LONGEST_LINE], self._since))
            self._since = self._number
        self._typed = self._typed[:_LONGEST_LINE]

    def _answered(self) -> Iterator[PipedLine]:
        while self._prompts and self._lines:
            line = self._lines.popleft()
            if row_asks(self._prompts.popleft()):
                yield line

    def _new_prompts(self, event: Output) -> Iterator[str]:
        """The prompts in new output: those of rows that wait, or that ask for a secret.

        Any other text with a colon is no prompt.
        """
        stream = self._streams.setdefault(event.stream, _Stream())
        *rows, last = (stream.line + event.data).split(b"\n")
        for row in rows:
            yield from self._of_row(stream, row, waits=False)
            stream.prompts = 0
        stream.line = last[-_LONGEST_LINE:]
        yield from self._of_row(stream, stream.line, waits=True)

    def _of_row(self, stream: _Stream, row: bytes, *, waits: bool) -> Iterator[str]:
        text = row[:_LONGEST_LINE].decode("utf-8", "replace")
        labels = _LABEL.findall(text)[stream.prompts :]
        if not (waits and text.rstrip().endswith(_PROMPT_ENDS)):
            asking = [at for at, label in enumerate(labels, 1) if row_asks(label)]
            labels = labels[: asking[-1]] if asking else []
        stream.prompts += len(labels)
        yield from labels


class TypedWatch:
    """A ``model.Watch``."""

    def __init__(self) -> None:
        self.begin()

    @property
    def hidden(self) -> set[int]:
        """See ``TypedSecrets.hidden``."""
        return self._learner.hidden

    @property
    def values(self) -> tuple[TypedSecret, ...]:
        """Everything that was learnt since the session began last."""
        return self._learner.values()

    def begin(self) -> None:
        """See ``Watch``."""
        self._learner = TypedSecrets()
        self._prompts = PipedPrompts()

    def saw(self, event: JournalEvent, screen: Emulator | None) -> Sequence[TypedSecret]:
        """See ``Watch``."""
        if screen is None:
            return [*self._learner.feed(event), *self._answers(self._prompts.feed(event))]
        return self._learner.feed(event, lambda: at_cursor(screen.snapshot()))

    def ended(self) -> Sequence[TypedSecret]:
        """See ``Watch``."""
        before = set(self._learner.values())
        self._learner.finish()
        tuple(self._answers(self._prompts.ended()))
        return [secret for secret in self._learner.values() if secret not in before]

    def _answers(self, lines: Iterable[PipedLine]) -> Iterator[TypedSecret]:
        """The input over a pipe that answered prompts for a secret."""
        for line, number in lines:
            yield from self._learner.learn(line, "asked", number)
