"""Secrets that were typed in this process, for the logs and traces that it writes.

A trace of a failed test shows screens of sessions that never became a cassette, so no other part
can scrub them. The values stay in memory, and only scrubbers get them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptycassette.scrub.typed.secrets import TypedSecret

_MOST = 1000
_LOCK = threading.Lock()
_SECRETS: dict[str, TypedSecret] = {}


def remember(secrets: Iterable[TypedSecret]) -> None:
    """Keep these values. When there are too many, the oldest are dropped."""
    with _LOCK:
        for secret in secrets:
            _SECRETS.pop(secret.text, None)
            _SECRETS[secret.text] = secret
        while len(_SECRETS) > _MOST:
            del _SECRETS[next(iter(_SECRETS))]


def remembered() -> tuple[TypedSecret, ...]:
    """The values kept, the oldest first."""
    with _LOCK:
        return tuple(_SECRETS.values())
