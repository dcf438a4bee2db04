"""A process acts only on what it started, wrote or locked itself; a fork of it must not.

A fork copies every object. Python closes the generators of threads that a fork does not have,
an exception in the fork leaves the blocks of its parent, and ``atexit`` runs there as well. So
code that ends programs or removes files first checks that it runs in the process that made them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from types import TracebackType
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_ENTERED: set[object] = set()
"""Keeps the generators of entered blocks, so that a fork does not close them."""


class Owner:
    """The process in which this object was made."""

    def __init__(self) -> None:
        self.pid = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is that process, and not a fork of it."""
        return os.getpid() == self.pid


class _Owned(AbstractContextManager[_T]):
    def __init__(self, inner: AbstractContextManager[_T]) -> None:
        self._inner = inner
        self._owner = Owner()

    def __enter__(self) -> _T:
        entered = self._inner.__enter__()
        _ENTERED.add(self)
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self._owner.here:
            return None
        _ENTERED.discard(self)
        return self._inner.__exit__(kind, exc, trace)


class _OwnedAsync(AbstractAsyncContextManager[_T]):
    def __init__(self, inner: AbstractAsyncContextManager[_T]) -> None:
        self._inner = inner
        self._owner = Owner()

    async def __aenter__(self) -> _T:
        entered = await self._inner.__aenter__()
        _ENTERED.add(self)
        return entered

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self._owner.here:
            return None
        _ENTERED.discard(self)
        return await self._inner.__aexit__(kind, exc, trace)


def owned_context(
    function: Callable[_P, Iterator[_T]],
) -> Callable[_P, AbstractContextManager[_T]]:
    """As ``contextlib.contextmanager``; in a fork the end of the block does nothing."""
    make = contextmanager(function)

    @functools.wraps(function)
    def owned(*args: _P.args, **kwargs: _P.kwargs) -> AbstractContextManager[_T]:
        return _Owned(make(*args, **kwargs))

    return owned


def owned_async_context(
    function: Callable[_P, AsyncIterator[_T]],
) -> Callable[_P, AbstractAsyncContextManager[_T]]:
    """As ``contextlib.asynccontextmanager``; in a fork the end of the block does nothing."""
    make = asynccontextmanager(function)

    @functools.wraps(function)
    def owned(*args: _P.args, **kwargs: _P.kwargs) -> AbstractAsyncContextManager[_T]:
        return _OwnedAsync(make(*args, **kwargs))

    return owned
