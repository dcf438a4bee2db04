"""Decide which requests may leave the machine while a tape is recorded, and how many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from email import message_from_bytes, policy
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import msgspec

from ptycassette.errors import CassetteError, PreflightError
from ptycassette.model.records import decoded_json
from ptycassette.profiles.session_log import StrictTable, read_checked
from ptycassette.tape.providers.answers import AnswerFacts
from ptycassette.tape.providers.questions import (
    asks_a_model,
    earlier_answer,
    option_values,
    question_model,
    refers_elsewhere,
)
from ptycassette.tape.routing import (
    Origin,
    OutgoingRequest,
    Permitted,
    QuestionRefusedError,
    base_url,
)
from ptycassette.tape.unpacking import Unpacker, unpacker_for

Number = TypeVar("Number", int, float)

ANYWHERE = "*"
"""In place of an upstream: any upstream."""

FORBIDDEN = ("holdout", "vault", "secret", "token", "auth")
"""Keys whose values do not leave the machine, unless the user decides otherwise."""


class Limit(StrictTable, frozen=True, kw_only=True, omit_defaults=True):
    """Limits on requests to models, tokens in and out, and US dollars. None: no limit."""

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        for value in (self.requests, self.tokens, self.usd):
            if value is not None and not value >= 0:
                raise ValueError("a limit is not below zero")

    @property
    def text(self) -> str:
        """The limits in words, for people."""
        parts = [
            "" if self.requests is None else f"{self.requests:,} requests",
            "" if self.tokens is None else f"{self.tokens:,} tokens",
            "" if self.usd is None else f"{self.usd:,.2f} USD",
        ]
        return ", ".join(filter(None, parts)) or "as much as it asks for (no limit was given)"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions under which requests may leave the machine.

    Attributes:
        upstreams: approved origins (``https://api.openai.com``), or ``*``. Origins on this machine
            need no approval.
        limit: the budget.
        forbidden: JSON keys whose values must not be sent. None: the usual keys, if anything leaves
            the machine.
        strip: remove forbidden values and send the rest; by default nothing is sent.
        unsearched: also send bodies that cannot be searched for forbidden keys.
        unknown_models: allow models whose price is not known.
    """

    upstreams: tuple[str, ...] = ()
    limit: Limit = Limit()
    forbidden: tuple[str, ...] | None = None
    strip: bool = False
    unsearched: bool = False
    unknown_models: bool = False

    def allows(self, origin: Origin) -> bool:
        """Whether anything may be sent to this origin."""
        return is_local(origin) or not {ANYWHERE, str(origin)}.isdisjoint(self.upstreams)

    @property
    def stripped(self) -> tuple[str, ...]:
        """The keys that are removed from questions before they are sent."""
        if not self.strip:
            return ()
        return FORBIDDEN if self.forbidden is None else self.forbidden

    def keys_for(self, origin: Origin) -> tuple[str, ...]:
        """The forbidden keys for an upstream."""
        if self.forbidden is not None:
            return self.forbidden
        return () if is_local(origin) else FORBIDDEN


class Approval(StrictTable, frozen=True, kw_only=True):
    """An approval file: what a person has approved, and until when.

    ``upstreams`` are base URLs, or ``*``.
    """

    version: int
    upstreams: tuple[str, ...]
    limit: Limit
    until: date | None = None

    @classmethod
    def parse(cls, text: str, *, where: str) -> Approval:
        """Read and check an approval file.

        Raises:
            UsageError: the file is wrong; names the fault.
        """
        found = read_checked(text, cls, where=where, known=(Limit,))
        for one in found.upstreams:
            if one != ANYWHERE:
                base_url(one)
        return found

    def terms(self, terms: Terms, *, today: date) -> Terms:
        """Add the approval to these terms; the narrower limit of the two counts.

        Raises:
            PreflightError: the approval has expired.
        """
        if self.until is not None and today > self.until:
            raise PreflightError(
                f"the approval held until {self.until}", hint="ask for a new approval"
            )
        own, given = terms.limit, self.limit
        limit = Limit(
            requests=_narrower(own.requests, given.requests),
            tokens=_narrower(own.tokens, given.tokens),
            usd=_narrower(own.usd, given.usd),
        )
        origins = tuple(
            one if one == ANYWHERE else str(base_url(one).origin) for one in self.upstreams
        )
        return msgspec.structs.replace(terms, upstreams=(*terms.upstreams, *origins), limit=limit)


