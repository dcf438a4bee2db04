"""Time over events: the index, exchanges, the terminal's signals, and transforms.

Pure: event lists in, event lists out.
"""

from ptycassette.timeline.exchanges import Exchange, ExchangeCutter, exchanges
from ptycassette.timeline.index import TimeIndex
from ptycassette.timeline.terminal_signals import SignalFinder, TerminalSignal, terminal_signals
from ptycassette.timeline.transforms import Transform, between, chain, limit_idle, speed

__all__ = [
    "Exchange",
    "ExchangeCutter",
    "SignalFinder",
    "TerminalSignal",
    "TimeIndex",
    "Transform",
    "between",
    "chain",
    "exchanges",
    "limit_idle",
    "speed",
    "terminal_signals",
]
