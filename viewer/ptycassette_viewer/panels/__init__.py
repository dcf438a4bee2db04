"""Panels: lists and descriptions of the moment at the playhead."""

from ptycassette_viewer.panels.chunk import BytesPanel
from ptycassette_viewer.panels.divergences import DivergencesPanel
from ptycassette_viewer.panels.documents import DocumentPanel, document_lines
from ptycassette_viewer.panels.lineage import LineagePanel
from ptycassette_viewer.panels.lists import EventsPanel, ExchangesPanel, InputsPanel
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.panels.service import ServicePanel

__all__ = [
    "BytesPanel",
    "DivergencesPanel",
    "DocumentPanel",
    "EventsPanel",
    "ExchangesPanel",
    "InputsPanel",
    "LineagePanel",
    "Panel",
    "ServicePanel",
    "document_lines",
]
