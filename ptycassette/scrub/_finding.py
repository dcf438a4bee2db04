"""One pass over the events of a session, which turns every secret into patches.

Output is cut into blocks at fixed offsets, independent of the sizes of reads, so the same bytes
give the same result however they were chunked. A block gives several texts: the print stream, the
strings of control functions, the messages in its JSON, and screen text that none of these
contains. Each text is searched by rules and for known values. A value that a rule finds is known
from then on, and the texts of the same block are searched for it again.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ptycassette.model.ports import Secret
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    StreamKinds,
    TapeMoment,
    Traffic,
    Typed,
)
from ptycassette.scrub.match import canonical
from ptycassette.scrub.placeholders import Patches, Tally
from ptycassette.scrub.rules.rule_set import Rule, RuleSet
from ptycassette.scrub.rules.values import (
    WORDS,
    is_ordinary,
    is_plain_data,
    is_public_name,
    is_random,
    looks_torn_off,
    secret_name,
)
from ptycassette.scrub.search.known import (
    SHORTEST_KNOWN,
    KnownValue,
    Lesson,
    Match,
    SearchedTexts,
    Searcher,
)
from ptycassette.scrub.views.structured import (
    BLOCK,
    Blocks,
    FoundInBody,
    Joined,
    StreamText,
    StreamView,
    TrafficText,
    members_of,
    strings_of,
)
from ptycassette.scrub.views.view import (
    ScreenReader,
    ScreenView,
    Seen,
    View,
    input_views,
    joined_lines,
)

# What is known to be secret before anything is searched: environment, home, declared values.


_MODEL_NAME = lazy_pattern(r"(?:^|_)model(?:_?(?:id|name))?$", re.IGNORECASE)
_USER_INFO = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<user>[^\s/:@]*):(?P<password>[^\s/@]+)@")
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://\S+\Z")
_SCHEME = lazy_pattern(r"\A(?i:bearer|basic|token) +(?=\S+\Z)")  # RFC 9110 11.1
_HOSTS = ("HOSTNAME", "HOST", "COMPUTERNAME", "NAME")
_USERS = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")
_MAILS = ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "DEBEMAIL")
_HOMES = frozenset({"/home", "/users", "/export/home", "/var/home", "/usr/home"})
_LEAST_DEPTH = 2
_LEAST = 6
_GENERATED = 16
_SHORTEST_BEGUN = 4
_LONGEST_BEGUN = 32  # longer pieces are found by the value itself


def declared_values(values: Iterable[str], *, rules: RuleSet) -> Iterator[KnownValue]:
    """Values that a caller declared secret: each whole, and each of its lines.

    Raises:
        ValueError: a value is too short to distinguish from ordinary text.
    """
    for value in values:
        if len(value.strip()) < SHORTEST_KNOWN:
            raise ValueError(
                f"a value of {len(value.strip())} characters cannot be scrubbed safely"
            )
        rule = _shape(value, rules)
        if rule is not None and rule.public:
            yield KnownValue(value, "declared", rule.placeholder, rule.public, pieces=True)
        else:
            for line in _lines(value):
                yield KnownValue(line, "declared", "<secret>")
                yield from (
                    KnownValue(text, "declared", "<secret>", pieces=False) for text in _cases(line)
                )


def begun_values(values: Iterable[str], *, rules: RuleSet) -> Iterator[KnownValue]:
    """The beginnings of a value, which show while a field is repainted with each key.

    They match as words. A beginning that reads as a word itself is left out: the first letters of a
    pass phrase may be one.
    """
    for value in values:
        rule = _shape(value, rules)
        shortest = _SHORTEST_BEGUN + (0 if rule is None else rule.public)
        for end in range(shortest, min(len(value), _LONGEST_BEGUN)):
            if value[end - 1] != " " and looks_torn_off(value[:end]):
                yield KnownValue(value[:end], "declared", word=True)


def _cases(value: str) -> Iterator[str]:
    """A value in capitals and in small letters, as programs write it; nothing for one of words."""
    if len(value) >= _LEAST and any(map(str.isdigit, value)):
        yield from (text for text in (value.upper(), value.lower()) if text != value)


def environment_values(
    environment: Mapping[str, str], *, allowlist: Iterable[str] = (), rules: RuleSet
) -> Iterator[KnownValue]:
    """The secrets among the values of an environment. Values of allowlisted names stay."""
    allowed = set(allowlist)
    for name, value in environment.items():
        if not (name in allowed or len(value) < _LEAST or is_public_name(name)):
            yield from _value(name, value, rules)


def _value(name: str, value: str, rules: RuleSet) -> Iterator[KnownValue]:
    value = _SCHEME.sub("", value)
    user = _USER_INFO.match(value)
    document = None if user or value[:1] not in "{[" else _parsed(value)
    rule = _shape(value, rules)
    if user:
        password = user["password"]
        if not is_plain_data(password, name="password"):
            yield KnownValue(password, "environment", "<password>", pieces=is_random(password))
    elif document is not None:
        yield from document_values(document, rules=rules)
    elif rule is not None:
        pieces = True if rule.public else None
        yield KnownValue(value, rule.name, rule.placeholder, rule.public, pieces=pieces)
    elif _URL.match(value):  # the secrets in its query; the rest is not secret
        for found in (found for found in rules.find(value) if found.rule.kind == "secret"):
            text = value[found.start : found.end]
            yield KnownValue(text, found.rule.name, found.rule.placeholder, found.rule.public)
    elif _MODEL_NAME.search(name):
        return  # whatever it looks like, it is on every screen of the CLI that it names
    elif secret_name(name) or (len(value) >= _GENERATED and is_random(value) and " " not in value):
        lines = _lines(value) if secret_name(name) else [value]
        for line in (line for line in lines if not is_plain_data(line, name=name)):
            yield KnownValue(line, "environment", "<secret>")
            yield from _encoded(line)


def _encoded(value: str) -> Iterator[KnownValue]:
    """The password in Base64, as Docker and npm store it, alone or after a user's name."""
    try:
        text = b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return
    password = text.partition(":")[2] or text
    if (
        text.isprintable()
        and len(password) >= _LEAST
        and not is_plain_data(password, name="password")
    ):
        yield KnownValue(password, "environment", "<password>", pieces=is_random(password))


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _shape(value: str, rules: RuleSet) -> Rule | None:
    """The rule that matches the shape of the whole value."""
    found = rules.find(value)
    if found and found[0].end - found[0].start == len(value) and found[0].rule.kind == "secret":
        return found[0].rule
    return None


