"""The scrubber of one session: passes over its events, learns, then replaces.

The first pass searches all channels by rules and known values. When rules
found values, a second pass sweeps all channels for them and their pieces. The
last pass writes the patches over the bytes as they stream by. Memory holds
one block of each channel, the values and the patches, never the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

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
    ScrubReport,
    SessionMeta,
    Typed,
)
from ptycassette.screen import default_emulator
from ptycassette.scrub.canonical import canonical, plain
from ptycassette.scrub.discover import declared_values, environment_values, identity_values
from ptycassette.scrub.finding import Finder
from ptycassette.scrub.frames import scrubbed_rows
from ptycassette.scrub.garbage import collecting_seldom
from ptycassette.scrub.known import KnownValue, KnownValues
from ptycassette.scrub.patches import Patches
from ptycassette.scrub.rules import RuleSet
from ptycassette.scrub.search import Searcher
from ptycassette.scrub.splicing import spliced
from ptycassette.scrub.structured import rewrite, strings_of
from ptycassette.scrub.tally import Replacement, Tally
from ptycassette.scrub.traffic import TrafficChannel
from ptycassette.scrub.verify import Verification
from ptycassette.scrub.whole_json import whole_json

__all__ = ["SessionScrubber"]


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
        found = Finder(self._searcher, self._tally)
        with collecting_seldom():
            found.look(meta, source)
            found.look_again(meta, source)
        yield from self._replace(source, found)

    def traffic(self, chunks: Sequence[bytes]) -> list[bytes]:
        """Provider traffic, scrubbed: as many chunks, each as long as it was; JSON stays JSON.

        What is learnt here is removed from the events of the session too, and the other
        way round, when ``events`` comes after.
        """
        patches = Patches()
        found = Finder(self._searcher, self._tally)
        for by_rules in (True, False):
            channel = TrafficChannel()
            views = chain.from_iterable([*map(channel.feed, chunks), channel.rest()])
            found.search("provider", patches, views, by_rules=by_rules)
        if not len(patches):
            return list(chunks)
        whole = b"".join(chunks)
        masked = patches.apply(whole, 0).decode("latin-1")
        scrubbed = whole_json(whole.decode("latin-1"), masked).encode("latin-1")
        ends = [*accumulate(map(len, chunks), initial=0)]
        return [scrubbed[start:end] for start, end in pairwise(ends)]

    def _replace(self, source: EventSource, found: Finder) -> Iterator[JournalEvent]:
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

    def _payload(self, payload: Any, found: Finder, offset: int) -> Any:
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
        masked, rules = spliced(text, matches)
        for rule in rules:
            self._tally.count(channel, rule)
        return plain(masked)

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
        with collecting_seldom():
            return Verification(self._searcher, self._emulator).run(meta, source)

    def report(self) -> ScrubReport:
        """See ``model.Scrubber.report``."""
        return self._tally.report(
            rules=[rule.name for rule in self._rules.rules],
            env_allowlist=self._env_allowlist,
            preserved=self._preserved,
        )
