"""Texts of the current run, scrubbed as a recording would be, to compare and show them.

Error messages, logs and traces end up in test reports and CI logs, which other people read. The
scrubber is loaded on first use: most runs compare equal texts and never need it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import EngineMissingError
from ptycassette.model.records import Harness, SessionMeta, Typed
from ptycassette.model.screen import Size
from ptycassette.scrub.io.process_secrets import remembered
from ptycassette.system.files.state_dirs import current_dir

if TYPE_CHECKING:
    from ptycassette.scrub.session import SessionScrubber


def process_scrubber(*, known: Iterable[str] = (), argv: tuple[str, ...] = ()) -> SessionScrubber:
    """A scrubber that knows this machine, this user, this process's environment and input.

    Args:
        known: values declared secret.
        argv: arguments that may hold some.

    Raises:
        UsageError: the configuration or a plug-in is wrong.
    """
    from ptycassette.scrub.io.setup import session_scrubber  # noqa: PLC0415
    from ptycassette.scrub.search.known import KnownValue  # noqa: PLC0415

    typed = remembered()
    short = [KnownValue(one.text, "declared", word=True) for one in typed if one.whole]
    # Longer ones are passed as text: the scrubber recognises a public prefix in them.
    long = [one.text for one in typed if not one.whole]
    return _knowing(session_scrubber(known=[*known, *long], typed=short), _meta(argv))


@cache
def concealed(text: str) -> str:
    """Typed input, masked as a recording would be. The number of bytes stays the same.

    Where RE2 is not installed, which secrets are recognised by, all of it is masked, by question
    marks, which no recording has: it equals nothing.

    Raises:
        UsageError: the configuration of scrubbing, or a plug-in, is wrong.
    """
    sent = [Typed(0, text.encode("utf-8", "surrogateescape"))]
    try:
        events = list(process_scrubber().events(_meta(), lambda: iter(sent)))
    except EngineMissingError:
        return re.sub(r"[^\x00-\x20\x7f]", lambda char: "?" * len(char[0].encode()), text)
    masked = b"".join(event.data for event in events if isinstance(event, Typed))
    return masked.decode("utf-8", "surrogateescape")


@cache
def concealed_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments, with the placeholders that a manifest would hold.

    Raises:
        UsageError: as above.
    """
    scrubber = process_scrubber(argv=words)
    return tuple(scrubber.text(word, channel="argv") for word in words)


def concealed_head(meta: SessionMeta) -> tuple[str, ...]:
    """The arguments of a recording, scrubbed with all that is known of its environment.

    Raises:
        UsageError: as above.
    """
    from ptycassette.scrub.io.setup import session_scrubber  # noqa: PLC0415

    scrubber = _knowing(session_scrubber(), meta)
    return tuple(scrubber.text(word, channel="argv") for word in meta.argv)


def concealed_screen(message: str, rows: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The message of an error and the screen that it shows, with secrets removed.

    If the configuration of scrubbing is wrong, the screen is left out. The error is about
    something else, and must be shown all the same.
    """
    try:
        scrubber = process_scrubber()
    except UsageError as exc:
        return message, (f"(not shown, as it cannot be scrubbed: {exc.message})",)
    return scrubber.text(message, channel="diagnostic"), scrubber.rows(rows)


def _knowing(scrubber: SessionScrubber, meta: SessionMeta) -> SessionScrubber:
    """The scrubber after a session without events: it learns from the head alone."""
    for _ in scrubber.events(meta, lambda: iter(())):
        pass
    return scrubber


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
        cwd=str(current_dir()),
    )
