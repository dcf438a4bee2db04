"""The two readers of a session, and when each starts anew. See ``ptycassette.scrub.session``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import tee, zip_longest

import msgspec

from ptycassette.model.journal import JournalEvent, Output, Resized, Traffic
from ptycassette.model.ports import EventSource, ScrubStep, SecretWatch
from ptycassette.scrub._finding import Finder
from ptycassette.scrub._patches import Patches

_MOST_TRIES = 6
"""So often is everything read again because the verification found more; then it is refused."""

_LOOKS = 4
"""Before it is asked again whether values came late, so much more was read: a fourth."""
_OF_AN_EVENT = 64
"""An event without bytes counts as so many."""

NewReader = Callable[[bool], Finder]
"""Makes a reader; whether what it finds on the screen leads back to its bytes, which takes time."""


class Passes:
    """Runs both readers over a session until no secret is left in its output.

    Args:
        source: the events.
        first: makes a reader of the events as they were recorded.
        second: makes a reader of what is masked.
        patches: what is to be masked of the output; both kinds of reader add to it.
        watch: sees what the first reader reads, and says what is secret.
        typed_at_screen: whether it sees screens, too.

    Attributes:
        left: the reader that still found something each time; None when no secret is left.
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
            # What is known now was in what was read before. Not at each value: of many that
            # come late most are known when twice as much was read, or all of it.
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
    """The second reader, over masked bytes. What it reads is what is written."""

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
            if self._tries == _MOST_TRIES:
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
