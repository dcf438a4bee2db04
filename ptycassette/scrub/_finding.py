"""One pass over the events of a session, which turns every secret into patches.

Output is cut into blocks at fixed offsets, never where reads happened to end, so that the same
bytes give the same result however they were chunked. A block gives texts: the print stream, the
strings of control functions, the messages that JSON in it says, and what the screen showed that
none of these says. Each is searched by rules and for what is known; what rules find is known from
there on, and looked for in the texts of the same block again.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ptycassette.model.journal import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    TapeMoment,
    Traffic,
    Typed,
)
from ptycassette.model.ports import Secret
from ptycassette.model.streams import StreamKinds
from ptycassette.scrub._patches import Patches
from ptycassette.scrub.discover import begun_values, declared_values
from ptycassette.scrub.match import canonical
from ptycassette.scrub.tally import Tally

from .search._known import KnownValue, Lesson
from .search._learning import SearchedTexts
from .search._searcher import Match, Searcher
from .views._channels import BLOCK, Blocks
from .views._joined_lines import joined_lines
from .views._screen import ScreenReader, ScreenView, Seen
from .views._streams import FoundInBody, StreamText, StreamView, TrafficText
from .views._structured import Joined, members_of, strings_of
from .views._typed import input_views
from .views._view import View

SETTLED = BLOCK // 2
"""So many bytes before the end of the last block are not read again, but for what is learnt."""
_CACHE_KEY = re.compile(
    rb'"prompt_cache_key"\s*:\s*"([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"'
)
"""OpenAI's name of a prefix of prompts. Agents send the id of their session, which is no secret."""
_QUESTIONS, _QUESTIONS_BYTES = 4, 16 << 20
"""So many questions are kept: those of an agent and of its helpers, which the next ones repeat."""
_SHOWN = frozenset({"output", "input"})
"""Channels whose views are read as a terminal shows them."""
_OF_TERMINALS = frozenset({"terminal", "null", "device"})


class Found(NamedTuple):
    """A secret that was found: its channel and its rule, never its value."""

    channel: str
    rule: str


