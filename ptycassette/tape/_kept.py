"""What of a head is kept: which headers, and which parts of a target.

A header is kept when it is on the list (``headers.toml``), because nobody can say of unknown
ones that they hold no credential. What is not kept is shown to the scrubber, which removes secrets
of it elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ptycassette._tables import package_table

_SECRET = re.compile(
    r"(?i)(?<=[?&])((?:api[_-]?)?key|access[_-]?token|(?:auth|id|refresh)[_-]?token|token|sig"
    r"|signature|code|x-amz-(?:signature|credential|security-token))=([^&#]+)"
)

_MASK = "x" * 8


@cache
def _listed() -> tuple[frozenset[str], tuple[str, ...]]:
    """The names on the list, and the beginnings of names."""
    table: dict[str, dict[str, list[str]]] = package_table(__package__, "headers.toml")
    names = [name for senders in table.values() for some in senders.values() for name in some]
    beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
    return frozenset(name for name in names if not name.endswith("*")), beginnings


Headers = tuple[tuple[str, str], ...]


def kept_headers(headers: Iterable[tuple[str, str]]) -> tuple[Headers, tuple[str, ...]]:
    """The headers that are kept, and the lines of the others."""
    kept, dropped = [], []
    names, beginnings = _listed()
    for name, value in headers:
        if name in names or name.startswith(beginnings):
            kept.append((name, value))
        else:
            dropped.append(f"{name}: {value}")
    return tuple(kept), tuple(dropped)


def kept_target(target: str) -> tuple[str, tuple[str, ...]]:
    """A target with credentials in its query masked, and these.

    What is called a key is one, whatever it looks like. The mask is the same for all, so that a
    replay's target is kept as the recorded one was.
    """
    secrets = tuple(f"{match[1]}={match[2]}" for match in _SECRET.finditer(target))
    return _SECRET.sub(lambda match: f"{match[1]}={_MASK}", target), secrets
