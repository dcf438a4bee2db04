"""Tells a test runner of every cassette that a test uses, and of its session.

One watcher at a time; an inner test runner replaces it until it is done.
Watching loads nothing, as most tests use no cassette.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptycassette.replaying.io._use_session import UseResult
    from ptycassette.session import SessionBase

    Watcher = Callable[[UseResult, SessionBase], None]

_watcher: Watcher | None = None


@contextmanager
def watch_uses(watcher: Watcher) -> Iterator[None]:
    """While entered, ``watcher`` is called for every use in this process, in any thread.

    Args:
        watcher: gets the result, which is complete when the block is left, and the session.
    """
    global _watcher  # noqa: PLW0603 - threads of a test do not inherit its context variables
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


def announce_use(result: UseResult, session: SessionBase) -> None:
    """Tell the watcher, if there is one."""
    if _watcher is not None:
        _watcher(result, session)
