"""Open cassettes, edit their content, and publish the result as a new cassette."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.edits import EDITED_KEY, event_without_old_digests, without_old_digests
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.tape_lines import TAPE_KEY
from ptycassette.errors import UsageError
from ptycassette.formats.editing.masking import (
    BadEditError,
    Mask,
    Region,
    Take,
    mask,
    masked_screen,
)
from ptycassette.model.ports import EventSource
from ptycassette.model.records import JournalEvent, Noted, TapeMoment, Traffic
from ptycassette.model.screen import Screen
from ptycassette.model.tape import TAPE_OPTION
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.rescrub import TapeAgain, cassette_session, refuse_unknown_files
from ptycassette.recording.sink_writer import REPORT_OPTION, merged_reports
from ptycassette.scrub.search.known import SHORTEST_KNOWN
from ptycassette.tape.matching.checking import TapeCheck
from ptycassette.version import __version__

_KEPT = (
    *("frame_policy", "idle_limit_ms", "imported", "in_process", "meta", "recovered"),
    EDITED_KEY,
)

_HINT = "`ptycassette events` shows the times and exchanges of a recording, --help an example"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One edit.

    Attributes:
        name: the command.
        arguments: its arguments for the manifest, without any text that the edit hides.
        of: the function that does it, given the sessions in the order of the cassettes.
        hidden: texts to remove everywhere, as declared secrets are removed.
    """

    name: str
    arguments: Mapping[str, Any]
    of: Callable[[Sequence[Take]], Take]
    hidden: tuple[str, ...] = ()


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an edit.

    Attributes:
        cassette: the path of the new cassette.
        operation: the edit.
        sources: the edited cassettes.
        duration_ms: the new length of the recording.
        replaced: how many texts were replaced.
        without_tape: whether model traffic was left out, because it covers the whole session.
    """

    cassette: str
    operation: str
    sources: tuple[str, ...]
    duration_ms: int
    replaced: int
    without_tape: bool


def edit_cassettes(
    paths: Sequence[Path], operation: Operation, target: Path, *, overwrite: bool = False
) -> Edited:
    """Edit cassettes and publish the result; the old cassettes stay as they are.

    The result has an id of its own. Screens are rendered and secrets are searched again; the
    manifest lists the edit and its sources.

    Args:
        paths: the cassettes.
        operation: the edit.
        target: the path of the new cassette.
        overwrite: replace the cassette that is there.

    Raises:
        UsageError: the edit does not fit the recording; or the target is one of the cassettes.
        CassetteError: one cannot be read, or the new one cannot be written.
    """
    if target.resolve() in {path.resolve() for path in paths}:
        raise UsageError(
            "the output is the cassette itself, and an edit never changes that",
            hint="write to another --output",
        )
    with ExitStack() as stack:
        cassettes = [stack.enter_context(open_cassette(path, check="full")) for path in paths]
        takes = [
            _with_its_salt(take_of(cassette), cassette, cassettes[0]) for cassette in cassettes
        ]
        try:
            take = operation.of(takes)
        except BadEditError as exc:
            raise UsageError(str(exc), hint=_HINT) from exc
        first = cassettes[0]
        tape = first.has_tape and take.keeps_tape
        lost = any(cassette.has_tape for cassette in cassettes) and not tape
        meta = msgspec.structs.replace(
            take.meta,
            id=str(uuid.uuid4()),
            options=_options(cassettes, operation, tape=tape),
        )
        finaliser = Finaliser(known=operation.hidden, recorded=True)
        source = _without_old_digests(take.source if tape else _without_tape(take.source))
        before = sum(_hits(cassette) for cassette in cassettes)
        finaliser.publish(
            meta,
            source,
            target,
            overwrite=overwrite,
            keys=_SameTape(first, untouched=not operation.hidden) if tape else None,
        )
    with open_cassette(target) as made:
        return Edited(
            cassette=str(target),
            operation=operation.name,
            sources=tuple(map(str, paths)),
            duration_ms=made.final.duration_ms,
            replaced=_hits(made) - before,
            without_tape=lost,
        )


def _hits(cassette: Cassette) -> int:
    return sum((cassette.scrub_report.hit_counts or {}).values())


def take_of(cassette: Cassette) -> Take:
    """An open cassette as a ``Take``.

    Raises:
        CassetteError: it has files that edits do not support.
    """
    refuse_unknown_files(cassette, verb="edit")
    meta, source = cassette_session(cassette)
    final = cassette.final
    end_us = final.t_ms * 1000 if final.t_us is None else final.t_us
    return Take(meta=meta, source=source, end_us=end_us, name=str(cassette.path))


def _with_its_salt(take: Take, cassette: Cassette, first: Cassette) -> Take:
    """Keep the salt for digests of tool calls when the session joins another recording."""
    salt = _salt(cassette)
    if salt == _salt(first):
        return take

    def events() -> Iterator[JournalEvent]:
        for event in take.source():
            match event:
                case Noted(payload={"type": "tool-call", "digests": _} as payload):
                    yield msgspec.structs.replace(event, payload={"salt": salt, **payload})
                case _:
                    yield event

    return msgspec.structs.replace(take, source=events)


def _salt(cassette: Cassette) -> str:
    said = (cassette.manifest.optional or {}).get("in_process")
    salt = said.get("salt") if isinstance(said, dict) else None
    return str(salt or cassette.manifest.id)


def _options(cassettes: Sequence[Cassette], operation: Operation, *, tape: bool) -> dict[str, Any]:
    """The additions to the head of the first session for the head of the new one."""
    first = cassettes[0].manifest
    optional = first.optional or {}
    options = {name: without_old_digests(optional[name]) for name in _KEPT if name in optional}
    done = optional.get(EDITED_KEY)
    options[EDITED_KEY] = [
        *(without_old_digests(done) if isinstance(done, list) else ()),
        {
            "operation": operation.name,
            **operation.arguments,
            "of": [{"id": cassette.manifest.id} for cassette in cassettes],
            "by": f"ptycassette/{__version__}",
        },
    ]
    options[REPORT_OPTION] = reduce(
        merged_reports, [cassette.scrub_report for cassette in cassettes]
    )
    if not tape and "in_process" in options:
        # The order of concurrent calls names requests that no longer exist.
        options["in_process"] = {
            key: value for key, value in options["in_process"].items() if key != "after"
        }
    if tape:
        said = optional[TAPE_KEY]
        options[TAPE_OPTION] = {"key": said.get("key", "")}
    return options


def _without_tape(source: EventSource) -> EventSource:
    """The events without model traffic; its description for people stays."""

    def events() -> Iterator[JournalEvent]:
        for event in source():
            if isinstance(event, TapeMoment):
                yield Noted(event.t_us, event.payload)
            elif not isinstance(event, Traffic):
                yield event

    return events


def _without_old_digests(source: EventSource) -> EventSource:
    def events() -> Iterator[JournalEvent]:
        yield from map(event_without_old_digests, source())

    return events


class _SameTape(TapeAgain):
    """The tape of a cassette in which an edit has changed only times."""

    def __init__(self, cassette: Cassette, *, untouched: bool) -> None:
        super().__init__(cassette)
        self._untouched = untouched
        self._said = (cassette.manifest.optional or {})[TAPE_KEY]

    @property
    def described(self) -> Mapping[str, Any]:
        """See ``EntryKeys``."""
        ours = {"version", "key", "entries", "checked", "unchecked", "findings"}
        return {
            name: value
            for name, value in self._said.items()
            if name not in ours and not name.startswith("fingerprint")
        }

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """See ``EntryKeys``: the recording was already checked."""
        del exchanges
        checked = self._said.get("checked", True)
        return TapeCheck(
            unchecked="" if checked else str(self._said.get("unchecked", "")) or "not checked",
            fingerprint=str(self._said.get("fingerprint", "")) if self._untouched else "",
            fingerprint_version=self._said.get("fingerprint_version", 1),
        )


# Masks on disk: from one cassette to a new one, and a preview of a screen.


def mask_cassette(path: Path, what: Mask, target: Path, *, overwrite: bool = False) -> Edited:
    """Publish a masked copy of a cassette; the old one stays as it is.

    Args:
        path: the cassette.
        what: what to mask.
        target: the path of the new cassette.
        overwrite: replace the cassette that is there.

    Raises:
        UsageError: a word is too short, or there is nothing to mask.
        CassetteError: it cannot be read, or the new one cannot be written.
    """
    for word in what.words:
        if len(word.strip()) < SHORTEST_KNOWN:
            raise UsageError(
                f"a word has {SHORTEST_KNOWN} characters or more: shorter ones are part of other"
                " words",
                hint="mask the region in which it is shown",
            )
    operation = Operation(
        name="mask",
        arguments=_said(what),
        of=lambda takes: mask(takes[0], what),
        hidden=what.words,
    )
    return edit_cassettes([path], operation, target, overwrite=overwrite)


def _said(what: Mask) -> dict[str, Any]:
    """The mask for the manifest, without its words."""
    if what.words:
        return {"what": "words"}
    stretch: dict[str, Any] = {"start_us": what.start_us}
    if what.end_us is not None:
        stretch["end_us"] = what.end_us
    if what.region is None:
        return {"what": "stretch", **stretch}
    return {"what": "region", **stretch, "region": region_text(what.region)}


def region_text(region: Region) -> str:
    """A region in the form of the option ``--region``."""
    return f"{region.row},{region.column}:{region.columns}x{region.rows}"


def preview_mask(cassette: Cassette, what: Mask, seq: int) -> Screen:
    """The screen after an event, with a region or a stretch masked.

    Args:
        cassette: an open cassette.
        what: what to mask; words are not supported.
        seq: the event.

    Raises:
        UsageError: there is nothing to mask.
        CassetteError: it cannot be read.
    """
    paintings = sum(
        event.kind == "output" or getattr(event.record, "kind", "") == "resize"
        for event in cassette.events()
        if event.seq <= seq
    )
    try:
        return masked_screen(take_of(cassette), what, paintings)
    except BadEditError as exc:
        raise UsageError(str(exc)) from exc