class ApprovalNeededError(PreflightError):
    """Something would leave the machine without an approval.

    Args:
        text: the destinations, the data and the limit, for the person who can approve it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(
            f"this needs your approval:\n{text}",
            hint="agree with --yes, or with --approval FILE",
        )
        self.text = text


def approved(terms: Terms, upstreams: Mapping[str, str], main: str) -> None:
    """Check that the program's upstreams were approved.

    An approval may leave out upstreams other than the user's own provider; requests to them are
    then refused.

    Args:
        terms: the approved terms.
        upstreams: base URLs, by the names of their routes.
        main: the route of the user's provider; empty if the program may connect to any host.

    Raises:
        ApprovalNeededError: an approval is missing.
    """
    if not main:
        if not terms.upstreams:
            raise ApprovalNeededError(_text(["any host that the program asks for"], terms))
        return
    asked = {name: base_url(url).origin for name, url in upstreams.items()}
    if not terms.allows(asked[main]):
        first = sorted(asked, key=lambda name: name != main)
        names = [str(asked[name]) for name in first if not terms.allows(asked[name])]
        raise ApprovalNeededError(_text(names, terms))


def is_local(origin: Origin) -> bool:
    """Whether the origin is on this machine."""
    if origin.host == "localhost":
        return True
    try:
        return ip_address(origin.host).is_loopback
    except ValueError:
        return False


def _text(asked: Iterable[str], terms: Terms) -> str:
    keys = FORBIDDEN if terms.forbidden is None else terms.forbidden
    fate = "left out" if terms.strip else "refused"
    return "\n".join(
        [
            "what the program sends to its model goes, with your key, to",
            *(f"  {one}" for one in asked),
            f"at most: {terms.limit.text}",
            f"{fate}: inputs under the keys {', '.join(keys) or '(none)'}",
        ]
    )


def _narrower(own: Number | None, given: Number | None) -> Number | None:
    return min((one for one in (own, given) if one is not None), default=None)


# Inputs under forbidden keys: found in the body of a request, or taken out of it.


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SCHEMA_NAMES = "properties"
_ALSO = {"auth": ("authorization", "authentication", "authn", "authz")}
"""Longer words for a key; ``author`` and ``authority`` are not among them."""
_MOST_DEPTH = 60
"""How deep JSON may be nested, including JSON in texts."""
_SHORT = 5
"""Letters of a key that is also looked for at the end of longer words; ``data`` is too short."""
_LINES = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_FORM = re.compile(rb"[\w.~%+\[\]*-]+=[^&\s]*(&[\w.~%+\[\]*-]+=[^&\s]*)*")


class UnsearchedBodyError(Exception):
    """A body cannot be searched for keys; the text gives the reason."""


class Searched(NamedTuple):
    """The result of searching a body.

    Attributes:
        paths: the places of inputs under forbidden keys.
        left: the body without them; None for a form or a multipart, which are not rewritten.
    """

    paths: tuple[str, ...]
    left: bytes | None


def search_body(body: bytes, keys: Collection[str], *, content_type: str = "") -> Searched:
    """Look for inputs under forbidden keys.

    Args:
        body: the body as the provider reads it, unpacked.
        keys: the forbidden keys, in any spelling.
        content_type: the header ``Content-Type``; only a multipart needs it.

    Raises:
        UnsearchedBodyError: the body has no supported form.
    """
    search = _Search(keys)
    if not body.strip():
        return Searched((), body)
    value = _json(body)
    if value is not _NOTHING:
        left, paths = search.without(value)
        return Searched(tuple(paths), _written(left).encode() if paths else body)
    lines = [line for line in body.splitlines() if line.strip()]
    values = [_json(line) for line in lines]
    if len(lines) > 1 and all(value is not _NOTHING for value in values):
        parts = [search.without(value, f"[{number}]") for number, value in enumerate(values)]
        paths = [path for _, found in parts for path in found]
        kept = "".join(f"{_written(left)}\n" for left, _ in parts).encode()
        return Searched(tuple(paths), kept if paths else body)
    if content_type.strip().lower().startswith("multipart/"):
        return Searched(tuple(_in_multipart(body, content_type, search)), None)
    if _FORM.fullmatch(body):
        fields = parse_qsl(body.decode("latin-1"), keep_blank_values=True)
        return Searched(tuple(search.fields(fields)), None)
    raise UnsearchedBodyError("it is not JSON, a form or multipart whose keys could be looked at")


def body_without(body: bytes, keys: Collection[str]) -> bytes:
    """The body without values under forbidden keys; unchanged if there are no such values."""
    try:
        left = search_body(body, keys).left
    except UnsearchedBodyError:
        return body
    return body if left is None else left


def forbidden_paths(value: Any, keys: Collection[str]) -> list[str]:
    """The paths of inputs under forbidden keys in a JSON value."""
    return _Search(keys).without(value)[1]


def without_forbidden(value: Any, keys: Collection[str]) -> Any:
    """A JSON value without the values under forbidden keys."""
    return _Search(keys).without(value)[0]


_NOTHING: Any = object()


def _json(data: bytes | str) -> Any:
    """Parse exactly one JSON value; ``_NOTHING`` if ``data`` is anything else.

    All members with the same name are kept, so that none hides another.
    """
    if isinstance(data, bytes):
        try:
            data = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
        except UnicodeDecodeError:
            return _NOTHING
    try:
        return json.loads(data, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        return _NOTHING


def _written(value: Any) -> str:
    """Write JSON; lone surrogates and large integers are kept, because ``json`` reads them."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, separators=(",", ":"))


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    every: dict[str, list[Any]] = {}
    for name, value in pairs:
        every.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in every.items()}


