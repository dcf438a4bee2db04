"""Texts of today as a recording of them would hold them, for comparison with recorded ones.

The scrubber is loaded when it is first asked: most runs compare equal texts, and never ask.
"""

from __future__ import annotations

from functools import cache

__all__ = ["concealed", "concealed_words"]


@cache
def concealed(text: str) -> str:
    """What was typed, with masks where a recording has them: as many bytes.

    Raises:
        UsageError: the configuration of scrubbing, or a plug-in, is wrong.
    """
    from ptycassette.host.scrubbing.process import scrubbed_input  # noqa: PLC0415

    data = text.encode("utf-8", "surrogateescape")
    return scrubbed_input(data).decode("utf-8", "surrogateescape")


@cache
def concealed_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments, with placeholders where a manifest has them.

    Raises:
        UsageError: as above.
    """
    from ptycassette.host.scrubbing.process import process_scrubber  # noqa: PLC0415

    scrubber = process_scrubber(argv=words)
    return tuple(scrubber.text(word, channel="argv") for word in words)
