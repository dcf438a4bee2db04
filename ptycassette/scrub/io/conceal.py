"""Texts of the current run, scrubbed as a recording would be, to compare and show them.

Error messages end up in test reports and CI logs, which other people read.
The scrubber is loaded on first use: most runs compare equal texts and never need it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ptycassette.errors import UsageError

if TYPE_CHECKING:
    from ptycassette.model import SessionMeta

__all__ = ["concealed", "concealed_head", "concealed_screen", "concealed_words"]


@cache
def concealed(text: str) -> str:
    """Typed input, masked as a recording would be. The number of bytes stays the same.

    Raises:
        UsageError: the configuration of scrubbing, or a plug-in, is wrong.
    """
    from ptycassette.scrub.io.process import scrubbed_input  # noqa: PLC0415

    data = text.encode("utf-8", "surrogateescape")
    return scrubbed_input(data).decode("utf-8", "surrogateescape")


@cache
def concealed_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments, with the placeholders that a manifest would hold.

    Raises:
        UsageError: as above.
    """
    from ptycassette.scrub.io.process import process_scrubber  # noqa: PLC0415

    scrubber = process_scrubber(argv=words)
    return tuple(scrubber.text(word, channel="argv") for word in words)


def concealed_head(meta: SessionMeta) -> tuple[str, ...]:
    """The arguments of a recording, scrubbed with all that is known of its environment.

    Raises:
        UsageError: as above.
    """
    from ptycassette.scrub.io.setup import session_scrubber  # noqa: PLC0415

    scrubber = session_scrubber()
    for _ in scrubber.events(meta, lambda: iter(())):  # it learns what the head tells
        pass
    return tuple(scrubber.text(word, channel="argv") for word in meta.argv)


def concealed_screen(message: str, rows: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The message of an error and the screen that it shows, with secrets removed.

    If the configuration of scrubbing is wrong, the screen is left out. The error is about
    something else, and must be shown all the same.
    """
    from ptycassette.scrub.io.process import process_scrubber  # noqa: PLC0415

    try:
        scrubber = process_scrubber()
    except UsageError as exc:
        return message, (f"(not shown, as it cannot be scrubbed: {exc.message})",)
    return scrubber.text(message, channel="diagnostic"), scrubber.rows(rows)
