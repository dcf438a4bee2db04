"""What a pass over a session finds: patches for each channel of bytes.

The first pass searches all channels by rules and known values, and learns what rules find.
The second sweeps what came before a value was learnt, as far as that value may be there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ptycassette.model import (
    EventSource,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    Typed,
)
from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.channels import InputChannel, OutputText
from ptycassette.scrub.known import KnownValue
from ptycassette.scrub.messages import Messages
from ptycassette.scrub.patches import Patches
from ptycassette.scrub.rows import ScreenView
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.structured import Joined, strings_of
from ptycassette.scrub.tally import Tally
from ptycassette.scrub.trail import Searched, Trail
from ptycassette.scrub.views import View

__all__ = ["Finder"]

_MOST_PRINTED = 16 << 20


class Channels(NamedTuple):
    """The channels of one pass."""

    text: OutputText
    cells: OutputCells
    typed: InputChannel
    service: Joined
    messages: Messages

    @classmethod
    def of(cls, meta: SessionMeta) -> Channels:
        """Those of a session."""
        cells = OutputCells(meta.size)
        return cls(OutputText(), cells, InputChannel(), Joined(), Messages())


class Finder:
    """What a pass over a session finds: patches for each channel of bytes."""

    def __init__(self, searcher: Searcher, tally: Tally) -> None:
        self._searcher = searcher
        self.tally = tally
        self.output = Patches()
        self.input = Patches()
        self.service = Patches()
        self._printed = Trail(fast=searcher.fast, most_bytes=_MOST_PRINTED)
        self._trail = Trail(fast=searcher.fast)
        self._begun: list[Trail] = []
        self._late: list[KnownValue] = []
        self._cells: OutputCells | None = None
        self._number = 0

    def look(self, meta: SessionMeta, source: EventSource) -> None:
        """The first pass. What rules find is looked for from there on."""
        channels = Channels.of(meta)
        self._cells = channels.cells
        for number, event in enumerate(source()):
            self._number = number
            self._event(event, channels, by_rules=True)
            self._adopt()
        self._rest(channels, by_rules=True)
        self._trail.repeats = channels.cells.repeats

    def look_again(self, meta: SessionMeta, source: EventSource) -> None:
        """Sweep what came before a value was learnt, where that value may be.

        What was known by then was found. Most of the time goes into the screen: it is left
        out when only the print stream has anything to tell.
        """
        printed, rest = self._printed.again(), self._trail.again()
        until = max(-1 if at is None else at for at in (printed, rest))
        if until < 0:
            return
        with self._searcher.knowing_only(self._late):
            self._sweep(Channels.of(meta), source, until, rest)

    def _sweep(self, channels: Channels, source: EventSource, until: int, rest: int | None) -> None:
        """Look again up to event ``until``; at more than the print stream up to ``rest``."""
        for number, event in enumerate(source()):
            if number > until:
                return
            if rest is not None and number <= rest:
                self._event(event, channels, by_rules=False)
            elif isinstance(event, Output):
                self._output(channels.text.feed(event.data), by_rules=False)
        self._rest(channels, by_rules=False, printed_only=rest is None)

    def _rest(self, channels: Channels, *, by_rules: bool, printed_only: bool = False) -> None:
        self._output(channels.text.rest(), by_rules=by_rules)
        if printed_only:
            return
        for name, patches, views in (
            ("output", self.output, channels.cells.rest()),
            ("output", self.output, channels.messages.rest()),
            ("input", self.input, channels.typed.rest()),
            ("service-events", self.service, channels.service.rest()),
        ):
            self.search(name, patches, views, by_rules=by_rules)

    def _output(self, views: Iterable[View], *, by_rules: bool) -> None:
        """Search the print stream."""
        self.search("output", self.output, views, by_rules=by_rules, trail=self._printed)

    def _adopt(self) -> list[KnownValue]:
        """Make known what was learnt; what of it the last view was not searched for."""
        lesson, late = self._searcher.adopt()
        if lesson is None:
            return []
        before = [trail.learn(self._number, lesson) for trail in self._begun]
        if any(before):
            self._late += lesson.values
        if self._cells is not None:
            self._cells.forget()
        return late

    def _event(self, event: JournalEvent, channels: Channels, *, by_rules: bool) -> None:
        """Search what one event completes."""
        match event:
            case Output():
                self._output(channels.text.feed(event.data), by_rules=by_rules)
                self.search(
                    "output", self.output, channels.cells.feed(event.data), by_rules=by_rules
                )
                messages = channels.messages.feed(event.data)
                self.search("output", self.output, messages, by_rules=by_rules)
            case Resized():
                self.search(
                    "output", self.output, channels.cells.resize(event.size), by_rules=by_rules
                )
            case Typed():
                self.search("input", self.input, channels.typed.feed(event.data), by_rules=by_rules)
            case Noted():
                self._payload(event.payload, by_rules=by_rules)
                views = channels.service.add(event.payload)
                self.search("service-events", self.service, views, by_rules=by_rules)
            case Probed() | Finished() if by_rules:
                self._learn_from(event)
            case _:
                pass

    def _payload(self, payload: Any, *, by_rules: bool) -> None:
        """Learn from the strings of one payload; what is in one string is replaced later."""
        if by_rules:
            for _, text in strings_of(payload):
                for _ in self._searcher.search(canonical(text)):
                    pass

    def _learn_from(self, event: Probed | Finished) -> None:
        """Learn from the strings of a document."""
        self._payload(msgspec.to_builtins(event), by_rules=True)

    def search(
        self,
        channel: str,
        patches: Patches,
        views: Iterable[View],
        *,
        by_rules: bool,
        trail: Trail | None = None,
    ) -> None:
        """Search views of a channel; what is found becomes patches.

        What was searched for by rules is kept in ``trail``, or in the one of all channels.
        """
        trail = self._trail if trail is None else trail
        for view in views:
            searched: list[Searched] = []
            self._searcher.searched = searched if by_rules else None
            self._searcher.follows_pages = by_rules and isinstance(view, ScreenView)
            done: set[tuple[tuple[tuple[int, int], ...], str]] = set()
            self._search_view(channel, patches, view, done, by_rules=by_rules)
            self._searcher.searched = None
            self._searcher.follows_pages = False
            late = self._adopt() if by_rules else []
            if late:
                with self._searcher.knowing_only(late):
                    self._search_view(channel, patches, view, done, by_rules=False)
            trail.add(self._number, searched)
            if trail not in self._begun and any(one.text for one in searched):
                self._begun.append(trail)

    def _search_view(
        self,
        channel: str,
        patches: Patches,
        view: View,
        done: set[tuple[tuple[tuple[int, int], ...], str]],
        *,
        by_rules: bool,
    ) -> None:
        """Search one view. ``done`` is what was found in it before, in which form."""
        source = channel, type(view)
        for match in self._searcher.search(view.text, by_rules=by_rules, source=source):
            view.found = True
            what = match.stretches, match.form
            if what in done:
                continue
            done.add(what)
            if not self._take(view, match, patches, channel):
                continue
            if not self.tally.explains:
                self.tally.count(channel, match.rule)
            else:
                start, end = match.stretches[0]
                self.tally.count(
                    channel,
                    match.rule,
                    form=match.form,
                    offset=view.offset(start, end),
                    length=sum(end - start for start, end in match.stretches),
                )

    def _take(self, view: View, match: Match, patches: Patches, channel: str) -> bool:
        """Turn a match into patches; True when it is new."""
        if channel == "service-events" and self._in_one_string(view, match):
            return False
        news = [
            patches.add(offset, data)
            for start, end in match.stretches
            for offset, data in view.patches(start, end, match.form)
        ]
        return news[:1] == [True]

    def _in_one_string(self, view: View, match: Match) -> bool:
        """Whether a match lies in one string of one event, where it gets a placeholder."""
        runs = sum(1 for start, end in match.stretches for _ in view.pieces(start, end))
        return runs <= len(match.stretches) == 1
