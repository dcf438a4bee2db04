"""All panels of one recording, by name."""

from __future__ import annotations

from ptycassette import ReportedDivergence, fork_of
from ptycassette_viewer.panels.chunk import BytesPanel
from ptycassette_viewer.panels.divergences import DivergencesPanel
from ptycassette_viewer.panels.documents import DocumentPanel
from ptycassette_viewer.panels.lineage import LineagePanel
from ptycassette_viewer.panels.lists import EventsPanel, ExchangesPanel, InputsPanel
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.panels.service import ServicePanel
from ptycassette_viewer.session.live import LiveSource
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource


def all_panels(
    session: ViewerSession, divergences: tuple[ReportedDivergence, ...] = (), *, suffix: str = ""
) -> dict[str, Panel]:
    """The panels, in the order of their tabs; ``suffix`` ends every name and id."""
    source = session.source

    def named(name: str) -> str:
        return name + suffix

    panels: dict[str, Panel] = {
        named("events"): EventsPanel(session, id=named("events")),
        named("exchanges"): ExchangesPanel(session, id=named("exchanges")),
        named("bytes"): BytesPanel(session, id=named("bytes")),
        named("input"): InputsPanel(session, id=named("input")),
        named("service"): ServicePanel(session, id=named("service")),
    }
    if divergences:
        panels["divergences"] = DivergencesPanel(divergences, id="divergences")
    documents: dict[str, object] = {}
    if isinstance(source, CassetteSource):
        cassette = source.cassette
        origin = fork_of(cassette.final.metadata)
        if origin is not None:
            panels[named("lineage")] = LineagePanel(cassette, origin, id=named("lineage"))
        documents = {
            "manifest": cassette.document,
            "probes": {"quota": cassette.quota, "discovery": cassette.discovery},
            "scrub": cassette.scrub_report,
            "final": cassette.final,
        }
    elif isinstance(source, LiveSource):
        documents = {"session": source.meta}
    for name, document in documents.items():
        panels[named(name)] = DocumentPanel(named(name), document, id=named(name))
    return panels