def _in_multipart(body: bytes, content_type: str, search: _Search) -> Iterator[str]:
    message = message_from_bytes(
        b"content-type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body,
        policy=policy.HTTP,
    )
    if not message.is_multipart():
        raise UnsearchedBodyError("its multipart is broken")
    for number, part in enumerate(message.iter_parts()):
        name = str(part.get_param("name", "", "content-disposition") or f"part {number}")
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes):
            raise UnsearchedBodyError("it has a multipart within a multipart")
        try:
            text = content.decode()
        except UnicodeDecodeError as exc:
            raise UnsearchedBodyError(f"its part {name!r} is not text") from exc
        yield from search.fields([(name, text)])


_DECODER = json.JSONDecoder(object_pairs_hook=_members)


class _Search:
    def __init__(self, keys: Collection[str]) -> None:
        whole = {"".join(_WORDS.findall(key)).lower() or key.lower() for key in keys}
        self._keys = whole.union(*(_ALSO.get(key, ()) for key in whole))
        self._endings = tuple(key for key in whole if len(key) >= _SHORT or key in _ALSO)
        self._known: dict[str, bool] = {}
        self._plural: dict[str, bool] = {}

    def fields(self, fields: list[tuple[str, str]]) -> Iterator[str]:
        """The forbidden field names of a form, and the forbidden JSON paths in its fields."""
        for name, text in fields:
            yield from self.without({name: text})[1]

    def without(
        self, value: Any, path: str = "", *, names: bool = False, depth: int = 0
    ) -> tuple[Any, list[str]]:
        """The value without forbidden parts, and the paths of these parts."""
        if depth > _MOST_DEPTH:
            raise UnsearchedBodyError("it is nested too deeply to be looked at")
        if isinstance(value, str):
            return self._within_text(value, path, depth)
        if isinstance(value, list):
            parts = [
                self.without(one, f"{path}[{n}]", depth=depth + 1) for n, one in enumerate(value)
            ]
            return [left for left, _ in parts], [one for _, found in parts for one in found]
        if not isinstance(value, dict):
            return value, []
        left, paths = {}, []
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if not names and inner and not isinstance(inner, bool) and self._forbids(key, inner):
                paths.append(place)
                continue
            within = key == _SCHEMA_NAMES and isinstance(inner, dict)
            left[key], found = self.without(inner, place, names=within, depth=depth + 1)
            paths += found
        return left, paths

    def _within_text(self, text: str, path: str, depth: int) -> tuple[str, list[str]]:
        """The same for a text: JSON as a whole, or a JSON value at the beginning of a line."""
        if "{" not in text:
            return text, []
        value = _json(text)
        if isinstance(value, dict | list):
            left, found = self.without(value, path, depth=depth + 1)
            return (_written(left) if found else text), found
        pieces, paths, done = [], [], 0
        for begin in _LINES.finditer(text):
            at = begin.end() - 1
            if at < done:
                continue
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            left, found = self.without(value, path, depth=depth + 1)
            if found:
                pieces += [text[done:at], _written(left)]
                paths += found
                done = end
        return "".join((*pieces, text[done:])), paths

    def _forbids(self, key: str, value: Any) -> bool:
        if _remembered(self._known, key, self._is_forbidden):
            return True
        counts = isinstance(value, int | float)
        return not counts and _remembered(self._plural, key, self._is_forbidden_plural)

    def _is_forbidden(self, key: str) -> bool:
        words = [word.lower() for word in _WORDS.findall(key)]
        joined = {
            "".join(words[first:last])
            for first in range(len(words))
            for last in range(first + 1, len(words) + 1)
        }
        return not self._keys.isdisjoint({key.lower(), *joined}) or any(
            word.endswith(self._endings) for word in words
        )

    def _is_forbidden_plural(self, key: str) -> bool:
        return key[-1:] in {"s", "S"} and self._is_forbidden(key[:-1])


