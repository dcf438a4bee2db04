"""The scrubber of one session: it finds secrets, masks them, and verifies the masked session.

Two readers go over the events. The first one reads them as they were recorded and finds secrets.
As long as it finds none, the events are written as they are, and its screens become the frames.
As soon as it finds one, a second reader follows it over the masked bytes. That one makes the
frames, and it is the verification: it must find nothing. If it does, that is masked too, and
everything is read once more. If a value is learnt late and occurs in text that was read before,
the first reader starts again with that value known. Both readers keep up with a session that is
still being recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from ptycassette.model.journal import (
    Finished,
    HeadSecret,
    JournalEvent,
    Noted,
    Output,
    Probed,
    SessionMeta,
    Traffic,
    Typed,
)
from ptycassette.model.json_values import storable_text
from ptycassette.model.ports import EventSource, ScrubStep, SecretWatch
from ptycassette.model.records import ScrubReport
from ptycassette.scrub._finding import Finder
from ptycassette.scrub._passes import Passes
from ptycassette.scrub._patches import Patches
from ptycassette.scrub._placeholders import Placeholders
from ptycassette.scrub._traffic import scrubbed_traffic
from ptycassette.scrub.discover import (
    NamedFolders,
    declared_values,
    environment_values,
    identity_values,
)
from ptycassette.scrub.match import canonical
from ptycassette.scrub.tally import Replacement, Tally

from .rules._load import default_rules
from .rules._rule_set import Rule, RuleSet
from .search._known import KnownValue, KnownValues
from .search._learning import Learner
from .search._searcher import Searcher
from .views._channels import BLOCK
from .views._screen import Seen
from .views._structured import strings_of

_CHANNELS = ("output", "input", "service-events", "final", "tape")
_VERIFIED = BLOCK - (BLOCK >> 2)
"""The second reader cuts output elsewhere than the first one: nothing hides on the cuts of both."""
_MOST_TRIES = 4


class SessionScrubber:
    """A ``model.Scrubber``. One object per session.

    Args:
        rules: what to look for by shape.
        known: values declared secret by the caller.
        values: further known values, found in files of the harness.
        preserved: values that stay, on purpose.
    """

    def __init__(
        self,
        *,
        rules: RuleSet,
        known: Iterable[str] = (),
        values: Iterable[KnownValue] = (),
        preserved: Iterable[str] = (),
    ) -> None:
        self._rules = rules
        self._preserved = tuple(preserved)
        self._searcher = Searcher(
            rules=rules, known=KnownValues(), learner=Learner(preserved=self._preserved)
        )
        self._tally = Tally()
        self._env_allowlist: tuple[str, ...] = ()
        self._folders: NamedFolders | None = None
        self._masks = {name: Patches() for name in _CHANNELS}
        self._left: tuple[str, ...] = ()
        self._placeholders = Placeholders(self._searcher, self._tally)
        self._know([*declared_values(known, rules=rules), *values])

    def _know(self, values: Iterable[KnownValue]) -> None:
        for value in values:
            if value.text not in self._preserved:
                self._searcher.known.add(value)

    def _know_session(self, meta: SessionMeta) -> None:
        """Learn the secrets in the head of a session."""
        self._env_allowlist = tuple(map(storable_text, meta.env_allowlist))
        self._know(
            environment_values(
                meta.environment, allowlist=meta.env_allowlist, rules=self._searcher.rules
            )
        )
        self._know(identity_values(meta))
        self._placeholders.counts = False
        self._folders = NamedFolders(meta, self._placeholders.text)
        self._placeholders.counts = True
        self._know_argv(meta.argv)

    def _know_argv(self, argv: Sequence[str]) -> None:
        """Learn from arguments, each also behind the option before it."""
        behind = (f"{one} {word}" for one, word in pairwise(argv) if one.startswith("-"))
        for text in (*argv, *behind):
            for _ in self._searcher.search(canonical(text)):
                pass
        self._searcher.adopt()

    # -- the events -----------------------------------------------------------------------

    def steps(
        self, meta: SessionMeta, source: EventSource, watch: SecretWatch | None = None
    ) -> Iterator[ScrubStep | None]:
        """See ``model.StepScrubber.steps``."""
        self._know_session(meta)
        seen = Seen()
        passes = Passes(
            source,
            first=lambda traced: self._reader(meta, seen=seen, traced=traced),
            second=lambda traced: self._reader(
                meta, block=_VERIFIED, seen=seen, traced=traced, again=True
            ),
            patches=self._masks["output"],
            watch=watch,
            # Elsewhere nobody types, and nothing is asked for on a screen.
            typed_at_screen=meta.streams is None or meta.streams.stdin == "terminal",
        )
        yield from passes.run()
        if passes.left is not None:
            self._left += passes.left.lines()
        if not passes.clean:
            self._settle(meta, source)

    def _settle(self, meta: SessionMeta, source: EventSource) -> None:
        """Read everything but the output, masked, until no secret is left in it."""
        self._placeholders.counts = False
        for _ in range(_MOST_TRIES):
            reader = self._reader(meta, again=True)
            for event in self.rest(source):
                reader.take(event)
            reader.rest()
            if not (reader.found or reader.in_strings):
                break
        else:
            self._left += reader.lines()
        self._placeholders.counts = True

    def _reader(
        self, meta: SessionMeta, *, masks: Mapping[str, Patches] | None = None, **options: Any
    ) -> Finder:
        """A reader of the session; with ``masks`` of its own it only looks."""
        where, tally = (self._masks, self._tally) if masks is None else (masks, Tally())
        return Finder(self._searcher.another(), meta, masks=where, tally=tally, **options)

    @property
    def left(self) -> tuple[str, ...]:
        """See ``model.StepScrubber.left``."""
        return self._left

    def check(self, texts: Any, *, channel: str = "manifest", t_us: int | None = None) -> None:
        """See ``model.StepScrubber.check``; ``t_us`` is None for what has no time."""
        place = channel if t_us is None else f"{channel}: {t_us // 1000} ms"
        for _, text in strings_of(texts):
            for rule in self.look(text):
                self._left += (f"{place}: rule {rule} matches",)

    def rest(self, source: EventSource) -> Iterator[JournalEvent]:
        """See ``model.StepScrubber.rest``."""
        return self.masked(source, output=False)

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:
        """See ``model.Scrubber.events``. Nothing is given before everything was read."""
        for _ in self.steps(meta, source):
            pass
        yield from self.masked(source)

    def masked(self, source: EventSource, *, output: bool = True) -> Iterator[JournalEvent]:
        """All events, or all but the ``output``, masked, after ``steps`` has ended."""
        shown = typed = service = passed = 0
        for event in source():
            match event:
                case Output():
                    if output:
                        data = self._masks["output"].apply(event.data, shown)
                        shown += len(data)
                        yield msgspec.structs.replace(event, data=data)
                case Typed():
                    data = self._masks["input"].apply(event.data, typed)
                    typed += len(event.data)
                    key = event.key if data == event.data else None
                    if key is not None:
                        key = self.text(key, channel="input")
                    yield msgspec.structs.replace(event, data=data, key=key)
                case Traffic():
                    data = self._masks["tape"].apply(event.data, passed)
                    passed += len(data)
                    yield msgspec.structs.replace(event, data=data, unscrubbed=event.data)
                case Noted():
                    noted, service = self._placeholders.noted(
                        event, self._masks["service-events"], service
                    )
                    yield noted
                case Probed():
                    yield self._placeholders.probed(event)
                case Finished():
                    yield self._placeholders.finished(event)
                case _:
                    yield event

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """See ``model.Scrubber.verify``."""
        self._know_session(meta)
        reader = self._reader(meta, block=_VERIFIED, masks={name: Patches() for name in _CHANNELS})
        for event in source():
            reader.take(event)
        reader.rest()
        return reader.lines()

    def traffic(self, chunks: Sequence[bytes]) -> list[bytes]:
        """Provider traffic, scrubbed: as many chunks, each as long as it was; JSON stays JSON.

        What is learnt here is also removed from the events of the session, if ``events`` is
        called later, and the other way round.
        """
        return scrubbed_traffic(self._searcher, self._tally, chunks)

    # -- single texts ---------------------------------------------------------------------

    def text(self, value: str, *, channel: str) -> str:
        """See ``model.Scrubber.text``. Arguments name their folders, whatever these are called."""
        text = self._placeholders.text(value, channel=channel)
        if channel == "argv" and self._folders is not None and value != self._folders.program:
            text, rules = self._folders.named(text)
            for rule in rules:
                self._tally.count(channel, rule)
        return text

    def head(self, head: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[HeadSecret, ...]]:
        """The head of a question (see ``TapeEntry``), scrubbed, and the secrets in it."""
        return self._placeholders.head(head)

    def rows(self, rows: tuple[str, ...]) -> tuple[str, ...]:
        """The rows of a frame that another emulator made, masked cell for cell."""
        return self._placeholders.rows(rows)

    def look(self, text: str) -> tuple[str, ...]:
        """Names of the rules that find something in ``text``."""
        return tuple(sorted({match.rule for match in self._searcher.search(canonical(text))}))

    def value(self, value: Any, *, channel: str) -> Any:
        """See ``model.Scrubber.value``."""
        return self._placeholders.value(value, channel=channel)

    def secrets(self, value: Any) -> list[str]:
        """What would be replaced in the strings of a JSON value, in their order."""
        return self._placeholders.secrets(value)

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """The replacements for people: places and rules, no values. At most some thousands."""
        return tuple(self._tally.replacements)

    def report(self) -> ScrubReport:
        """See ``model.Scrubber.report``."""
        return self._tally.report(
            rules=[rule.name for rule in self._rules.rules],
            env_allowlist=self._env_allowlist,
            preserved=self._preserved,
        )


_rule_set = lru_cache(maxsize=8)(RuleSet)
"""A rule set, shared by all scrubbers that use the same rules."""


def default_scrubber(
    *,
    known: Iterable[str] = (),
    volatile: bool = False,
    values: Iterable[KnownValue] = (),
    rules: Iterable[Rule] = (),
    preserved: Iterable[str] = (),
    without: Iterable[str] = (),
) -> SessionScrubber:
    """A scrubber for one session, with the built-in rules.

    Args:
        known: values that are secret; each is removed wherever it, or (when it looks
            generated) a piece of it, occurs, also encoded, coloured, wrapped or typed.
        volatile: also scrub clocks, PIDs, durations, sockets and temporary files.
        values: further known values, with names of their own in the report.
        rules: further rules.
        preserved: values that are not scrubbed, on purpose; the report names them.
        without: names of rules that are not applied.

    Raises:
        ValueError: a known value is too short to be told apart from ordinary text, or the
            pattern of a further rule is no regular expression.
    """
    unwanted = frozenset(without)
    further = tuple(rules)
    for rule in further:
        rule.check()
    applied = tuple(
        rule for rule in (*default_rules(volatile=volatile), *further) if rule.name not in unwanted
    )
    return SessionScrubber(
        rules=_rule_set(applied),
        known=known,
        values=values,
        preserved=preserved,
    )
