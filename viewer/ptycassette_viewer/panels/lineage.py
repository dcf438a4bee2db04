"""Where a forked recording comes from: its parent, the place, the change, its relatives."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from ptycassette import (
    Cassette,
    CassetteError,
    ForkRecord,
    fork_mark,
    lineage_lines,
    printable,
    read_lineage,
    visible,
)
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.playback import clock_text

_MOST_RELATIVES = 200


class LineagePanel(Panel):
    """The origin of a recording.

    Args:
        cassette: open; a child.
        origin: what it says of its parent.
    """

    label = "Lineage"

    class Placed(Message):
        """Where the change was made, and the recordings that are related."""

        def __init__(self, t_us: int | None, seq: int | None, relatives: list[str]) -> None:
            super().__init__()
            self.t_us, self.seq, self.relatives = t_us, seq, relatives

    def __init__(
        self,
        cassette: Cassette,
        origin: ForkRecord,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._cassette = cassette
        self.origin = origin

    def compose(self) -> ComposeResult:
        """The origin, as it is known at once."""
        yield Static("forked of another recording", classes="panel-title")
        with VerticalScroll():
            yield Static("\n".join(self._origin()), id=f"{self.id}-text", markup=False)

    def _origin(self, place: str = "") -> list[str]:
        origin, proof = self.origin, self.origin.prefix
        verified = f"requests {len(proof.entries)}, screens {proof.screens}, inputs {proof.inputs}"
        return [
            f"parent   id {visible(origin.parent.id, limit=60)}",
            f"         manifest {visible(origin.parent.manifest_sha256, limit=64)}",
            f"place    {visible(origin.at, limit=40)}{place}",
            f"changed  {visible(f'{origin.change}={origin.value}', limit=400)}",
            f"tail     {visible(origin.tail, limit=40)}",
            f"verified {verified}",
        ]

    def on_mount(self) -> None:
        """Look for the place and the relatives in a thread."""
        self.run_worker(self._look, thread=True, exit_on_error=False)

    def _look(self) -> None:
        mark, relatives = None, list[str]()
        try:
            mark = fork_mark(self._cassette)
            relatives = list(lineage_lines(read_lineage(Path(self._cassette.path))))
        except (CassetteError, OSError, ValueError) as problem:
            relatives.append(printable(str(problem)))
        t_us, seq = (None, None) if mark is None else (mark.t_us, mark.seq)
        self.post_message(self.Placed(t_us, seq, relatives[:_MOST_RELATIVES]))

    def on_lineage_panel_placed(self, message: Placed) -> None:
        """Show it; the screen marks the place on the timeline."""
        place = ""
        if message.t_us is not None:
            place = f": {clock_text(message.t_us)}, event #{message.seq}"
        lines = [*self._origin(place), "", "in this folder:", *message.relatives]
        self.query_one(f"#{self.id}-text", Static).update("\n".join(lines))
