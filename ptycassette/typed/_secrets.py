"""The secrets that were typed in a session, learnt from the events of its journal.

One place for every way of recording, and for ``recover``: whatever was sent to a program is a
``Typed`` event in the journal, with its real bytes. What counts as secret:

``unseen``  the event is ``masked``: the terminal did not echo (ECHO off, ICANON on, as password
            prompts do it), or whoever sent it said so. Also the line that was typed ahead for
            such a prompt, where only the end of the input came while it waited.
``asked``   it was typed where the screen asks for a secret by name (``secret_prompts``): left of
            the cursor, as a placeholder right of it, or in the nearest row above with text.
            Also a line that was typed ahead, before such a prompt appeared (``_ahead``).
``hidden``  what appeared in its place was only ``*``, bullets or dots; or the program printed as
            many of them as characters were sent, before it printed the text itself, if ever.
``silent``  nothing appeared, although the program had shown what was typed before: at a prompt,
            one word, for a third of a second or longer, until Enter came by itself. Also where
            the program took the line, and ticked off its question (``? X`` is now ``✔ X``) or
            left the screen with the box in which it was typed.

A line is read in several ways, because nobody knows which keys the program obeys: as typed,
with rubout and kill keys applied, with cursor keys applied, and as it stood each time before
something was removed. All readings are secrets.

Short secrets. Five characters and fewer (a PIN) are also ordinary text: such a secret is
``whole``. It is to be removed only where no letter or digit touches it, and only from the event
``since`` on, in which typing it began; a log that showed 1234 before keeps it. Longer ones are
to be removed everywhere, in pieces too where they look generated. One or two characters are
not returned at all: removing them would destroy the recording and hide nothing. Their input
is masked all the same.

Feed every event, in the order of the journal. No I/O, no clock: times are those of the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from ptycassette.model.journal import JournalEvent, Output, Typed
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.typed._ahead import TypedAhead
from ptycassette.typed._at_cursor import AtCursor
from ptycassette.typed._fields import Field, How
from ptycassette.typed._readings import readings, text_of_line
from ptycassette.typed._signs import begun

__all__ = ["How", "LookAtScreen", "TypedSecret", "TypedSecrets"]

_LONGEST_WHOLE = 5
_MOST_LINE_BYTES = 4 << 10
_MOST_FIELDS = 3  # of one piece, besides the last one
_TAIL_BYTES = 1 << 10
_OUTPUTS_LOOKED_AT = 64  # a sign may come by itself

# Enter, ctrl-c, ctrl-d, ctrl-z, ctrl-\: what ends a line of the line discipline.
_LINE_ENDS = lazy_pattern(rb"[\r\n\x03\x04\x1a\x1c]")
# Enter, Tab, ctrl-c, Up, Down: what leaves a field that a program paints.
_FIELD_ENDS = lazy_pattern(rb"[\r\n\t\x03]|\x1b(?:\[|O)[AB]")
_ESCAPE = b"\x1b"
_ENTER = frozenset({b"\r", b"\n", b"\r\n"})

LookAtScreen = Callable[[], AtCursor]
"""The screen with all output before the event. Asked only where it is needed."""


class TypedSecret(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of something secret that was typed.

    Attributes:
        text: the value.
        how: why it is secret; see above.
        whole: too short to be removed inside of other words, or before it was typed.
        since: the number of the event in which typing it began, counted from 0 over all events.
    """

    text: str
    how: How
    whole: bool
    since: int


