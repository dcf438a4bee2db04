"""A bound that TOML parsers lack: how deep one dotted key may go.

Python's parser keeps every prefix of a key, so 40 KB of ``a.a.a...`` take 1.5 GB.
"""

from __future__ import annotations

__all__ = ["check_dotted_keys"]

_MAX_DOTS = 100


def check_dotted_keys(text: str) -> None:
    """Refuse a key of more than a hundred parts, before the text is parsed.

    Raises:
        ValueError: what stands before ``=`` on a line has too many dots.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MAX_DOTS and line.partition("=")[0].count(".") > _MAX_DOTS:
            raise ValueError(f"a key of more than {_MAX_DOTS} parts (at line {number})")