def _remembered(known: dict[str, bool], key: str, judge: Callable[[str], bool]) -> bool:
    if key not in known:
        known[key] = judge(key)
    return known[key]


# Prices and sizes of models from a dated table; upper bounds, not bills.


_VERSION = re.compile(r"(-latest|-preview|-exp|@|-)?[-\d]*$")
_MILLION = 1_000_000


class Model(StrictTable, frozen=True, kw_only=True):
    """A model: its highest price in US dollars per million tokens, and its token limits."""

    input: float
    output: float
    context: int
    max_output: int

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """The highest cost of these tokens, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


class Prices(StrictTable, frozen=True, kw_only=True):
    """The table of prices."""

    version: int
    date: date
    models: dict[str, Model]

    @classmethod
    def parse(cls, text: str, *, where: str = "prices.toml") -> Prices:
        """Read and check the table.

        Raises:
            UsageError: the table is wrong; names the fault.
        """
        return read_checked(text, cls, where=where, known=(Model,))

    def model(self, name: str) -> Model | None:
        """A model by its name, with or without a vendor in front or a date at the end."""
        name = name.rpartition("/")[2]
        for one in (name, _VERSION.sub("", name)):
            if one in self.models:
                return self.models[one]
        longest = max(
            (
                known
                for known in self.models
                if re.fullmatch(rf"{re.escape(known)}[-@]\d{{4}}.*", name)
            ),
            key=len,
            default=None,
        )
        return None if longest is None else self.models[longest]


# A budget that stops before it is exceeded: the highest cost of a question is reserved first.


_HIDDEN = 1000
"""Tokens that a provider adds by itself, such as instructions for tools, and roles."""
_UNKNOWN = Model(input=0.0, output=0.0, context=2_000_000, max_output=256_000)


class Amount(msgspec.Struct, frozen=True):
    """An amount of each quantity that can be limited."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd
        )


class _Reserve(msgspec.Struct):
    """The highest cost of a question, held until its real cost is known."""

    amount: Amount
    model: Model


