"""Find the tape of the code that runs now, and patch clients while any tape is in use.

The tape is in a ``ContextVar``, so that threads and tasks of other tests have their own. While any
block is entered, some methods of HTTP clients, of sockets and of threads are patched for the whole
process. Each patch first checks whether its caller is in a block, and does nothing else if not. A
thread that a block starts, and work that the block submits to a pool of threads, belong to the
block.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ptycassette.errors import UsageError
from ptycassette.system.network import network_disabled
from ptycassette.system.network_block import blocked_network
from ptycassette.tape.routing import MADE_UP_KEY, known_providers

if TYPE_CHECKING:
    from ptycassette.agents.inprocess.using_tape import OpenTape

_ACTIVE: ContextVar[tuple[OpenTape | None, ...]] = ContextVar("ptycassette-tape", default=())
"""The tapes of the entered blocks, the innermost last; None hides the ones before it."""
_BELOW: ContextVar[bool] = ContextVar("ptycassette-below", default=False)
_CLIENTS = {
    "httpx": "_httpx",
    "httpx2": "_httpx",
    "urllib3": "_urllib3",
    "requests": "_urllib3",
    "botocore.retryhandler": "_urllib3",
    "botocore.retries.standard": "_urllib3",
    "aiohttp": "_aiohttp",
    "aioresponses.core": "_aiohttp",
    "websockets.client": "_aiohttp",
}
"""The packages whose clients are patched (at once if loaded, else after their import), and the
modules with the patches. requests and botocore send through urllib3; requests is patched to notice
what does not, and botocore to ask again at once. The last two are patched for a note."""

Patch = tuple[type, str, Callable[[Callable[..., Any]], Callable[..., Any]]]

_ADVICE = (
    "it is not on the tape of use_tape: record it with httpx, requests or aiohttp, or through"
    " tape.environment, or use mode live"
)


class Work:
    """A function that a pool of threads runs for a block."""

    def __init__(self) -> None:
        self.is_awaited = False

    def done(self) -> bool:
        """Whether the code has waited for its result."""
        return self.is_awaited


_WORKING = threading.local()
"""``work`` is the ``Work`` that a thread of a pool does now."""


@contextmanager
def _working(work: Work) -> Iterator[None]:
    """While entered, this thread does ``work``."""
    before = getattr(_WORKING, "work", None)
    _WORKING.work = work
    try:
        yield
    finally:
        _WORKING.work = before


def current_owner() -> Any:
    """The task of asyncio or trio, the pool work, or the thread that runs now."""
    if "asyncio" in sys.modules:
        with suppress(RuntimeError):  # no loop runs here
            task = sys.modules["asyncio"].current_task()
            if task is not None:
                return task
    if "trio" in sys.modules:
        with suppress(RuntimeError, AttributeError):  # nor here; or trio is still being imported
            return sys.modules["trio"].lowlevel.current_task()
    return getattr(_WORKING, "work", None) or threading.current_thread()


def active_tape() -> OpenTape | None:
    """The tape of the innermost block in which the caller runs; None outside of any block."""
    entered = _ACTIVE.get()
    return entered[-1] if entered else None


def client_tape() -> OpenTape | None:
    """The tape that records or answers the client that is sending now."""
    tape = active_tape()
    return None if tape is None or tape.passes or _BELOW.get() else tape


def unknown_client(module: ModuleType, known: str) -> UsageError:
    """The error for an unsupported client version; ``known`` is the first supported one."""
    version = getattr(module, "__version__", "an unknown version")
    return UsageError(
        f"use_tape records {known} and newer, and this is {module.__name__} {version}",
        hint=f"update {module.__name__}, or send through the proxy of tape.environment",
    )


@contextmanager
def below() -> Iterator[None]:
    """While entered, a client sends for another client that is already recorded."""
    before = _BELOW.set(True)
    try:
        yield
    finally:
        _BELOW.reset(before)


@contextmanager
def activated(tape: OpenTape | None) -> Iterator[None]:
    """While entered, the calls of this context belong to ``tape``.

    A thread that outlives its block stays patched, so that its later calls are refused.
    """
    _PATCHES.enter()
    _ACTIVE.set((*_ACTIVE.get(), tape))
    try:
        yield
    finally:
        # Not reset(): a fixture may leave in another context, and blocks in another order.
        entered = list(_ACTIVE.get())
        for at in reversed(range(len(entered))):
            if entered[at] is tape:
                del entered[at]
                break
        _ACTIVE.set(tuple(entered))
        _PATCHES.leave()


@contextmanager
def resumed(tape: OpenTape) -> Iterator[None]:
    """While entered, ``tape`` is the innermost, also if another block was entered meanwhile."""
    if active_tape() is tape:
        yield
        return
    with activated(tape):
        yield


def _is_offline() -> bool:
    tape = active_tape()
    return tape is not None and (tape.is_offline or network_disabled())


class _Patches:
    """The patches of this process; applied while any block is entered."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a patch may import
        self._count = 0
        self._stack = ExitStack()
        self._patched: set[str] = set()

    def enter(self) -> None:
        """Apply the patches, if this is the first block."""
        with self._lock:
            self._count += 1
            if self._count > 1:
                return
            self._stack = ExitStack()
            self._patched = set()
            try:
                self._apply()
            except BaseException:
                self._count = 0
                self._stack.close()
                raise

    def _apply(self) -> None:
        self._stack.enter_context(blocked_network(_is_offline, advice=_ADVICE))
        self._replace(threading.Thread, "start", _started)
        self._replace(ThreadPoolExecutor, "submit", _submitted)
        if "asyncio" in sys.modules:
            self._replace(sys.modules["asyncio"].BaseEventLoop, "create_task", _made_task)
        sys.meta_path.insert(0, _FINDER)
        self._stack.callback(sys.meta_path.remove, _FINDER)
        for name in _CLIENTS:
            if name in sys.modules:
                self._patch(sys.modules[name])

    def leave(self) -> None:
        """Remove the patches, if this was the last block."""
        with self._lock:
            self._count -= 1
            if not self._count:
                self._stack.close()

    def loaded(self, module: ModuleType) -> None:
        """Patch a client that was imported while a block is entered."""
        with self._lock:
            if self._count:
                self._patch(module)

    def _patch(self, module: ModuleType) -> None:
        if module.__name__ in self._patched:
            return
        client = import_module(f"ptycassette.agents.inprocess.{_CLIENTS[module.__name__]}")
        for owner, name, make in client.patches_of(module):
            self._patched.add(module.__name__)
            self._replace(owner, name, make)

    def _replace(
        self, owner: type, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        original = getattr(owner, name)
        own = name in vars(owner)
        setattr(owner, name, make(original))
        if own:
            self._stack.callback(setattr, owner, name, original)
        else:
            self._stack.callback(delattr, owner, name)


_PATCHES = _Patches()


class _Finder:
    """Notices the import of a client, and patches the client after the import."""

    def __init__(self) -> None:
        self._searching = threading.local()

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        del path, target
        if name not in _CLIENTS or getattr(self._searching, "now", False):
            return None
        self._searching.now = True
        try:
            spec = find_spec(name)
        finally:
            self._searching.now = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                _PATCHES.loaded(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_FINDER = _Finder()


# Keys in replay: SDKs make no client without one.

_KEY_HEADERS = {*known_providers().keys, "api-key"}
MOST_KEYS = 100
"""How many variables a cassette may name."""
_KEY_NAME = re.compile(r"(?!PTYCASSETTE_)[A-Z][A-Z0-9_]{0,80}_(?:API_?KEY|KEY|TOKEN)")
"""The names of other variables that a cassette may name."""


def is_key_name(name: str) -> bool:
    """Whether a variable may hold a key of a provider; a cassette can name no other variable."""
    return name in known_providers().key_variables or _KEY_NAME.fullmatch(name) is not None


def own_environment() -> dict[str, str]:
    """The environment of this process without what replays in other blocks have made up."""
    made = MADE_UP_KEYS.made
    return {
        name: value
        for name, value in os.environ.items()
        if value not in {MADE_UP_KEY, made.get(name)}
    }


def names_of_keys(headers: Iterable[tuple[str, str]]) -> list[str]:
    """The variables with keys of this process: the usual ones, and those that were sent.

    Args:
        headers: of the requests, with names in lower case.
    """
    sent = {value.rpartition(" ")[2] for name, value in headers if name in _KEY_HEADERS}
    usual = known_providers().key_variables
    return sorted(
        name
        for name, value in own_environment().items()
        if value and is_key_name(name) and (name in usual or value in sent)
    )[:MOST_KEYS]


def has_made_up_key(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request would send a made-up key to a provider."""
    return any(name in _KEY_HEADERS and MADE_UP_KEY in value for name, value in headers)


class _MadeUpKeys:
    """The variables that replays have set in the environment of this process.

    Blocks of several threads may need the same one; the last one removes it. ``made`` has their
    values; also those of former keys, which pytest's monkeypatch may put back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: Counter[str] = Counter()
        self.made: dict[str, str] = {}

    @contextmanager
    def set(self, values: Mapping[str, str]) -> Iterator[None]:
        """While entered, these variables have a value, if they had none."""
        with self._lock:
            self._forget()
            mine = {name for name in values if self._users[name] or not os.environ.get(name)}
            for name in mine:
                self._users[name] += 1
                self.made.setdefault(name, values[name])
                if not os.environ.get(name):
                    os.environ[name] = self.made[name]
        try:
            yield
        finally:
            with self._lock:
                self._users.subtract(mine)
                self._forget()

    def forget(self) -> None:
        """Remove made-up keys that no block needs; pytest's monkeypatch may have restored one."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        for name in [name for name in self.made if not self._users[name]]:
            if os.environ.get(name) == self.made[name]:
                del os.environ[name]
            if self.made[name] != MADE_UP_KEY:
                del self.made[name]  # a user may set a region to the same value


MADE_UP_KEYS = _MadeUpKeys()


def _started(start: Callable[..., None]) -> Callable[..., None]:
    """Let a thread belong to the block that starts it."""

    def started(self: threading.Thread) -> None:
        tape = active_tape()
        if tape is not None:
            run, entered = self.run, tape.forked(self)

            def in_block() -> None:
                with activated(tape):
                    entered()
                    run()

            self.run = in_block  # type: ignore[method-assign]
        start(self)

    return started


def _made_task(create_task: Callable[..., Any]) -> Callable[..., Any]:
    """Give a task the context of the block; a recording notes when the task began."""

    def made_task(self: Any, *args: Any, **more: Any) -> Any:
        task, tape = create_task(self, *args, **more), active_tape()
        if tape is not None:
            tape.forked(task)
        return task

    return made_task


def _submitted(submit: Callable[..., Any]) -> Callable[..., Any]:
    """Let pool work belong to the block that submits it, whatever block started the thread."""

    def submitted(
        self: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        tape, work = active_tape(), Work()
        entered = None if tape is None else tape.forked(work)

        def in_block(*given: Any, **named: Any) -> Any:
            with activated(tape), _working(work):
                if entered is not None:
                    entered()
                return function(*given, **named)

        future = submit(self, in_block, *args, **kwargs)
        result = future.result

        def waited_for(timeout: float | None = None) -> Any:
            given = result(timeout)
            work.is_awaited = True
            return given

        future.result = waited_for
        return future

    return submitted
