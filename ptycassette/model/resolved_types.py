"""Types that msgspec may use in any thread.

msgspec reads the annotations of a struct when it first decodes one, and puts the description that
it makes of them on the class before the fields are in it (``StructInfo_Convert`` of 0.22: a struct
may hold itself). Reading annotations runs Python, so another thread gets its turn in between, finds
the description, and follows a field that is still NULL: the process dies with a segmentation fault.
A type is therefore described under a lock before it is used.
"""

from __future__ import annotations

from _thread import RLock  # a lock without threads: `threading` is not for pure modules
from typing import TypeVar

import msgspec

T = TypeVar("T")

_LOCK = RLock()
_RESOLVED: set[object] = set()


def resolved(kind: T) -> T:
    """The same type, described: give it to ``msgspec.convert``, ``decode`` or a ``Decoder``."""
    if kind not in _RESOLVED:
        with _LOCK:
            msgspec.msgpack.Decoder(kind)
            _RESOLVED.add(kind)
    return kind