class Budget:
    """Counts what was spent.

    Args:
        limit: the limits.
        prices: the prices of models.
        unknown_models: allow models that are not in the table. Their cost is then not counted.
    """

    def __init__(self, limit: Limit, prices: Prices, *, unknown_models: bool) -> None:
        self._limit, self._prices, self._unknown = limit, prices, unknown_models
        self.spent = Amount()
        self._reserved: dict[int, list[_Reserve]] = {}
        self._totals: dict[str, int] = {}  # tokens of responses that questions can refer to

    @property
    def active(self) -> bool:
        """Whether anything is limited."""
        return self._limit != Limit()

    def reserve(self, exchange: int, method: str, target: str, body: bytes, document: Any) -> None:
        """Reserve the highest possible cost of a question, if it is sent to a model.

        Raises:
            QuestionRefusedError: it may cost more than is left, or its cost is unknown.
        """
        if not self.active or not asks_a_model(method, target, document):
            return
        name = question_model(document, target) or ""
        model = self._prices.model(name)
        counts_tokens = self._limit.tokens is not None or self._limit.usd is not None
        if model is None and counts_tokens and not self._unknown:
            raise QuestionRefusedError(
                f"budget: there is no price for the model {name!r} (the table is of"
                f" {self._prices.date}); let it pass with --unknown-models"
            )
        model = model or _UNKNOWN
        given = self._input_bound(body, document, model)
        taken = _output_bound(document, model)
        amount = Amount(1, given + taken, model.usd(given, taken))
        self._check(amount)
        self._reserved.setdefault(exchange, []).append(_Reserve(amount, model))

    def settle(self, exchange: int, facts: AnswerFacts | None) -> None:
        """Replace the reserve of the oldest question of an exchange by its real cost.

        Args:
            exchange: its number.
            facts: the facts of the answer; None to count only the request.
        """
        waiting = self._reserved.get(exchange)
        if not waiting:
            return
        reserve = waiting.pop(0)
        if not waiting:
            del self._reserved[exchange]
        if facts is None:
            self.spent += Amount(1)
            return
        usage = facts.usage
        given, taken = usage.get("input_tokens"), usage.get("output_tokens")
        if given is None or taken is None:
            self.spent += reserve.amount
            return
        given, taken = int(given), int(taken)
        self.spent += Amount(1, given + taken, reserve.model.usd(given, taken))
        if facts.name:
            self._totals[facts.name] = given + taken

    def settle_all(self, exchange: int, facts: AnswerFacts | None) -> None:
        """Settle all questions of an exchange that is over."""
        while exchange in self._reserved:
            self.settle(exchange, facts)

    def _check(self, amount: Amount) -> None:
        used = self.spent
        for waiting in self._reserved.values():
            for one in waiting:
                used += one.amount
        after, limit = used + amount, self._limit
        for what, most, before, then in (
            ("requests", limit.requests, used.requests, after.requests),
            ("tokens", limit.tokens, used.tokens, after.tokens),
            ("USD", limit.usd, used.usd, after.usd),
        ):
            if most is not None and then > most:
                raise QuestionRefusedError(
                    f"budget: it may take up to {_number(then - before)} {what},"
                    f" and {_number(max(0, most - before))} of {_number(most)} are left"
                )

    def _input_bound(self, body: bytes, document: Any, model: Model) -> int:
        earlier = earlier_answer(document)
        if refers_elsewhere(body) or (earlier and earlier not in self._totals):
            return _HIDDEN + max(model.context, len(body))
        return _HIDDEN + len(body) + (self._totals[earlier] if earlier else 0)


def _output_bound(document: Any, model: Model) -> int:
    if not isinstance(document, Mapping):
        return model.max_output
    limits = _counts(document, "max_tokens")
    return max(limits, default=model.max_output) * max(_counts(document, "n"), default=1)


def _counts(document: Mapping[str, Any], option: str) -> list[int]:
    """The valid counts of an option. A provider itself refuses a wrong one."""
    found = option_values(document, option)
    return [one for one in found if isinstance(one, int) and one > 0]


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


# The gate of a recording: approval, forbidden inputs, budget. See ``Gate``.


MAX_UNPACKED_BYTES = 256 << 20
"""The longest question that is judged."""
_FIRST_ERROR = 400


