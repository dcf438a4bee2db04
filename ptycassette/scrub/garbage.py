"""The garbage collector while a session is searched.

A scrubber remembers much and makes next to no cycles: with the interpreter's own threshold
the collector walks over all of that again and again, for a tenth of the time, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collecting_seldom"]

_NEW_OBJECTS = 20_000


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Have the collector look only at many new objects at once. One that is off stays so."""
    before = gc.get_threshold()
    if 0 < before[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
