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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, tee, zip_longest
from typing import Any

import msgspec

from ptycassette.model.ports import EventSource, ScrubStep, SecretWatch
from ptycassette.model.records import (
    Finished,
    HeadSecret,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    ScrubReport,
    SessionMeta,
    Traffic,
    Typed,
    storable_text,
)
from ptycassette.scrub._finding import (
    Finder,
    NamedFolders,
    declared_values,
    environment_values,
    identity_values,
)
from ptycassette.scrub.match import canonical
from ptycassette.scrub.placeholders import (
    Patches,
    Placeholders,
    Replacement,
    Tally,
    scrubbed_traffic,
)
from ptycassette.scrub.rules.rule_set import Rule, RuleSet, default_rules
from ptycassette.scrub.search.known import KnownValue, KnownValues, Learner, Searcher
from ptycassette.scrub.views.structured import BLOCK, strings_of
from ptycassette.scrub.views.view import Seen

# The two readers of a session, and when each starts again.


_MOST_PASSES = 6
"""So often is everything read again because the verification found more; then it is refused."""

_LOOKS = 2
"""Before it is asked again whether values came late, so much more was read: half as much again."""
_OF_AN_EVENT = 64
"""An event without bytes counts as so many."""

NewReader = Callable[[bool], Finder]
"""Makes a reader; whether what it finds on the screen leads back to its bytes, which takes time."""


