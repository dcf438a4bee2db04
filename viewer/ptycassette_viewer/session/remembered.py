"""The state of a session as bytes, and back, so that a recording is indexed only once.

MessagePack through msgspec, no pickle. A stored state is checked as a whole before anything
is changed, so that a session either has everything or starts empty.
"""

from __future__ import annotations

import msgspec

from ptycassette_viewer.session.checkpoints import Checkpoints, CheckpointsState
from ptycassette_viewer.session.exchange_cuts import CutsState, ExchangeCuts
from ptycassette_viewer.session.index import EventIndex, IndexState
from ptycassette_viewer.session.signals import Signals, SignalsState
from ptycassette_viewer.session.summaries import Summaries


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a session, in parts. Every part is extended in place."""

    index: EventIndex
    exchanges: ExchangeCuts
    checkpoints: Checkpoints
    summaries: Summaries
    signals: Signals


class _State(msgspec.Struct, frozen=True, kw_only=True):
    index: IndexState
    exchanges: CutsState
    checkpoints: CheckpointsState
    summaries: dict[int, str]
    signals: SignalsState


def remembered(known: Known) -> bytes:
    """All parts as bytes."""
    return msgspec.msgpack.encode(
        _State(
            index=known.index.state(),
            exchanges=known.exchanges.state(),
            checkpoints=known.checkpoints.state(),
            summaries=known.summaries.state(),
            signals=known.signals.state(),
        )
    )


def recall(data: bytes, known: Known) -> bool:
    """Restore all parts, which must be empty; False if the data is damaged."""
    try:
        state = msgspec.msgpack.decode(data, type=_State)
        index = EventIndex.of(state.index)
        exchanges = ExchangeCuts.of(state.exchanges)
        checkpoints = Checkpoints.of(state.checkpoints)
        signals = Signals.of(state.signals)
    except (ValueError, RecursionError):
        return False
    known.exchanges.become(exchanges)
    known.checkpoints.become(checkpoints)
    known.summaries.become(state.summaries)
    known.index.become(index)
    known.signals.become(signals)  # behind the index: its events must be known
    return True
