"""Passes what happens in a session to its tap, without the secrets that others must not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptycassette.model.journal import JournalEvent, Typed
from ptycassette.model.ports import SessionTap
from ptycassette.scrub.io.process_secrets import remember

if TYPE_CHECKING:
    from ptycassette.typed._secrets import TypedSecrets


class TapFeed:
    """The way to a tap, for the pump alone. Without a tap, secrets are still remembered.

    After the tap has raised, ``raise_failure`` raises the same: a session that cannot be recorded
    must not continue.
    """

    def __init__(self, tap: SessionTap | None) -> None:
        self._tap = tap
        self._takes_secrets = bool(getattr(tap, "takes_secrets", False))
        self._secrets: TypedSecrets | None = None
        self._failure: BaseException | None = None
        self._active = False

    def output(self, t_us: int, data: bytes) -> None:
        """Pass on output. The hot path."""
        self._active = True
        if self._tap is not None:
            self._tap.on_output(t_us, data)

    def event(self, event: JournalEvent) -> None:
        """Pass on any other event."""
        self._active = True
        if isinstance(event, Typed):
            self._remember(event)
            event = event if self._takes_secrets else event.hidden()
        if self._tap is not None:
            try:
                self._tap.on_event(event)
            except BaseException as exc:
                self._failure = exc
                raise

    def pause(self) -> None:
        """Tell the tap that there is no more output for now, once after each activity."""
        if self._active:
            self._active = False
            if self._tap is not None:
                self._tap.on_idle()

    def raise_failure(self) -> None:
        """Raise what the tap has raised, if it has."""
        if self._failure is not None:
            raise self._failure

    def _remember(self, event: Typed) -> None:
        """Keep secret input out of what this process writes about the session."""
        if event.masked and self._secrets is None:
            # Imported here, because it loads the scrubber, and few sessions need it.
            from ptycassette.typed._secrets import TypedSecrets  # noqa: PLC0415

            self._secrets = TypedSecrets()
        if self._secrets is not None:
            remember(self._secrets.feed(event))
