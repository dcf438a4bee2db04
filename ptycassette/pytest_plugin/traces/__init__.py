"""Traces of tests: what a test did, what was recorded, and where they differ."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.pytest_plugin.traces.directories import (
        PLACE,
        find_traces,
        prune_runs,
        run_name,
        traces_at,
    )
    from ptycassette.pytest_plugin.traces.files import write_trace
    from ptycassette.pytest_plugin.traces.trace import drift_object, steps_object, trace_object
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "directories": ("PLACE", "find_traces", "prune_runs", "run_name", "traces_at"),
            "files": ("write_trace",),
            "trace": ("drift_object", "steps_object", "trace_object"),
        },
    )

__all__ = [
    "PLACE",
    "drift_object",
    "find_traces",
    "prune_runs",
    "run_name",
    "steps_object",
    "trace_object",
    "traces_at",
    "write_trace",
]
