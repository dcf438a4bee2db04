"""What the driver types, compared with the recorded entries, key by key."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ptycassette.keys.reader import Key
from ptycassette.model.events import Event
from ptycassette.replaying.standin._input import SIGNAL_KEYS
from ptycassette.replaying.standin._state import RunState
from ptycassette.timeline.entry_matcher import EntryMatcher
from ptycassette.timeline.match_entries import Entry


class InputComparison:
    """Compares entries.

    Attributes:
        upcoming: the entries that are still to be sent, in the order in which they
            are expected; the first may have begun.
        preferred: another entry that the keys turned out to belong to, if another order is
            allowed. The engine then reorders the events and calls ``reorder``.
    """

    def __init__(self, state: RunState, entries: Sequence[Entry]) -> None:
        self.upcoming = deque(entries)
        self.preferred: EntryMatcher | None = None
        self._state = state
        self._matcher: EntryMatcher | None = None
        self._fed: list[Key] = []
        self._pipe_ended = False
        self._movable: frozenset[int] = frozenset()

    def allow_other_order(self, movable: frozenset[int]) -> None:
        """Let the entries with these numbers be sent before others that were recorded earlier."""
        self._movable = movable

    def pipe_ended(self) -> None:
        """Note the end of a pipe, which counts as each Ctrl-D that was recorded at its end."""
        self._pipe_ended = True

    @property
    def current(self) -> EntryMatcher | None:
        """The matcher of the next entry; None after the last."""
        if self._matcher is None and self.upcoming:
            self._matcher = self._state.matcher(self.upcoming[0])
        return self._matcher

    @property
    def wanted(self) -> bytes | None:
        """The bytes of the recorded key that comes next."""
        matcher = self.current
        step = matcher.waiting if matcher else None
        return step.key.raw if step else None

    def arrived(self, event: Event, now_us: int) -> tuple[bool, int | None]:
        """Whether the record's keys were sent; else the time until which only a key can decide."""
        while True:
            matcher = self.current
            step = matcher.waiting if matcher else None
            if matcher is None or step is None or step.seq != event.seq:
                return True, None
            key = self._next_key(matcher)
            if key is None:
                return self._quiet(matcher, now_us)
            matcher.feed(key)
            self._fed.append(key)
            self._judge(matcher, now_us)
            if self._state.finished is not None or self.preferred is not None:
                return False, None

    def reorder(self, upcoming: Sequence[Entry], matcher: EntryMatcher, now_us: int) -> None:
        """Expect ``upcoming``; ``matcher`` has taken the keys of the first of them."""
        self.upcoming = deque(upcoming)
        self._matcher, self.preferred = matcher, None
        self._judge(matcher, now_us)

    def give_up(self) -> None:
        """Stop waiting for the next entry."""
        self._next()

    def settled(self, now_us: int) -> bool:
        """Whether what came is all of the next entry, as no more comes."""
        matcher = self.current
        if matcher is None or not matcher.raw:
            return False
        matcher.settle()
        if matcher.state == "matched":
            self._judge(matcher, now_us)
        return matcher.state == "matched"

    def _next(self) -> None:
        self.upcoming.popleft()
        self._matcher = None
        self._fed = []

    def mismatch_ahead(self) -> EntryMatcher | None:
        """The matcher of the entry that the waiting keys can no longer match; None if they may.

        Known before the recording reaches the entry, except where the order is loose, or a
        signal may stand for a key.
        """
        waiting = list(self._state.driver.keys)
        names = {name for name, _ in SIGNAL_KEYS.values()}
        if self._movable or self._state.driver.signals or any(k.name in names for k in waiting):
            return None
        keys = iter([*self._fed, *waiting])
        for entry in self.upcoming:
            matcher = self._state.matcher(entry)
            for key in keys:
                matcher.feed(key)
                if matcher.state != "open":
                    break
            if matcher.state != "matched":
                return matcher if matcher.state == "mismatch" else None
        return None

    # -- one key -------------------------------------------------------------------

    def _next_key(self, matcher: EntryMatcher) -> Key | None:
        driver = self._state.driver
        if driver.keys:
            return driver.keys.popleft()
        if matcher.strategy == "exact":
            return None
        if driver.signals:
            named = SIGNAL_KEYS.get(driver.signals[0])
            if named and named[0] == matcher.entry.action:
                driver.signals.popleft()
                return Key("key", named[1], name=named[0])
        if self._pipe_ended and matcher.entry.action == "ctrl-d":
            return Key("key", b"\x04", name="ctrl-d")
        return None

    def _quiet(self, matcher: EntryMatcher, now_us: int) -> tuple[bool, int | None]:
        if self._movable and matcher.astray:
            self.preferred = self._other(matcher)
            if self.preferred is not None:
                return False, None
        patience = matcher.patience_us
        if patience is None:
            return False, None
        until = self._state.driver.last_us + patience
        if now_us < until and not self._state.driver.ended:
            return False, until
        matcher.settle()
        self._judge(matcher, now_us)
        return self._matcher is None and self._state.finished is None, None

    # -- a whole entry ---------------------------------------------------------------

    def _judge(self, matcher: EntryMatcher, now_us: int) -> None:
        """Remove the entry once its comparison is decided."""
        state = self._state
        if matcher.state == "open":
            return
        if matcher.state == "mismatch":
            self.preferred = self._other(matcher)
            if self.preferred is not None:
                return
            state.findings.changed(matcher)
            state.stop_if_strict()
            matcher.satisfied = len(matcher.entry.steps)
            self._drop_line(matcher)
        else:
            if matcher.line_feed_for_return:
                state.notes.append(
                    f"input {matcher.entry.number}: a line feed was sent where a return was "
                    "recorded; programs in raw mode may tell them apart (compare with 'exact')"
                )
            if matcher.unchecked:
                state.notes.append(
                    f"input {matcher.entry.number}: a secret was typed there and masked, and could "
                    "be guessed from a digest, so that what was sent was not compared"
                )
            self._check_timing(matcher.entry, now_us)
        self._next()

    def _other(self, matcher: EntryMatcher) -> EntryMatcher | None:
        """Another entry that the keys so far match or begin; None if reordering is not allowed."""
        if matcher.entry.number not in self._movable:
            return None
        for entry in list(self.upcoming)[1:]:
            if entry.number not in self._movable:
                continue
            other = self._state.matcher(entry)
            for number, key in enumerate(self._fed, 1):
                other.feed(key)
                if other.state != "open" and number < len(self._fed):
                    break
            else:
                begun = other.state == "open" and other.satisfied > 0
                if other.state == "matched" or begun:
                    return other
        return None

    def _drop_line(self, matcher: EntryMatcher) -> None:
        """Drop the rest of a line that diverged, so that one mistake is one divergence."""
        keys = self._state.driver.keys
        while not matcher.action and matcher.entry.action and keys:
            key = keys.popleft()
            if key.kind == "key" and key.name == matcher.entry.action:
                return

    def _check_timing(self, entry: Entry, now_us: int) -> None:
        state = self._state
        tolerance = state.options.timing_tolerance_us
        last = state.findings.last
        if tolerance is None or state.options.mode == "collapsed" or last is None or self._movable:
            return
        recorded = round((entry.last_t_us - last.t_us) * state.options.scale)
        took = now_us - state.last_us
        if abs(took - recorded) > tolerance:
            state.findings.timing(entry, recorded, took, tolerance)
            state.stop_if_strict()