def _lines(value: str) -> list[str]:
    lines = [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST_KNOWN]
    lines = lines if len(lines) > 1 else [value.strip()]
    return [line for line in lines if not line.startswith("-----")]


def document_values(document: Any, *, name: str = "", rules: RuleSet) -> Iterator[KnownValue]:
    """The secrets in a parsed configuration or credential file, recognised by their keys."""
    if isinstance(document, Mapping):
        for key, item in document.items():
            yield from document_values(item, name=str(key), rules=rules)
    elif isinstance(document, (list, tuple)):
        for item in document:
            yield from document_values(item, name=name, rules=rules)
    elif isinstance(document, str) and len(document) >= _LEAST:
        yield from _value(name, document, rules)


def identity_values(meta: SessionMeta) -> Iterator[KnownValue]:
    """Names of the user, the host, and folders that the session ran in."""
    environment = meta.environment
    users = {environment.get(name, "") for name in _USERS}
    homes = [home.rstrip("/") for home in (meta.home, meta.user_home) if home]
    for home in homes:
        parent, _, last = home.rpartition("/")
        if parent.lower() in _HOMES:
            users.add(last)
    for user in sorted(users):
        if len(user) >= SHORTEST_KNOWN and user.lower() not in WORDS["public-users"]:
            yield KnownValue(
                user, "user-name", "<user>", pieces=False, word=True, named=is_ordinary(user)
            )
    for name in _MAILS:
        if "@" in environment.get(name, ""):
            yield KnownValue(environment[name], "email", "<email>", pieces=False)
    for name in _HOSTS:
        host = environment.get(name, "")
        if len(host) > SHORTEST_KNOWN and host.lower() not in WORDS["public-hosts"]:
            named = is_ordinary(host) or host.lower() in WORDS["public-users"]
            yield KnownValue(host, "host-name", "<host>", pieces=False, word=True, named=named)
    for home in homes:
        last = home.rpartition("/")[2]
        if home.count("/") >= _LEAST_DEPTH and last.lower() not in WORDS["public-users"]:
            yield KnownValue(home, "home-path", "$HOME", pieces=False)
    yield from _folders(meta.cwd, homes)


