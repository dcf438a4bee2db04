"""A recording in time: events and exact screens at any moment. Without Textual."""

from ptycassette_viewer.session.checkpoints import Checkpoints
from ptycassette_viewer.session.exchange_cuts import ExchangeCuts
from ptycassette_viewer.session.head import Head
from ptycassette_viewer.session.index import KINDS, EventIndex, Kind
from ptycassette_viewer.session.session import Progress, ViewerSession
from ptycassette_viewer.session.signals import ROUTINE, SignalLines, Signals, signal_text
from ptycassette_viewer.session.source import CassetteSource, Source, body_text

__all__ = [
    "KINDS",
    "ROUTINE",
    "CassetteSource",
    "Checkpoints",
    "EventIndex",
    "ExchangeCuts",
    "Head",
    "Kind",
    "Progress",
    "SignalLines",
    "Signals",
    "Source",
    "ViewerSession",
    "body_text",
    "signal_text",
]