class Passes:
    """Runs both readers over a session until no secret is left in its output.

    Args:
        source: the events.
        first: makes a reader of the recorded events.
        second: makes a reader of the masked events.
        patches: the parts of the output to mask; both kinds of reader add to it.
        watch: sees the events of the first reader, and finds typed secrets.
        typed_at_screen: whether it sees screens as well.

    Attributes:
        left: the reader that still found secrets in the last pass; None when no secret is left.
        clean: whether one reader saw all events, found nothing, and learnt nothing meanwhile.
            Then another one would read the same events in the same way.
    """

    def __init__(
        self,
        source: EventSource,
        *,
        first: NewReader,
        second: NewReader,
        patches: Patches,
        watch: SecretWatch | None = None,
        typed_at_screen: bool = True,
    ) -> None:
        self._typed_at_screen = typed_at_screen
        self._source = source
        self._new_first = first
        self._new_second = second
        self._patches = patches
        self._watch = watch
        self.left: Finder | None = None
        self.clean = False

    def run(self) -> Iterator[ScrubStep | None]:
        """See ``StepScrubber.steps``."""
        second: _Second | None = None
        first, events = self._begin(traced=False)
        fed = begun = looked = 0
        traced = restarted = False
        while True:
            item = next(events, None)
            if item is None:
                if self._watch is not None:
                    first.know(self._watch.ended())
                first.rest()
            else:
                first.take(item[0])
                if self._watch is not None:
                    screen = first.screen if self._typed_at_screen else None
                    first.know(self._watch.saw(item[0], screen))
                fed += len(item[0].data) if isinstance(item[0], Output | Traffic) else _OF_AN_EVENT
            # A value known now may be in text that was read before. Do not restart at each value:
            # of many late values, most are known after twice as much text, or all of it.
            late = False
            if item is None or fed >= max(2 * begun, looked + looked // _LOOKS):
                looked, late = fed, first.late()
            if late or (first.blind and not traced):
                if second is None:
                    yield None
                traced = traced or first.blind
                begun, fed, looked, restarted = fed, 0, 0, True
                first, events = self._begin(traced=traced)
                continue
            if second is None and len(self._patches):
                yield None
                second = _Second(self._source, self._new_second, self._patches)
            if second is not None:
                yield from second.follow(first.settled, last=item is None)
            elif item is not None:
                yield ScrubStep(*item, first.screen)
            if item is None:
                self.left = second.left if second is not None else None
                self.clean = second is None and not restarted and first.clean
                return

    def _begin(
        self, *, traced: bool
    ) -> tuple[Finder, Iterator[tuple[JournalEvent, JournalEvent | None]]]:
        if self._watch is not None:
            self._watch.begin()
        return self._new_first(traced), _with_following(self._source())


class _Second:
    """The second reader, over masked bytes: exactly the bytes that are written."""

    def __init__(self, source: EventSource, new: NewReader, patches: Patches) -> None:
        self._source, self._new, self._patches = source, new, patches
        self._tries = 0
        self._traced = False
        self.left: Finder | None = None
        self._begin()

    def _begin(self) -> None:
        self._patches.lowest = None
        self._reader = self._new(self._traced)
        self._events = _with_following(self._source())
        self._held: tuple[JournalEvent, JournalEvent | None] | None = None
        self._fed = 0

    def follow(self, settled: int, *, last: bool) -> Iterator[ScrubStep | None]:
        """Read as far as the first reader has finished."""
        while True:
            if self._void() and self._may_try_again():
                yield None
                self._begin()
            if self._held is None:
                self._held = next(self._events, None)
            if self._held is None:
                self._reader.rest()
                if not (self._void() and self._may_try_again()):
                    return
                yield None
                self._begin()
                continue
            event, following = self._held
            if isinstance(event, Output):
                if not last and self._fed + len(event.data) > settled:
                    return
                data = self._patches.apply(event.data, self._fed)
                self._fed += len(data)
                event = msgspec.structs.replace(event, data=data)
            self._held = None
            if isinstance(event, Output | Resized):
                self._reader.take(event)
            yield ScrubStep(event, following, self._reader.screen)

    def _void(self) -> bool:
        """Whether an event that was already handed out must be masked after all."""
        lowest, self._patches.lowest = self._patches.lowest, None
        masked_since = lowest is not None and lowest < self._fed
        blind = self._reader.blind and not self._traced
        return bool(self._reader.found) or self._reader.late() or masked_since or blind

    def _may_try_again(self) -> bool:
        """Whether another pass is allowed. Only passes forced by this reader's own finds count."""
        self._traced = self._traced or self._reader.blind
        if self._reader.found or self._reader.late():
            if self._tries == _MOST_PASSES:
                self.left = self._reader
            self._tries += 1
        return self.left is None


def _with_following(
    events: Iterator[JournalEvent],
) -> Iterator[tuple[JournalEvent, JournalEvent | None]]:
    """Each event with the one after it, None after the last."""
    one, following = tee(events)
    next(following, None)
    return zip_longest(one, following)


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
        """Learn from arguments, each also as the value of the option before it."""
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
            # Elsewhere no user types, and no prompt is on a screen.
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
        """A reader of the session; with its own ``masks`` it only looks."""
        where, tally = (self._masks, self._tally) if masks is None else (masks, Tally())
        return Finder(self._searcher.another(), meta, masks=where, tally=tally, **options)

    @property
    def left(self) -> tuple[str, ...]:
        """See ``model.StepScrubber.left``."""
        return self._left

    def check(self, texts: Any, *, channel: str = "manifest", t_us: int | None = None) -> None:
        """See ``model.StepScrubber.check``; ``t_us`` is None for texts without a time."""
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

        Values learnt here are also removed from the events of the session if ``events`` is called
        later, and the other way round.
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
        """The secrets in the strings of a JSON value that would be replaced, in their order."""
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
        known: secret values; each is removed wherever it occurs, also encoded, coloured, wrapped or
            typed; of a value that looks generated, pieces are removed as well.
        volatile: also scrub clocks, PIDs, durations, sockets and temporary files.
        values: further known values, with their own names in the report.
        rules: further rules.
        preserved: values that are not scrubbed, on purpose; the report names them.
        without: names of rules that are not applied.

    Raises:
        ValueError: a known value is too short to distinguish from ordinary text, or the pattern of
            a further rule is not a regular expression.
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
