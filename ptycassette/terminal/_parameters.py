"""The parameters of a control sequence, bounded.

Sources: ECMA-48 5.4.2; the bounds (32 parameters, 32 sub-parameters in all,
values up to 2**31-1) are those of xterm.js.
"""

from __future__ import annotations

from typing import Final

MAX_SEQUENCE: Final = 1024
"""Characters of a control sequence between its introducer and its final one; longer: ignored."""


MAX_PARAMETERS: Final = 32
MAX_VALUE: Final = 0x7FFFFFFF
_MAX_DIGITS: Final = 10


Parameter = tuple[int, tuple[int, ...]]
"""One parameter: its value (0 when empty) and what follows it after colons (-1 when empty)."""


def _number(text: str, empty: int) -> int:
    if not text:
        return empty
    if len(text) < _MAX_DIGITS:
        return int(text)
    digits = text.lstrip("0")
    return min(int(digits or "0"), MAX_VALUE) if len(digits) <= _MAX_DIGITS else MAX_VALUE


def parse_parameters(text: str) -> list[Parameter]:
    """The parameters in ``text``, digits with ``;`` and ``:`` between them. At least one."""
    items = text.split(";", MAX_PARAMETERS)[:MAX_PARAMETERS]
    if ":" not in text:
        return [(_number(item, 0), ()) for item in items]
    found: list[Parameter] = []
    left = MAX_PARAMETERS
    for item in items:
        value, *sub = item.split(":", left + 1)[: left + 1]
        left -= len(sub)
        found.append((_number(value, 0), tuple(_number(part, -1) for part in sub)))
    return found


def values(text: str) -> tuple[int, ...]:
    """The values alone; sub-parameters are dropped."""
    return tuple(value for value, _ in parse_parameters(text))
