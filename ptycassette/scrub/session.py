"""The scrubber of one session: passes over its events, learns, then replaces.

The first pass searches all channels by rules and known values. When rules
found values, a second pass sweeps all channels for them and their pieces. The
last pass writes the patches over the bytes as they stream by. Memory holds
one block of each channel, the values and the patches, never the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import msgspec

from ptycassette.model import (
    DiscoveryRecord,
    EmulatorFactory,
    EventSource,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    QuotaRecord,
    Resized,
    ScrubReport,
    SessionMeta,
    Typed,
)
from ptycassette.screen import default_emulator
from ptycassette.scrub.canonical import canonical, plain
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.channels import InputChannel, OutputText
from ptycassette.scrub.discover import declared_values, environment_values, identity_values
from ptycassette.scrub.frames import scrubbed_rows
from ptycassette.scrub.known import KnownValue, KnownValues
from ptycassette.scrub.mask import TEXT, mask
from ptycassette.scrub.messages import Messages
from ptycassette.scrub.patches import Patches
from ptycassette.scrub.rules import RuleSet
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.structured import Joined, rewrite, strings_of
from ptycassette.scrub.tally import Replacement, Tally
from ptycassette.scrub.traffic import TrafficChannel
from ptycassette.scrub.trail import Trail
from ptycassette.scrub.verify import Verification
from ptycassette.scrub.views import View

__all__ = ["SessionScrubber"]

_MOST_PRINTED = 16 << 20


class SessionScrubber:
    """A ``model.Scrubber``. One object per session.

    Args:
        rules: what to look for by shape.
        known: values declared secret by the caller.
        values: further known values, found in files of the harness.
        preserved: values that stay, on purpose.
        emulator: makes the screens that ``verify`` looks at.
        fast: as for ``literal_finder``.
    """

    def __init__(
        self,
        *,
        rules: RuleSet,
        known: Iterable[str] = (),
        values: Iterable[KnownValue] = (),
        preserved: Iterable[str] = (),
        emulator: EmulatorFactory = default_emulator,
        fast: bool | None = None,
    ) -> None:
        self._rules = rules
        self._preserved = tuple(preserved)
        self._searcher = Searcher(
            rules=self._rules,
            known=KnownValues(fast=fast),
            preserved=self._preserved,
            fast=fast,
        )
        self._emulator = emulator
        self._tally = Tally()
        self._env_allowlist: tuple[str, ...] = ()
        self._know([*declared_values(known, rules=rules), *values])

    def _know(self, values: Iterable[KnownValue]) -> None:
        for value in values:
            if value.text not in self._preserved:
                self._searcher.known.add(value)

    def _know_session(self, meta: SessionMeta) -> None:
        """Learn what the head of a session gives away."""
        self._env_allowlist = meta.env_allowlist
        self._know(
            environment_values(
                meta.environment, allowlist=meta.env_allowlist, rules=self._searcher.rules
            )
        )
        self._know(identity_values(meta))
        self._know_argv(meta.argv)

    def _know_argv(self, argv: Sequence[str]) -> None:
        """Learn from arguments, each also behind the option before it."""
        behind = (f"{one} {word}" for one, word in pairwise(argv) if one.startswith("-"))
        for text in (*argv, *behind):
            for _ in self._searcher.search(canonical(text)):
                pass
        self._searcher.adopt()

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:
        """See ``model.Scrubber.events``."""
        self._know_session(meta)
        found = _Found(self._searcher, self._tally)
        found.look(meta, source)
        found.look_again(meta, source)
        yield from self._replace(source, found)

    def traffic(self, chunks: Sequence[bytes]) -> list[bytes]:
        """Provider traffic, scrubbed: as many chunks, each as long as it was.

        What is learnt here is removed from the events of the session too, and the other
        way round, when ``events`` comes after.
        """
        patches = Patches()
        found = _Found(self._searcher, self._tally)
        for by_rules in (True, False):
            channel = TrafficChannel()
            views = chain.from_iterable([*map(channel.feed, chunks), channel.rest()])
            found.search("provider", patches, views, by_rules=by_rules)
        scrubbed = []
        offset = 0
        for chunk in chunks:
            scrubbed.append(patches.apply(chunk, offset))
            offset += len(chunk)
        return scrubbed

    def _replace(self, source: EventSource, found: _Found) -> Iterator[JournalEvent]:
        """The last pass."""
        output = typed = service = 0
        for event in source():
            match event:
                case Output():
                    yield msgspec.structs.replace(
                        event, data=found.output.apply(event.data, output)
                    )
                    output += len(event.data)
                case Typed():
                    data = found.input.apply(event.data, typed)
                    key = event.key if data == event.data else None
                    if key is not None:
                        key = self.text(key, channel="input")
                    yield msgspec.structs.replace(event, data=data, key=key)
                    typed += len(event.data)
                case Noted():
                    length = sum(len(canonical(text)) for _, text in strings_of(event.payload))
                    yield Noted(event.t_us, self._payload(event.payload, found, service))
                    service += length
                case Probed():
                    yield self._probed(event)
                case Finished():
                    yield self._finished(event)
                case _:
                    yield event

    def _payload(self, payload: Any, found: _Found, offset: int) -> Any:
        """A service event: what spans several events is masked, the rest gets placeholders."""
        at = offset

        def change(text: str) -> str:
            nonlocal at
            raw = canonical(text)
            patched = found.service.apply(raw.encode("latin-1"), at).decode("latin-1")
            at += len(raw)
            return self.text(plain(patched) if patched != raw else text, channel="service-events")

        return rewrite(payload, change)

    def _probed(self, event: Probed) -> Probed:
        quota = discovery = None
        if event.quota is not None:
            quota = msgspec.convert(
                self.value(msgspec.to_builtins(event.quota), channel="quota"), QuotaRecord
            )
        if event.discovery is not None:
            discovery = msgspec.convert(
                self.value(msgspec.to_builtins(event.discovery), channel="discovery"),
                DiscoveryRecord,
            )
        return Probed(event.t_us, quota, discovery)

    def _finished(self, event: Finished) -> Finished:
        changes = {
            name: self.value(getattr(event, name), channel="final")
            for name in (
                "metadata",
                "usage",
                "routing_actual",
                "session_log_path",
                "final_text",
                "failure",
            )
            if getattr(event, name) is not None
        }
        return msgspec.structs.replace(event, **changes)

    def text(self, value: str, *, channel: str) -> str:
        """See ``model.Scrubber.text``."""
        text = canonical(value)
        matches = list(self._searcher.search(text))
        if not matches:
            return value
        spliced, rules = _spliced(text, matches)
        for rule in rules:
            self._tally.count(channel, rule)
        return plain(spliced)

    def rows(self, rows: tuple[str, ...]) -> tuple[str, ...]:
        """The rows of a frame that another emulator made, masked cell for cell."""
        masked, matches = scrubbed_rows(self._searcher, rows)
        for match in matches:
            self._tally.count("frames", match.rule)
        return masked

    def look(self, text: str) -> tuple[str, ...]:
        """Names of the rules that find something in ``text``."""
        return tuple(sorted({match.rule for match in self._searcher.search(canonical(text))}))

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """What was replaced, for people: places and rules, no values. Cut at some thousands."""
        return tuple(self._tally.replacements)

    def value(self, value: Any, *, channel: str) -> Any:
        """See ``model.Scrubber.value``."""
        return rewrite(value, lambda text: self.text(text, channel=channel))

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """See ``model.Scrubber.verify``."""
        self._know_session(meta)
        return Verification(self._searcher, self._emulator).run(meta, source)

    def report(self) -> ScrubReport:
        """See ``model.Scrubber.report``."""
        return self._tally.report(
            rules=[rule.name for rule in self._rules.rules],
            env_allowlist=self._env_allowlist,
            preserved=self._preserved,
        )


class _Channels(NamedTuple):
    """The channels of one pass."""

    text: OutputText
    cells: OutputCells
    typed: InputChannel
    service: Joined
    messages: Messages

    @classmethod
    def of(cls, meta: SessionMeta) -> _Channels:
        """Those of a session."""
        cells = OutputCells(meta.size)
        return cls(OutputText(), cells, InputChannel(), Joined(), Messages())


class _Found:
    """What a pass over a session finds: patches for each channel of bytes."""

    def __init__(self, searcher: Searcher, tally: Tally) -> None:
        self._searcher = searcher
        self.tally = tally
        self.output = Patches()
        self.input = Patches()
        self.service = Patches()
        self._printed = Trail(fast=searcher.fast, most_bytes=_MOST_PRINTED)
        self._trail = Trail(fast=searcher.fast)
        self._cells: OutputCells | None = None
        self._number = 0

    def look(self, meta: SessionMeta, source: EventSource) -> None:
        """The first pass. What rules find is looked for from there on."""
        channels = _Channels.of(meta)
        self._cells = channels.cells
        for number, event in enumerate(source()):
            self._number = number
            self._event(event, channels, by_rules=True)
            self._adopt()
        self._rest(channels, by_rules=True)
        self._trail.repeats = channels.cells.repeats

    def look_again(self, meta: SessionMeta, source: EventSource) -> None:
        """Sweep what came before a value was learnt, where that value may be.

        Most of the time goes into the screen: it is left out when only the print stream
        has anything to tell.
        """
        printed, rest = self._printed.again(), self._trail.again()
        until = max(-1 if at is None else at for at in (printed, rest))
        if until < 0:
            return
        channels = _Channels.of(meta)
        for number, event in enumerate(source()):
            if number > until:
                return
            if rest is not None and number <= rest:
                self._event(event, channels, by_rules=False)
            elif isinstance(event, Output):
                self._output(channels.text.feed(event.data), by_rules=False)
        self._rest(channels, by_rules=False, printed_only=rest is None)

    def _rest(self, channels: _Channels, *, by_rules: bool, printed_only: bool = False) -> None:
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

    def _adopt(self) -> bool:
        """Make known what was learnt; True when that was anything new."""
        new = self._searcher.adopt()
        if new:
            for trail in (self._printed, self._trail):
                trail.learn(self._number, new)
            if self._cells is not None:
                self._cells.forget()
        return bool(new)

    def _event(self, event: JournalEvent, channels: _Channels, *, by_rules: bool) -> None:
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
            searched: list[str] = []
            self._searcher.searched = searched if by_rules else None
            done: set[tuple[tuple[tuple[int, int], ...], str]] = set()
            self._search_view(channel, patches, view, done, by_rules=by_rules)
            self._searcher.searched = None
            if by_rules and self._adopt():
                self._search_view(channel, patches, view, done, by_rules=False)
            trail.add(self._number, searched)

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
        for match in self._searcher.search(view.text, by_rules=by_rules):
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
        new = False
        for number, (start, end) in enumerate(match.stretches):
            for place, (offset, data) in enumerate(view.patches(start, end, match.form)):
                added = patches.add(offset, data)
                new = new or (added and number == 0 and place == 0)
        return new

    def _in_one_string(self, view: View, match: Match) -> bool:
        """Whether a match lies in one string of one event, where it gets a placeholder."""
        runs = sum(1 for start, end in match.stretches for _ in view.pieces(start, end))
        return runs <= len(match.stretches) == 1


class _Group(msgspec.Struct):
    """Overlapping stretches, and what stands for them: the longest one's placeholder."""

    start: int
    end: int
    longest: int
    form: str
    placeholder: str
    rule: str


def _spliced(text: str, matches: list[Match]) -> tuple[str, list[str]]:
    """``text`` with placeholders for what stands plainly in it, masks for what is encoded.

    Also returns the rule of each replacement.
    """
    spans = sorted(
        (
            (start, end, number, match)
            for match in matches
            for number, (start, end) in enumerate(match.stretches)
        ),
        key=lambda span: span[:3],
    )
    groups: list[_Group] = []
    for start, end, number, match in spans:
        placeholder = "" if number else match.placeholder
        if not groups or start >= groups[-1].end:
            group = _Group(start, end, end - start, match.form, placeholder, match.rule)
            groups.append(group)
            continue
        group = groups[-1]
        if end - start > group.longest:
            group.longest, group.form = end - start, match.form
            group.placeholder, group.rule = placeholder, match.rule
        group.end = max(group.end, end)
    parts = []
    at = 0
    for group in groups:
        plain_there = group.form == TEXT and group.placeholder
        masked = mask(text[group.start : group.end], group.form)
        parts += [text[at : group.start], group.placeholder if plain_there else masked]
        at = group.end
    return "".join([*parts, text[at:]]), [group.rule for group in groups]
