"""Keys for markers, exports, masks and the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptycassette import Cassette, CassetteError, printable, render_text, visible
from ptycassette_viewer.annotations import Annotations, LiveNotes, Note
from ptycassette_viewer.dialogs import AskDialog, ErrorDialog
from ptycassette_viewer.exports import SCREEN_ENDINGS, is_of_screen, write_recording, write_screen
from ptycassette_viewer.masking.mask_screen import MaskScreen
from ptycassette_viewer.recording.playhead import PlayheadScreen


class Noting(PlayheadScreen):
    """Markers with notes, exports, the clipboard. Nothing is written into a recording."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.annotations: Annotations | LiveNotes | None = None

    def on_mount(self) -> None:
        """Read the notes."""
        try:
            self.annotations = LiveNotes() if self.cassette is None else Annotations(self.cassette)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
        self._show_markers()

    def status_parts(self) -> list[str]:
        """The note of the marker here."""
        note = self._note_here()
        if note is None:
            return super().status_parts()
        return [*super().status_parts(), f"\u25c6 {visible(note.text or 'marker', limit=60)}"]

    def _note_here(self) -> Note | None:
        if self.annotations is None:
            return None
        return next((n for n in self.annotations.notes if n.seq == self.playback.seq), None)

    def _show_markers(self) -> None:
        notes = self.annotations.notes if self.annotations is not None else ()
        self.timeline.set_extra("marker", (note.t_us for note in notes))

    def action_mark(self) -> None:
        """Put a marker here, with a note."""
        if self.annotations is None:
            self.say("the notes cannot be read")
            return
        self._follow_live = False
        self.app.push_screen(AskDialog("Note", hint=self.annotations.kept_where), self._mark)

    def _mark(self, answer: str | None) -> None:
        if answer is None:
            return
        note = Note(self.playback.t_us, self.playback.seq, answer)
        self._change(lambda notes: notes.add(note))

    def action_unmark(self) -> None:
        """Remove the marker that is here."""
        note = self._note_here()
        if note is None:
            self.say("no marker here")
            return
        self._change(lambda notes: notes.remove(note))

    def _change(self, change: Callable[[Annotations | LiveNotes], None]) -> None:
        if self.annotations is None:
            return
        try:
            change(self.annotations)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
        self._show_markers()
        self.show_position()

    def action_marker(self, by: int) -> None:
        """The next or last marker."""
        notes = self.annotations.notes if self.annotations is not None else ()
        here = (self.playback.seq, self.playback.t_us)
        places = [(note.seq, note.t_us) for note in notes]
        beyond = [place for place in places if (place > here if by > 0 else place < here)]
        if not beyond:
            self.say("there is none")
            return
        seq, t_us = beyond[0] if by > 0 else beyond[-1]
        self.playback.playing = False
        self.go_to(t_us, min(seq, self.session.index.count))

    def action_export(self) -> None:
        """Write the screen to a file."""
        if self.shown is not None:
            hint = f"the ending says how: {' '.join(SCREEN_ENDINGS)}"
            if self.cassette is not None:
                hint += "; other endings of `ptycassette export`: the whole recording"
            name = f"screen-{self.shown.seq}.svg"
            self.app.push_screen(
                AskDialog("Write this screen to", hint=hint, value=name), self._export
            )

    def _export(self, answer: str | None) -> None:
        if not answer or self.shown is None:
            return
        cassette = self.cassette
        if cassette is not None and not is_of_screen(answer):
            self.say("exporting the recording ...")
            self.run_worker(lambda: self._export_recording(cassette, answer), thread=True)
            return
        try:
            self._exported(write_screen(self.shown.screen, answer))
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))

    def _export_recording(self, cassette: Cassette, name: str) -> None:
        """In a thread."""
        try:
            path = write_recording(cassette, name)
        except CassetteError as problem:
            self.app.call_from_thread(self.app.push_screen, ErrorDialog(problem))
        else:
            self.app.call_from_thread(self._exported, path)

    def _exported(self, path: Path) -> None:
        self.say(f"written: {printable(str(path), limit=60)}")

    def action_mask(self) -> None:
        """Mask what one points at, in a new recording."""
        if self.cassette is None or self.shown is None:
            self.say("a recording in progress cannot be masked")
            return
        self.playback.playing = False
        self.app.push_screen(MaskScreen(self.cassette, self.session, self.shown), self._masked)

    def _masked(self, path: Path | None) -> None:
        if path is not None:
            self.say(f"written: {printable(str(path), limit=60)}")

    def action_copy(self) -> None:
        """Copy the text on screen to the clipboard."""
        if self.shown is not None:
            self.app.copy_to_clipboard(render_text(self.shown.screen))
            self.say("copied")
