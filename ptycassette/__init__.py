"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use: importing this package loads none of pyte,
ptyprocess, textual, pytest or aiohttp.
"""

from __future__ import annotations

import sys
from types import ModuleType

# The stand-in's first byte counts in milliseconds, and loading typing takes eight: type
# checkers know this name as well.
TYPE_CHECKING = False
__version__ = "0.1.0"

if TYPE_CHECKING:
    import typing

    from ptycassette.errors import CassetteError
    from ptycassette.host.async_session import AsyncSession
    from ptycassette.host.cassette_reader import Cassette, open_cassette
    from ptycassette.host.cassette_writer import CassetteWriter
    from ptycassette.host.pty_process import spawn
    from ptycassette.host.recorder import AsyncRecording, Recording, arecord, record
    from ptycassette.host.replayer import areplay, replay
    from ptycassette.host.session import Session
    from ptycassette.host.use import Use, UseResult, use
    from ptycassette.model import Event
    from ptycassette.replay.drift import Drift, drift, semantic_drift
    from ptycassette.timeline import Exchange, exchanges
    from ptycassette.timeline.match import Matching
    from ptycassette.timeline.match_text import semantic_match

# Where each public name lives. One line per name; the test of the public API holds it.
_HOMES = {
    "AsyncRecording": "ptycassette.host.recorder",
    "AsyncSession": "ptycassette.host.async_session",
    "Cassette": "ptycassette.host.cassette_reader",
    "CassetteError": "ptycassette.errors",
    "CassetteWriter": "ptycassette.host.cassette_writer",
    "Drift": "ptycassette.replay.drift",
    "Event": "ptycassette.model",
    "Exchange": "ptycassette.timeline",
    "Matching": "ptycassette.timeline.match",
    "Recording": "ptycassette.host.recorder",
    "Session": "ptycassette.host.session",
    "Use": "ptycassette.host.use",
    "UseResult": "ptycassette.host.use",
    "arecord": "ptycassette.host.recorder",
    "areplay": "ptycassette.host.replayer",
    "drift": "ptycassette.replay.drift",
    "exchanges": "ptycassette.timeline",
    "open_cassette": "ptycassette.host.cassette_reader",
    "record": "ptycassette.host.recorder",
    "replay": "ptycassette.host.replayer",
    "semantic_drift": "ptycassette.replay.drift",
    "semantic_match": "ptycassette.timeline.match_text",
    "spawn": "ptycassette.host.pty_process",
    "use": "ptycassette.host.use",
}

__all__ = [
    "AsyncRecording",
    "AsyncSession",
    "Cassette",
    "CassetteError",
    "CassetteWriter",
    "Drift",
    "Event",
    "Exchange",
    "Matching",
    "Recording",
    "Session",
    "Use",
    "UseResult",
    "__version__",
    "arecord",
    "areplay",
    "drift",
    "exchanges",
    "open_cassette",
    "record",
    "replay",
    "semantic_drift",
    "semantic_match",
    "spawn",
    "use",
]


class _CallableModule(ModuleType):
    """A subpackage that has the name of a public function; calling it calls the function.

    ``ptycassette.replay`` is both. Importing anything below a subpackage binds the
    subpackage to its name here, and whoever calls the function must not notice.
    """

    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        return _public(self.__name__.rpartition(".")[2])(*args, **kwargs)


class _Package(ModuleType):
    """This package: makes such subpackages callable when the import system binds them."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _HOMES:
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _public(name: str) -> typing.Any:
    """What a public name stands for, from where it lives."""
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __getattr__(name: str) -> typing.Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = _public(name)
    return globals().setdefault(name, value)  # loading may have bound a callable subpackage


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
