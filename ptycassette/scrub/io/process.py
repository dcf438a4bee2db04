"""A scrubber for logs and reports that this process writes, which are not recordings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ptycassette.model import Harness, SessionMeta, Size, Typed
from ptycassette.scrub.io._typed import declared
from ptycassette.scrub.io.process_secrets import remembered
from ptycassette.scrub.io.setup import session_scrubber
from ptycassette.scrub.session import SessionScrubber

__all__ = ["process_scrubber", "scrubbed_input"]


def process_scrubber(*, known: Iterable[str] = (), argv: tuple[str, ...] = ()) -> SessionScrubber:
    """A scrubber that knows this machine, this user, this process's environment and input.

    Args:
        known: values declared secret.
        argv: arguments that may hold some.

    Raises:
        UsageError: the configuration or a plug-in is wrong.
    """
    scrubber = _scrubber(known)
    # A session without events: the scrubber learns what its head tells.
    for _ in scrubber.events(_meta(argv), lambda: iter(())):
        pass
    return scrubber


def scrubbed_input(data: bytes) -> bytes:
    """Typed input, scrubbed as in a recording by this process. The number of bytes stays the same.

    Raises:
        UsageError: the configuration or a plug-in is wrong.
    """
    events = _scrubber(()).events(_meta(), lambda: iter([Typed(0, data)]))
    return b"".join(event.data for event in events if isinstance(event, Typed))


def _scrubber(known: Iterable[str]) -> SessionScrubber:
    typed = declared(remembered())
    return session_scrubber(known=[*known, *typed.known], typed=typed.words)


def _meta(argv: tuple[str, ...] = ()) -> SessionMeta:
    """The head of a session of this process."""
    return SessionMeta(
        id="",
        argv=argv,
        size=Size(24, 80),
        recorded_at="",
        harness=Harness(name=""),
        environment=dict(os.environ),
        home=os.environ.get("HOME", ""),
        cwd=str(Path.cwd()),
    )
