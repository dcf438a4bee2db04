"""The colour of each kind of event: the same in lists and on the timeline."""

from __future__ import annotations

from typing import Literal

from .session.index import Kind

MarkKind = Kind | Literal["terminal-signal"]

KIND_STYLES: dict[MarkKind, str] = {
    "output": "green",
    "input": "bold #b87000",
    "resize": "magenta",
    "signal": "bold red",
    "answer": "cyan",
    "frame": "dim",
    "service-event": "blue",
    "final": "bold",
    "terminal-signal": "bold cyan",
}