class Finder:
    """Searches the events of a session in order.

    Args:
        searcher: rules and known values; of this reader alone.
        meta: the head of the session.
        masks: where patches go, by channel; None to only look.
        tally: counts what is found.
        block: output is cut at multiples of so many bytes.
        seen: texts of the screen that need not be searched.
        traced: whether what is found on the screen leads back to its bytes.
        again: whether output and tape were read before, as they were recorded: only what is masked
            of them shows anything new.

    Attributes:
        screen: the emulator, right after the last event.
        found: secrets that are not masked yet: when each came first, in microseconds; how often.
        in_strings: the same for strings that are masked separately, when they are written.
        settled: how many bytes of output were searched completely.
    """

    def __init__(
        self,
        searcher: Searcher,
        meta: SessionMeta,
        *,
        masks: Mapping[str, Patches],
        tally: Tally,
        block: int = BLOCK,
        seen: Seen | None = None,
        traced: bool = True,
        again: bool = False,
    ) -> None:
        self._searcher = searcher
        self._masks = masks
        self._tally = tally
        streams = meta.streams or StreamKinds()
        apart = {"stdout": streams.stdout, "stderr": streams.stderr}
        self._apart = any(kind not in _OF_TERMINALS for kind in apart.values())
        self._reader = ScreenReader(meta.size, seen, traced=traced)
        terminal = StreamText(
            "terminal" if self._apart else "",
            block,
            screen=self._reader,
            wanted=masks["output"].touch if again else None,
        )
        self._streams: dict[str | None, StreamText] = {None: terminal}
        for name in (name for name, kind in apart.items() if kind not in _OF_TERMINALS):
            screen = ScreenReader(meta.size, seen, traced=traced, newline_mode=True)
            self._streams[name] = StreamText(name, block, screen=screen)
        self._stdin = None if streams.stdin == "terminal" else StreamText("stdin", block)
        self._sent = 0
        self._bodies: dict[str, TrafficText] = {}
        self._questions: deque[TrafficText] = deque(maxlen=_QUESTIONS)
        self._passed = 0
        self._again = again
        self._typed = Blocks(input_views)
        self._service = Joined()
        self._cols = meta.size.cols
        self._block = block
        self._fed = 0
        self._t_us = 0
        self._past = SearchedTexts()
        self._knew = searcher.known.version
        searcher.past = self._past
        self.screen = self._reader.emulator
        self.found: dict[Found, list[int]] = {}
        self.in_strings: dict[Found, list[int]] = {}
        self.settled = 0

    @property
    def blind(self) -> bool:
        """Whether the screen must be read again, by a reader that is ``traced``."""
        return any(one.screen is not None and one.screen.blind for one in self._streams.values())

    @property
    def clean(self) -> bool:
        """Whether nothing was found or learnt: the same events would be read in the same way."""
        learnt = self._searcher.known.version != self._knew
        return not (self.found or self.in_strings or learnt)

    def late(self) -> bool:
        """Whether a value was learnt that also occurs in text that was searched before.

        Takes as long as reading a tenth of that text, however many values were learnt.
        """
        return self._past.held()

    def take(self, event: JournalEvent) -> None:
        """Read one event."""
        self._t_us = max(self._t_us, event.t_us)
        match event:
            case Output():
                self._output(event)
            case Resized():
                self._reader.resize(event.size)
                self._cols = event.size.cols
            case Typed() if self._stdin is not None:
                for views in self._stdin.feed(event.data, self._sent):
                    self._search("input", views)
                self._sent += len(event.data)
            case Typed():
                self._search("input", self._typed.feed(event.data))
            case Traffic():
                self._traffic(event)
            case Noted():
                if isinstance(event, TapeMoment):
                    self._payload("tape", event.head, strings_of(event.head))
                    self._learn(event.dropped)
                strings = strings_of(event.payload)
                self._payload("service-events", event.payload, strings)
                if views := self._service.add(strings):
                    self._search("service-events", views)
            case Probed() | Finished():
                built = msgspec.to_builtins(event)
                self._payload("final", built, strings_of(built))
            case _:
                pass

    def know(self, secrets: Sequence[Secret]) -> None:
        """Search for values from now on, and for long ones also in the text read so far."""
        if not secrets:
            return
        short = [KnownValue(one.text, "declared", word=True) for one in secrets if one.whole]
        long = [one.text for one in secrets if not one.whole]
        rules = self._searcher.rules
        lesson = self._searcher.known.learn(declared_values(long, rules=rules))
        self._searcher.known.learn([*short, *begun_values(long, rules=rules)])
        self._reader.seen.forget()
        self._past.ask(lesson)

    def rest(self) -> None:
        """Read what is left at the end."""
        for stream in self._streams.values():
            self._search("output", stream.rest())
        self._search("input", self._typed.rest() if self._stdin is None else self._stdin.rest())
        self._search("service-events", self._service.rest())
        for body in self._bodies.values():
            self._read_body(body, [*body.rest()])
        self._bodies.clear()
        self.settled = self._fed

    def _output(self, event: Output) -> None:
        """Read output. What did not go to the terminal alone is settled at the end."""
        stream = self._streams.get(event.stream)
        if stream is None:  # of a stream that the head does not name
            name = event.stream or ""
            stream = self._streams[name] = StreamText(name, self._block)
        for views in stream.feed(event.data, self._fed):
            self._search("output", views)
        self._fed += len(event.data)
        if not self._apart:
            self.settled = max(self.settled, self._fed - self._fed % self._block - SETTLED)

    def _traffic(self, event: Traffic) -> None:
        """Read a piece of a body, which is searched apart from others."""
        for match in _CACHE_KEY.finditer(event.data):
            self._searcher.spare(match[1].decode())
        name = f"{event.side} {event.entry}"
        offset, self._passed = self._passed, self._passed + len(event.data)
        if self._again and name not in self._masks["tape"].names:
            return
        body = self._bodies.get(name)
        if body is None:
            earlier = self._questions if event.side == "question" else None
            body = self._bodies[name] = TrafficText(name, earlier)
        self._read_body(body, [*body.feed(event.data, offset)])
        if event.last:
            self._read_body(body, [*body.rest()])
            del self._bodies[name]
            if event.side == "question" and body.can_be_repeated:
                self._questions.append(body)
                while sum(one.length for one in self._questions) > _QUESTIONS_BYTES:
                    self._questions.popleft()

    def _read_body(self, body: TrafficText, views: Iterable[View]) -> None:
        """Search what is new in a body, after it has what was found in the part it repeats."""
        for one in body.repeated:
            self._take_in_body(body, one)
        body.repeated = []
        self._search("tape", views)

    def _learn(self, texts: Iterable[str]) -> None:
        """Learn from texts that are kept nowhere."""
        for text in texts:
            for _ in self._searcher.search(canonical(text)):
                pass
        self._adopt(())

    def _payload(self, channel: str, payload: Any, strings: Iterable[tuple[str, str]]) -> None:
        """Search the strings of one payload, each alone. They are masked when they are written."""
        for match in self._searcher.each(text for _, text in strings):
            self._note(self.in_strings, channel, match.rule)
        for names, item in members_of(payload):
            for match in self._searcher.search_member(names, item):
                self._note(self.in_strings, channel, match.rule)
        self._adopt(())

    def _search(self, channel: str, views: Iterable[View]) -> None:
        """Search texts; those that belong together come together.

        First all are searched by rules, then for what is known, with what the rules found. But
        the screen reader depends on what was found in its text before the iterator advances.
        """
        before = self._past.count
        searched: list[View] = []
        later: list[View] = []
        for view in views:
            searched.append(view)
            on_screen = isinstance(view, ScreenView)
            if on_screen:
                self._search_known(channel, later)
            else:
                later.append(view)
            for match in self._searcher.search(
                view.text,
                for_known=on_screen,
                source=(channel, view.kind),
                shown=channel in _SHOWN,
                borders=view.borders,
            ):
                self._take(channel, view, match)
            wraps = channel == "output" and not isinstance(view, StreamView)
            joined = joined_lines(view, self._cols) if wraps else None
            if joined is not None:
                for match in self._searcher.search_joined(joined):
                    self._take(channel, joined, match)
        self._search_known(channel, later)
        lesson = self._adopt(searched)
        while lesson is not None:
            self._past.ask(lesson, but_last=self._past.count - before)
            with self._searcher.knowing_only(lesson):
                for view in searched:
                    for match in self._search_again(channel, view, by_rules=False):
                        self._take(channel, view, match)
            lesson = self._adopt(searched)
        self._searcher.forget_texts()

    def _search_known(self, channel: str, views: list[View]) -> None:
        """Search texts, which were searched by rules, for what is known now; empties the list."""
        if not views:
            return
        lesson = self._adopt(views)
        if lesson is not None:
            self._past.ask(lesson)
        for view in views:
            for match in self._search_again(channel, view, by_rules=True):
                self._take(channel, view, match)
        views.clear()

    def _search_again(self, channel: str, view: View, *, by_rules: bool) -> Iterator[Match]:
        shown = channel in _SHOWN
        return self._searcher.search_again(view.text, shown=shown, by_rules=by_rules)

    def _adopt(self, searched: Iterable[View]) -> Lesson | None:
        """Search for what was learnt from now on; None when nothing was."""
        lesson = self._searcher.adopt()
        if lesson is not None:
            self._reader.seen.forget()
            if not searched:
                self._past.ask(lesson)
        return lesson

    def _take(self, channel: str, view: View, match: Match) -> None:
        """Turn a match into patches."""
        one = channel == "service-events" and len(match.stretches) == 1
        if one and len([*view.pieces(*match.stretches[0])]) <= 1:
            return  # in one string of one event: it gets a placeholder when it is written
        length = sum(end - start for start, end in match.stretches)
        if isinstance(view, StreamView) and view.name in self._bodies:
            within = view.within(match.stretches, match.form)
            found = FoundInBody(within, match.rule, match.form, length)
            self._take_in_body(self._bodies[view.name], found)
            return
        if not self._masks[channel].cover(view.masks(match.stretches, match.form)):
            return
        self._note(self.found, channel, match.rule)
        where = view.offset(*match.stretches[0]) if self._tally.explains else None
        self._tally.count(channel, match.rule, form=match.form, offset=where, length=length)

    def _take_in_body(self, body: TrafficText, one: FoundInBody) -> None:
        """Turn what was found in a body of the tape into patches."""
        body.found.append(one)
        placed = [*body.placed(one.patches)]
        if not self._masks["tape"].cover(placed):
            return
        self._masks["tape"].names.add(body.name)
        self._note(self.found, "tape", one.rule)
        where = next((offset for offset, _ in placed), None) if self._tally.explains else None
        self._tally.count("tape", one.rule, form=one.form, offset=where, length=one.length)

    def _note(self, where: dict[Found, list[int]], channel: str, rule: str) -> None:
        where.setdefault(Found(channel, rule), [self._t_us, 0])[1] += 1

    def lines(self) -> tuple[str, ...]:
        """The findings for people: channel, time and rule, never the value."""
        lines = []
        for found in sorted({*self.in_strings, *self.found}):
            notes = [notes[found] for notes in (self.found, self.in_strings) if found in notes]
            number = sum(times for _, times in notes)
            times = "once" if number == 1 else f"{number} times"
            at_ms = notes[0][0] // 1000
            lines.append(f"{found.channel}: {at_ms} ms: rule {found.rule} matches ({times})")
        return tuple(lines)
