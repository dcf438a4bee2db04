"""Learns typed secrets from the screens of the reader of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptycassette.model.journal import JournalEvent
from ptycassette.model.ports import Emulator
from ptycassette.typed._at_cursor import at_cursor
from ptycassette.typed._piped import PipedLine, PipedPrompts
from ptycassette.typed._secrets import TypedSecret, TypedSecrets


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
        """What was sent over a pipe to prompts that ask for a secret."""
        for line, number in lines:
            yield from self._learner.learn(line, "asked", number)