class _Answer:
    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self.failed = status >= _FIRST_ERROR
        self.facts = AnswerFacts(headers.get("content-type", ""))
        self._unpacker: Unpacker | None
        try:
            self._unpacker = unpacker_for(headers.get("content-encoding", ""))
        except CassetteError:
            self._unpacker = None  # its use is not known: the reserve counts as spent

    def feed(self, data: bytes) -> None:
        if self._unpacker is not None:
            for piece in self._unpacker.feed(data):
                self.facts.feed(piece)


class TermsGate:
    """A ``Gate`` that enforces terms.

    Args:
        terms: the approved terms.
        prices: the prices of models.
    """

    def __init__(self, terms: Terms, prices: Prices) -> None:
        self._terms = terms
        self._budget = Budget(terms.limit, prices, unknown_models=terms.unknown_models)
        self._answers: dict[int, _Answer] = {}

    @property
    def spent(self) -> Amount:
        """The highest possible cost of the answers so far."""
        return self._budget.spent

    def reads(self, origin: Origin) -> bool:
        """Whether questions to this provider must be held until they are judged."""
        known = self._terms.allows(origin) and not self._terms.keys_for(origin)
        return self._budget.active or not known

    def judge(self, question: OutgoingRequest) -> Permitted:
        """The body to send on.

        Raises:
            QuestionRefusedError: nothing of it may be sent on.
        """
        origin = question.origin
        if not self._terms.allows(origin):
            raise QuestionRefusedError(f"sending data to {origin} was not agreed to")
        plain = _unpacked(question)
        document = decoded_json(plain)
        permitted = self._permitted(question, plain)
        self._budget.reserve(question.exchange, question.method, question.target, plain, document)
        return permitted

    def begun(self, exchange: int, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of an answer."""
        if self._budget.active:
            self._answers[exchange] = _Answer(status, headers)

    def answered(self, exchange: int, data: bytes) -> None:
        """Take a piece of an answer."""
        if exchange in self._answers:
            self._answers[exchange].feed(data)

    def said(self, exchange: int, data: bytes) -> None:
        """Take a message of the provider over a WebSocket."""
        if not self._budget.active:
            return
        facts = AnswerFacts()
        facts.feed(data)
        facts.end()
        if facts.usage:
            self._budget.settle(exchange, facts)

    def over(self, exchange: int, *, sent: bool) -> None:
        """Note that an exchange is complete."""
        answer = self._answers.pop(exchange, None)
        if not sent or (answer is not None and answer.failed):
            self._budget.settle_all(exchange, None)
            return
        facts = AnswerFacts() if answer is None else answer.facts
        facts.end()
        self._budget.settle_all(exchange, facts)

    def _permitted(self, question: OutgoingRequest, plain: bytes) -> Permitted:
        keys = self._terms.keys_for(question.origin)
        if not keys:
            return Permitted(question.body)
        kind = dict(question.headers).get("content-type", "")
        try:
            searched = search_body(plain, keys, content_type=kind)
        except UnsearchedBodyError as unread:
            if self._terms.unsearched:
                return Permitted(question.body)
            raise QuestionRefusedError(f"forbidden keys cannot be ruled out: {unread}") from unread
        if not searched.paths:
            return Permitted(question.body)
        return self._stripped(question, searched)

    def _stripped(self, question: OutgoingRequest, searched: Searched) -> Permitted:
        found = ", ".join(searched.paths)
        if not self._terms.strip or question.over_websocket:
            raise QuestionRefusedError(f"it has inputs under forbidden keys: {found}")
        if searched.left is None:
            raise QuestionRefusedError(f"only JSON is sent without some of its inputs: {found}")
        return Permitted(searched.left, searched.paths)


def _unpacked(question: OutgoingRequest) -> bytes:
    try:
        unpacker = unpacker_for(question.packing)
    except CassetteError as missing:
        raise QuestionRefusedError(str(missing)) from missing
    plain = bytearray()
    for piece in unpacker.feed(question.body):
        plain += piece
        if len(plain) > MAX_UNPACKED_BYTES:
            raise QuestionRefusedError("it unpacks to more than can be looked at")
    unpacker.end()
    if unpacker.problem is not None:
        raise QuestionRefusedError(f"it cannot be looked at: {unpacker.problem}")
    return bytes(plain)
