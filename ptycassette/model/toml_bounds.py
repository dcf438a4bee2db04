"""Bounds that TOML parsers lack: how long a file may be, and how deep one dotted key may go.

Python's parser keeps every prefix of a key, so 40 KB of ``a.a.a...`` take 1.5 GB.
"""

from __future__ import annotations

import re

__all__ = ["MAX_PARTS", "MAX_TOML_BYTES", "check_dotted_keys"]

MAX_TOML_BYTES = 512 << 10
"""What takes Python's parser longest, a list of numbers, takes it 0.6 s at this length."""
MAX_PARTS = 32
_PART = r"""(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:{_PART}){{{MAX_PARTS - 1}}}")


def check_dotted_keys(text: str) -> None:
    """Refuse a key of more than 32 parts, before the text is parsed; in texts, too.

    Raises:
        ValueError: so many words with dots between them follow each other.
    """
    if text.count(".") < MAX_PARTS:
        return
    found = _DOTTED.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key of more than {MAX_PARTS} parts (at line {line})")
