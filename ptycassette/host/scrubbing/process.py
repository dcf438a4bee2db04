"""A scrubber for what is no recording: logs and reports that this process writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ptycassette.host.scrubbing.setup import session_scrubber
from ptycassette.model import Harness, SessionMeta, Size
from ptycassette.scrub.session import SessionScrubber

__all__ = ["process_scrubber"]


def process_scrubber(*, known: Iterable[str] = ()) -> SessionScrubber:
    """A scrubber that knows this machine, this user, and the environment of this process.

    Args:
        known: values declared secret.

    Raises:
        UsageError: the configuration or a plug-in is wrong.
    """
    scrubber = session_scrubber(known=known)
    meta = SessionMeta(
        id="",
        argv=(),
        size=Size(24, 80),
        recorded_at="",
        harness=Harness(name=""),
        environment=dict(os.environ),
        home=os.environ.get("HOME", ""),
        cwd=str(Path.cwd()),
    )
    # A session without events: the scrubber learns what its head tells.
    for _ in scrubber.events(meta, lambda: iter(())):
        pass
    return scrubber
