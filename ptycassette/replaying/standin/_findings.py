"""The divergences of one run of the stand-in, as they are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptycassette.keys.reader import Key
from ptycassette.model.events import Event, InputRecord
from ptycassette.model.geometry import Size
from ptycassette.replaying.divergence import Divergence, DivergenceSide, Nearest
from ptycassette.replaying.divergence_kinds import (
    INPUT_CHANGED,
    INPUT_EXTRA,
    INPUT_MISSING,
    RESIZE_CHANGED,
    SECRET_CHANGED,
    SIGNAL_EXTRA,
    SIZE_MISMATCH,
    STDIN_CHANGED,
    TIMING,
    DivergenceKind,
    changed_hint,
)
from ptycassette.timeline.entry_matcher import EntryMatcher
from ptycassette.timeline.match import nearest_entry
from ptycassette.timeline.match_entries import Entry

Place = Entry | Event | None


class Findings:
    """Collects divergences; none is ever removed.

    Args:
        entries: all recorded entries, to name the nearest.
        screen: ``screen(seq)`` gives the rows shown after event ``seq``.
        conceal: scrubs a text as a recording would, because the driver's input may be secret.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        screen: Callable[[int], tuple[str, ...]] | None,
        conceal: Callable[[str], str] | None = None,
    ) -> None:
        self.divergences: list[Divergence] = []
        self.last: Event | None = None
        self._entries = entries
        self._screen = screen
        self._conceal = conceal

    def size(self, want: Size, got: Size) -> None:
        """Add: the terminal's size at the start differs."""
        self._add(
            SIZE_MISMATCH,
            expected=DivergenceSide(_size_text(want)),
            got=DivergenceSide(_size_text(got)),
        )

    def resize(self, want: Size | None, got: Size) -> None:
        """Add: a resize to another size, or one that was not recorded."""
        self._add(
            RESIZE_CHANGED,
            expected=DivergenceSide(_size_text(want) if want else "no resize"),
            got=DivergenceSide(_size_text(got)),
        )

    def timing(self, entry: Entry, recorded_us: int, took_us: int, tolerance_us: int) -> None:
        """Add: the driver was too early or too late."""
        self._add(
            TIMING,
            place=entry,
            expected=DivergenceSide(
                f"{recorded_us // 1000} ms, give or take {tolerance_us // 1000} ms"
            ),
            got=DivergenceSide(f"{took_us // 1000} ms"),
        )

    def changed(self, matcher: EntryMatcher) -> None:
        """Add: input differs from the recorded one."""
        entry = matcher.entry
        if matcher.only_secret:
            self._add(
                SECRET_CHANGED,
                place=entry,
                expected=_entry_said(entry),
                got=DivergenceSide("other masked input")
                if entry.masked
                else self._sent(matcher.shown, matcher.raw),
                number=entry.number,
                strategy=matcher.strategy,
            )
            return
        self._add(
            INPUT_CHANGED,
            place=entry,
            expected=_entry_said(entry),
            got=self._sent(matcher.shown, matcher.raw),
            nearest=_nearest(nearest_entry(self._entries, matcher.shown, number=entry.number)),
            hint=changed_hint(matcher.strategy),
            number=entry.number,
            strategy=matcher.strategy,
        )

    def stdin(
        self,
        event: Event,
        *,
        expected: DivergenceSide,
        got: DivergenceSide,
        offset: int,
        strategy: str,
    ) -> None:
        """Add: stdin that is not a terminal differs; secrets are removed from ``got``."""
        self._add(
            STDIN_CHANGED,
            place=event,
            expected=expected,
            got=got,
            offset=offset,
            strategy=strategy,
        )

    def extra_keys(self, keys: Sequence[Key]) -> None:
        """Add: input after the last recorded one."""
        text = "".join(key.text or f"<{key.name}>" for key in keys)
        self._add(
            INPUT_EXTRA,
            expected=DivergenceSide("no more input"),
            got=self._sent(text, b"".join(key.raw for key in keys)),
            nearest=_nearest(nearest_entry(self._entries, text, number=len(self._entries))),
        )

    def extra_signal(self, name: str) -> None:
        """Add: a signal that was not recorded."""
        self._add(
            SIGNAL_EXTRA,
            expected=DivergenceSide("no signal"),
            got=DivergenceSide(f"signal {name}"),
            signal=name,
        )

    def missing(self, event: Event, entry: Entry | None, why: str) -> None:
        """Add: the recorded input did not come."""
        self._add(
            INPUT_MISSING,
            place=entry or event,
            expected=_entry_said(entry) if entry else _event_said(event),
            got=DivergenceSide("nothing"),
            did=why,
        )

    def _sent(self, text: str, raw: bytes) -> DivergenceSide:
        """The driver's input without its secrets."""
        shown = text if self._conceal is None else self._conceal(text)
        return DivergenceSide(shown, raw if shown == text else b"")

    def _add(
        self,
        kind: DivergenceKind,
        *,
        expected: DivergenceSide,
        got: DivergenceSide,
        place: Place = None,
        nearest: Nearest | None = None,
        hint: str = "",
        **words: object,
    ) -> None:
        """Add a divergence; ``words`` fill in the message of its kind."""
        at = place or self.last
        self.divergences.append(
            Divergence(
                kind=kind.name,
                message=kind.says.format(**words),
                seq=at.seq if at else 0,
                t_ms=at.t_us // 1000 if at else 0,
                exchange=at.number if isinstance(at, Entry) else 0,
                expected=expected,
                got=got,
                nearest=nearest,
                screen=self._screen(self.last.seq if self.last else 0) if self._screen else (),
                hint=hint or kind.hint,
            )
        )


def _entry_said(entry: Entry) -> DivergenceSide:
    return (
        DivergenceSide("masked input") if entry.masked else DivergenceSide(entry.shown, entry.raw)
    )


def _event_said(event: Event) -> DivergenceSide:
    record = event.record
    assert isinstance(record, InputRecord)  # noqa: S101 - only input can be missing
    if record.size is not None:
        return DivergenceSide(f"resize to {_size_text(record.size)}")
    if record.eof and not event.data:
        return DivergenceSide("the end of stdin")
    return DivergenceSide(
        f"signal {record.signal}" if record.kind == "signal" else "input", event.data
    )


def _nearest(found: tuple[Entry, float] | None) -> Nearest | None:
    if found is None or found[1] <= 0:
        return None
    entry, score = found
    return Nearest(entry.number, entry.seq, entry.t_us // 1000, entry.shown, round(score, 3))


def _size_text(size: Size) -> str:
    return f"{size.rows} rows x {size.cols} columns"
