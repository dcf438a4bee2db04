"""Traces of tests: what a test did, what was recorded, and where they differ."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .directories import PLACE as PLACE
    from .directories import find_traces as find_traces
    from .directories import prune_runs as prune_runs
    from .directories import traces_at as traces_at
    from .files import write_trace as write_trace
    from .index import write_index as write_index
    from .trace import drift_object as drift_object
    from .trace import steps_object as steps_object
    from .trace import trace_object as trace_object
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "directories": "PLACE find_traces prune_runs traces_at",
            "files": "write_trace",
            "index": "write_index",
            "trace": "drift_object steps_object trace_object",
        },
    )
