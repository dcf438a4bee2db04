"""Time over events: the index, exchanges, and transforms. Pure: event lists in, event lists out."""

from ptycassette.timeline.exchanges import Exchange, exchanges
from ptycassette.timeline.index import TimeIndex
from ptycassette.timeline.transforms import Transform, between, chain, limit_idle, speed

__all__ = [
    "Exchange",
    "TimeIndex",
    "Transform",
    "between",
    "chain",
    "exchanges",
    "limit_idle",
    "speed",
]
