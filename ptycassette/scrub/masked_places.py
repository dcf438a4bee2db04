"""Which stretches of a text were masked, from the text before and after."""

from __future__ import annotations

_PAGE = 4096
_SAME_SECRET = 4
"""A mask may leave a byte as it was, so stretches with so few bytes between them are one."""


def masked_places(raw: bytes, masked: bytes) -> tuple[tuple[int, int], ...]:
    """The stretches (offset, length) in which ``masked`` differs from ``raw``, as long as it."""
    found: list[tuple[int, int]] = []
    for at in range(0, len(raw), _PAGE):
        if raw[at : at + _PAGE] == masked[at : at + _PAGE]:
            continue
        for place in range(at, min(at + _PAGE, len(raw))):
            if raw[place] == masked[place]:
                continue
            if found and place - sum(found[-1]) <= _SAME_SECRET:
                start = found.pop()[0]
                found.append((start, place + 1 - start))
            else:
                found.append((place, 1))
    return tuple(found)