class TypedSecrets:
    """Learns what was typed in one session.

    Attributes:
        hidden: the numbers of the events, counted from 0, of which the bytes are secret although
            they are not ``masked``: they are to be hidden as if they were.
    """

    def __init__(self) -> None:
        self.hidden: set[int] = set()
        self._number = -1
        self._known: dict[str, TypedSecret] = {}
        self._unseen = bytearray()
        self._unseen_since = 0
        self._field: Field | None = None
        self._sent_along: list[Field] = []  # before it, in one piece with it
        self._answered = ""
        self._tail = b""  # of the output
        self._looks_left = 0
        self._shows_input = self._escaped = False
        self._ahead = TypedAhead()

    def feed(self, event: JournalEvent, look: LookAtScreen | None = None) -> list[TypedSecret]:
        """Take one event; what is new through it.

        Args:
            event: the next one.
            look: gives the screen as it is when the event comes: with everything before it, and
                for an ``Output`` with the event itself. None where there is no screen; then only
                what is ``masked`` is learnt.
        """
        self._number += 1
        match event:
            case Typed(source="terminal"):
                return []
            case Typed(masked=True):
                return [*self._leave(look), *self._take_unseen(event, look)]
            case Typed():
                ended = [*self._end_unseen(event)]
                return ended if look is None else [*ended, *self._take_shown(event, look)]
            case Output(stream=None) if look is not None:
                self._print(event.data)
                self._tail = (self._tail + event.data[-_TAIL_BYTES:])[-_TAIL_BYTES:]
                watching = self._looks_left > 0 or self._ahead.waiting
                return [*self._look(look())] if watching else []
            case _:
                return []

    def _look(self, at: AtCursor) -> Iterator[TypedSecret]:
        """See what output has changed."""
        if self._looks_left > 0:
            self._looks_left -= 1
            yield from self._judge(at)
            if self._looks_left == 0 and self._field is not None and self._field.ended:
                yield from self._settle()
        for line, number in self._ahead.taken(at) if self._ahead.waiting else ():
            yield from self.learn(line, "asked", number)

    def _print(self, data: bytes) -> None:
        """Show output to the fields that are not decided yet."""
        for field in self._undecided() if self._looks_left > 0 else ():
            field.printed.add(data)

    def _undecided(self) -> list[Field]:
        """The fields of which nothing tells yet whether they are secret, in their order."""
        last = [] if self._field is None else [self._field]
        return [field for field in (*self._sent_along, *last) if not field.decided]

    def finish(self) -> list[TypedSecret]:
        """There are no more events: what is new through that."""
        unseen = self.learn(bytes(self._unseen), "unseen", self._unseen_since)
        return [*unseen, *self._settle()]

    def values(self) -> tuple[TypedSecret, ...]:
        """All that was learnt so far."""
        return tuple(self._known.values())

    def learn(self, line: bytes, how: How, since: int) -> Iterator[TypedSecret]:
        """Learn the readings of a line; those that are new."""
        for text in readings(line):
            if text not in self._known:
                whole = len(text) <= _LONGEST_WHOLE
                secret = TypedSecret(text=text, how=how, whole=whole, since=since)
                self._known[text] = secret
                yield secret

    def _take_unseen(self, event: Typed, look: LookAtScreen | None) -> Iterator[TypedSecret]:
        if not self._unseen:
            self._unseen_since = self._number
            if not text_of_line(event.data, editing=False):  # Enter, or the end of piped input
                for line, number in self._ahead.taken_unseen():
                    yield from self.learn(line, "unseen", number)
            self._ahead.forget()
            self._answered = "" if look is None else look().prompt
        *ended, rest = _LINE_ENDS.split(bytes(self._unseen) + event.data)
        for line in ended:
            yield from self.learn(line, "unseen", self._unseen_since)
        if len(rest) > _MOST_LINE_BYTES:
            yield from self.learn(rest, "unseen", self._unseen_since)
            rest = b""
        self._unseen = bytearray(rest)
        if ended:
            self._unseen_since = self._number

    def _end_unseen(self, event: Typed) -> Iterator[TypedSecret]:
        """Note that input is shown again. An Enter that is shown still belongs to the secret."""
        if not self._unseen:
            return
        line, self._unseen = bytes(self._unseen), bytearray()
        yield from self.learn(line, "unseen", self._unseen_since)
        if event.data in _ENTER:
            self.hidden.add(self._number)

    def _take_shown(self, event: Typed, look: LookAtScreen) -> Iterator[TypedSecret]:
        at: AtCursor | None = look()
        data = event.data
        start = 0
        escaped, self._escaped = self._escaped, data == _ESCAPE
        if escaped and data[:1] not in {b"[", b"O"}:  # a dialog was closed, unless it is a key
            yield from self._end_field(_ESCAPE, event.t_us, at)
        for end in _FIELD_ENDS.finditer(data):
            yield from self._type(data[start : end.start()], event.t_us, at)
            yield from self._end_field(end.group(), event.t_us, at)
            start = end.end()
            at = None  # what the screen shows behind Enter is not known yet
        yield from self._type(data[start:], event.t_us, at)

    def _type(self, data: bytes, t_us: int, at: AtCursor | None) -> Iterator[TypedSecret]:
        """Some keys of a field."""
        if not data:
            return
        field = self._field
        if field is not None and at is None and len(self._sent_along) < _MOST_FIELDS:
            self._sent_along.append(field)
            self._field = None
        elif field is not None and (field.ended or field.left(at)):
            yield from self._leave(None if at is None else lambda: at)
        if self._field is None:
            if not text_of_line(data, editing=False):
                return  # no text: an answer of the terminal, a movement
            left_open = begun(self._tail)
            self._field = Field(at, t_us, self._number, answered=self._answered, begun=left_open)
            self._answered = self._field.prompt
            if not self._field.unprompted:
                self._ahead.forget()
        field = self._field
        if at is not None:
            yield from self._judge(at)
        field.add(data, self._number)
        if field.how is not None:
            self.hidden.update(field.events)
        self._looks_left = _OUTPUTS_LOOKED_AT if self._undecided() else 0

    def _end_field(self, key: bytes, t_us: int, at: AtCursor | None) -> Iterator[TypedSecret]:
        field = self._field
        if field is None or field.ended:
            return
        if at is not None:
            yield from self._judge(at)
            alone = self._number != field.events[-1]
            if key in _ENTER and alone and self._shows_input:
                field.look_for_silence(t_us, at)
        field.ended = True
        if key != _ESCAPE:  # that came in an event before this one
            field.add(b"", self._number)
        if field.how is None and field.unprompted and key in _ENTER:
            self._ahead.add(bytes(field.keys), field.events[0], field.before)
        yield from self._keep(field)

    def _leave(self, look: LookAtScreen | None) -> Iterator[TypedSecret]:
        """Something else begins: look a last time at the field that was typed into."""
        if self._undecided() and look is not None:
            yield from self._judge(look())
        yield from self._settle()
        self._field = None
        self._sent_along.clear()

    def _settle(self) -> Iterator[TypedSecret]:
        """Decide on the fields that are open, and learn what is secret."""
        last = [] if self._field is None else [self._field]
        for field in (*self._sent_along, *last):
            field.settle()
            yield from self._keep(field)

    def _judge(self, at: AtCursor) -> Iterator[TypedSecret]:
        """Look whether the keys of each field were shown."""
        for field in self._undecided():
            if field.judge(at):
                self._shows_input = self._shows_input or field.shown
            if field.ended:
                yield from self._keep(field)
        if not self._undecided():
            self._looks_left = 0

    def _keep(self, field: Field) -> Iterator[TypedSecret]:
        """Learn what was typed in the field, if it is secret."""
        if field.how is not None and not field.kept:
            field.kept = True
            self.hidden.update(field.events)
            yield from self.learn(bytes(field.keys), field.how, field.events[0])
