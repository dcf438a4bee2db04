"""Texts of today as a recording of them would hold them: to compare them, and to show them.

Errors end up in reports of tests and in logs of CI, and those in other hands.
The scrubber is loaded when it is first asked: most runs compare equal texts, and never ask.
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
    """What was typed, with masks where a recording has them: as many bytes.

    Raises:
        UsageError: the configuration of scrubbing, or a plug-in, is wrong.
    """
    from ptycassette.scrub.io.process import scrubbed_input  # noqa: PLC0415

    data = text.encode("utf-8", "surrogateescape")
    return scrubbed_input(data).decode("utf-8", "surrogateescape")


@cache
def concealed_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments, with placeholders where a manifest has them.

    Raises:
        UsageError: as above.
    """
    from ptycassette.scrub.io.process import process_scrubber  # noqa: PLC0415

    scrubber = process_scrubber(argv=words)
    return tuple(scrubber.text(word, channel="argv") for word in words)


def concealed_head(meta: SessionMeta) -> tuple[str, ...]:
    """The arguments of a recording, with all that its scrubber would know of its environment.

    Raises:
        UsageError: as above.
    """
    from ptycassette.scrub.io.setup import session_scrubber  # noqa: PLC0415

    scrubber = session_scrubber()
    for _ in scrubber.events(meta, lambda: iter(())):  # it learns what the head tells
        pass
    return tuple(scrubber.text(word, channel="argv") for word in meta.argv)


def concealed_screen(message: str, rows: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """What an error says, and the screen that it shows, without what is secret.

    Where the configuration of scrubbing is wrong the screen is left out: the error is about
    something else, and must be told all the same.
    """
    from ptycassette.scrub.io.process import process_scrubber  # noqa: PLC0415

    try:
        scrubber = process_scrubber()
    except UsageError as exc:
        return message, (f"(not shown, as it cannot be scrubbed: {exc.message})",)
    return scrubber.text(message, channel="diagnostic"), scrubber.rows(rows)
