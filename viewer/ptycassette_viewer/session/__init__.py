"""A recording in time: what happened when, and the exact screen at any moment. No Textual here."""

from ptycassette_viewer.session.checkpoints import Checkpoints
from ptycassette_viewer.session.exchange_cuts import ExchangeCuts
from ptycassette_viewer.session.head import Head
from ptycassette_viewer.session.index import KINDS, EventIndex, Kind
from ptycassette_viewer.session.session import Progress, ViewSession
from ptycassette_viewer.session.source import CassetteSource, Source
from ptycassette_viewer.session.told import ROUTINE, Told, ToldLines, signal_text

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
    "Source",
    "Told",
    "ToldLines",
    "ViewSession",
    "signal_text",
]
