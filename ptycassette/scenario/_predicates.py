"""The table of predicates: the type of a check in a file is one of these classes.

A new predicate is a class (see ``_predicate.py``) and its name in ``Predicate``: reading,
the JSON Schema, evaluation and the test of ``docs/scenarios.md`` use this table.

Semantics follow the reference implementation, with these differences: the frame at
time t is the latest at or before t (there: the nearest), a window includes the frame
that is shown at its start, and bytes may also be spread over several records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ptycassette.scenario._effort import PER_LOOK, Effort
from ptycassette.scenario._predicate import Failed, Look
from ptycassette.scenario._screen_predicates import (
    AltScreen,
    Clipboard,
    CursorAt,
    FrameContains,
    FrameEventuallyContains,
    FrameNeverContains,
    FrameStableFor,
    Link,
    SizeEventually,
    SizeIs,
    Title,
)
from ptycassette.scenario._stream_predicates import (
    ExitStatusIs,
    FinalMetadata,
    InputBytes,
    InputText,
    PasteBoundary,
    RawOutputOrder,
    ResizeOrder,
    ServiceJson,
    TimeoutCancelStatus,
    TimingGap,
)
from ptycassette.scenario._styling import StyleIs
from ptycassette.scenario.evidence import Evidence
from ptycassette.scenario.normalise import Normaliser

Predicate = (
    FrameContains
    | FrameNeverContains
    | FrameEventuallyContains
    | FrameStableFor
    | CursorAt
    | SizeIs
    | SizeEventually
    | StyleIs
    | AltScreen
    | Title
    | Clipboard
    | Link
    | RawOutputOrder
    | InputBytes
    | PasteBoundary
    | InputText
    | ResizeOrder
    | ServiceJson
    | FinalMetadata
    | ExitStatusIs
    | TimeoutCancelStatus
    | TimingGap
)

PREDICATES: tuple[type[Predicate], ...] = get_args(Predicate)


def type_name(predicate: Predicate | type[Predicate]) -> str:
    """Its ``type`` in files."""
    return str(predicate.__struct_config__.tag)


def evaluate(
    predicate: Predicate,
    evidence: Evidence,
    defined: Mapping[str, Normaliser],
    effort: Effort,
) -> Failed | None:
    """Evaluate one predicate, ``not`` included."""
    effort.spend(PER_LOOK)
    start_ms = 0 if predicate.at_ms is None else predicate.at_ms
    if predicate.exchange is not None:
        sent_ms = evidence.start_of(predicate.exchange)
        if sent_ms is None:
            total = len(evidence.entries)
            return Failed(f"there is no input {predicate.exchange}; there are {total}", 0)
        start_ms += sent_ms
    fixed = predicate.at_ms is not None or predicate.exchange is not None
    failed = predicate.judge(Look(evidence, defined, start_ms, effort, fixed=fixed))
    if not predicate.negate:
        return failed
    return Failed("it holds, and must not", start_ms) if failed is None else None