def _folders(cwd: str, homes: Iterable[str]) -> Iterator[KnownValue]:
    """The parts of the session's working directory that identify the user."""
    inside = cwd
    for home in homes:
        inside = inside.removeprefix(f"{home}/")
    private = [
        part for part in inside.split("/") if part and part.lower() not in WORDS["public-folders"]
    ]
    if cwd.count("/") >= 2 and private:
        yield KnownValue(cwd, "worktree-path", "$PWD", pieces=False)


class NamedFolders:
    """The folders of a session as arguments name them: ``$PWD`` and ``$HOME``.

    Elsewhere a folder that everybody may have (``/app``) is no secret and stays as it is. An
    argument is compared in a replay, which may run in another folder.

    Args:
        meta: the head of the session.
        scrub: replaces the secrets in a text, as it does in an argument before it gets here.

    Attributes:
        program: what was run; its path stays as it is.
    """

    def __init__(self, meta: SessionMeta, scrub: Callable[..., str]) -> None:
        self.program = meta.argv[0] if meta.argv else ""
        self._folders: list[tuple[str, str, str]] = []
        named = ((meta.cwd, "$PWD", "worktree-path"), (meta.home, "$HOME", "home-path"))
        for folder, name, rule in named:
            path = folder.rstrip("/") or folder
            if path.startswith("/"):
                spellings = {path, scrub(path, channel="folders")} - {name}
                self._folders += [(spelling, name, rule) for spelling in spellings]
        # The deeper one first; the sort is stable, so that a session in the home folder is in $PWD.
        self._folders.sort(key=lambda folder: -len(folder[0]))

    def named(self, word: str) -> tuple[str, list[str]]:
        """An argument with its folders named, and the rule of each."""
        rules: list[str] = []
        for path, name, rule in self._folders:
            end = r"\Z" if path == "/" else r"(?=/|[\s\"',:;]|\Z)"
            found = re.compile(rf"(\A|\A-[A-Za-z]|[=:,\s\"'@]){re.escape(path)}{end}")
            word, count = found.subn(rf"\g<1>{name}", word)
            rules += [rule] * count
        return word, rules


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
        tally: counts the findings.
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
        """Read the rest at the end."""
        for stream in self._streams.values():
            self._search("output", stream.rest())
        self._search("input", self._typed.rest() if self._stdin is None else self._stdin.rest())
        self._search("service-events", self._service.rest())
        for body in self._bodies.values():
            self._read_body(body, [*body.rest()])
        self._bodies.clear()
        self.settled = self._fed

    def _output(self, event: Output) -> None:
        """Read output. Output that did not go to the terminal alone is settled at the end."""
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
        """Read a piece of a body; each body is searched separately."""
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
        """Search the new part of a body; the repeated part gets its earlier findings."""
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
        """Search texts; texts that belong together must be passed together.

        First rules search all of them, then known values are searched, including the rules' finds.
        But the screen reader depends on the findings in its text before the iterator advances.
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
        """Search texts, which rules have already searched, for known values; empty the list."""
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
        """Start to search for newly learnt values; None if nothing was learnt."""
        lesson = self._searcher.adopt()
        if lesson is not None:
            self._reader.seen.forget()
            if not searched:
                self._past.ask(lesson)
        return lesson

    def _take(self, channel: str, view: View, match: Match) -> None:
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
        """Turn the findings in a body of the tape into patches."""
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
