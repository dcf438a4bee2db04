"""A path that may not be read, not even by root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Take away all permissions of ``path`` for a while; root, who needs none, is nobody then.

    What the block imports for the first time may be unreadable too: import it before.
    """
    user, mode = os.geteuid(), path.stat().st_mode
    path.chmod(0)
    if user == 0:  # also the real user, of which access(2) asks
        os.setresuid(NOBODY, NOBODY, 0) if hasattr(os, "setresuid") else os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.setresuid(user, user, user) if hasattr(os, "setresuid") else os.seteuid(user)
        path.chmod(mode)
