"""Parse provider scripts, and plan the answers of a fake provider.

``docs/fake-provider.md`` describes the format (TOML). A script is checked completely before the
first request: an unknown name, a wrong type or contradicting fields are errors that name the place.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from ptycassette.agents.harness.fake._limits import RateLimits
from ptycassette.errors import LimitError, UsageError
from ptycassette.model.limits import check_density
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import read_toml, suggest
from ptycassette.scrub.rules.values import secret_name
from ptycassette.tape.providers import openai_responses, sse
from ptycassette.tape.providers.answers import APIS
from ptycassette.tape.providers.neutral import (
    Answer,
    Api,
    Ask,
    Call,
    Piece,
    Stamp,
    Stop,
    Text,
    Thought,
    UnknownFields,
    Usage,
    WireError,
    estimate_tokens,
)


class _Checked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the script."""


class Part(_Checked, frozen=True, kw_only=True):
    """One part of an answer: exactly one of ``text``, ``think`` and ``tool``.

    ``arguments`` belong to a tool with a JSON schema, ``input`` to one that
    takes free text. ``unoffered`` allows a tool that the request does not offer.
    """

    text: str | None = None
    think: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    input: str | None = None
    unoffered: bool = False

    def __post_init__(self) -> None:
        if sum(field is not None for field in (self.text, self.think, self.tool)) != 1:
            raise ValueError("a part has exactly one of text, think and tool")
        if self.tool is None and (self.arguments is not None or self.input is not None):
            raise ValueError("arguments and input belong to a tool")
        if self.arguments is not None and self.input is not None:
            raise ValueError("a tool has arguments or input, not both")


class TokenCounts(_Checked, frozen=True, kw_only=True):
    """Token counts of an answer; missing ones are estimated."""

    input: int | None = None
    output: int | None = None
    cached_input: int = 0
    reasoning_output: int = 0


class Failure(_Checked, frozen=True, kw_only=True):
    """An error instead of an answer, or in the middle of one (``after_events``).

    ``details`` go into Gemini's error object (google.rpc.Status), where the API names the
    exhausted quota.
    """

    status: int
    message: str = "scripted failure"
    kind: str = ""
    retry_after_s: int | None = None
    details: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not 400 <= self.status <= 599:
            raise ValueError("an error has a status from 400 to 599")


class Pace(_Checked, frozen=True, kw_only=True):
    """How fast an answer comes. ``chunk_chars`` is text per stream event."""

    first_ms: int = 0
    each_ms: int = 0
    chunk_chars: int = 16

    def __post_init__(self) -> None:
        if self.first_ms < 0 or self.each_ms < 0 or self.chunk_chars < 1:
            raise ValueError("first_ms and each_ms are 0 or more, chunk_chars 1 or more")


class When(_Checked, frozen=True, kw_only=True):
    """The requests that a reply is for. All given conditions must hold.

    ``model`` may contain ``*`` and ``?``. ``after`` is the last speaker: the user (``prompt``) or a
    tool. ``tools`` is whether the request offers any.
    """

    api: Api | None = None
    model: str | None = None
    prompt_contains: str | None = None
    system_contains: str | None = None
    result_contains: str | None = None
    after: Literal["prompt", "tool"] | None = None
    tools: bool | None = None


class Reply(_Checked, frozen=True, kw_only=True):
    """One answer. ``times`` 0 means without limit."""

    name: str = ""
    when: When = When()
    times: int = 1
    text: str | None = None
    parts: tuple[Part, ...] = ()
    stop: Stop | None = None
    usage: TokenCounts = TokenCounts()
    error: Failure | None = None
    disconnect: bool = False
    after_events: int | None = None
    pace: Pace | None = None
    limits: RateLimits | None = None
    headers: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.text is not None and self.parts:
            raise ValueError("a reply has text or parts, not both")
        says = self.text is not None or bool(self.parts)
        if not says and self.error is None and not self.disconnect:
            raise ValueError("a reply needs text, parts, error or disconnect")
        if self.error is not None and self.disconnect:
            raise ValueError("a reply has error or disconnect, not both")
        if self.after_events is not None and not (self.error or self.disconnect):
            raise ValueError("after_events belongs to error or disconnect")
        if says and (self.error or self.disconnect) and self.after_events is None:
            raise ValueError("text with error or disconnect needs after_events")
        if self.after_events is not None and not says:
            raise ValueError("after_events needs text or parts to break off")
        if self.times < 0 or (self.after_events or 0) < 0:
            raise ValueError("times and after_events are 0 or more")


class Model(_Checked, frozen=True, kw_only=True):
    """A model of the list. Without ``apis`` it is on the list of every API."""

    id: str
    name: str = ""
    apis: tuple[Api, ...] = ("anthropic", "responses", "chat", "gemini")


class Route(_Checked, frozen=True, kw_only=True):
    """A fixed answer for one method and path; takes precedence over everything else."""

    path: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "GET"
    status: int = 200
    json: Any = msgspec.UNSET
    text: str | None = None
    headers: dict[str, str] = {}

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or "?" in self.path:
            raise ValueError("a route's path starts with / and has no query")
        if self.json is not msgspec.UNSET and self.text is not None:
            raise ValueError("a route has json or text, not both")


class Auth(_Checked, frozen=True, kw_only=True):
    """Which clients are accepted: all (default), those with a key, or none at all."""

    require: Literal["nothing", "key", "impossible"] = "nothing"


class Script(_Checked, frozen=True, kw_only=True):
    """A whole script. ``unknown_fields``: how to treat a request with a field that is new."""

    version: Literal[1]
    unknown_fields: UnknownFields = "accept"
    websocket: bool = True
    auth: Auth = Auth()
    pace: Pace = Pace()
    limits: RateLimits = RateLimits()
    headers: dict[str, str] = {}
    models: tuple[Model, ...] = ()
    replies: tuple[Reply, ...] = ()
    routes: tuple[Route, ...] = ()

    @classmethod
    def parse(
        cls, text: str, *, where: str = "script", variables: Mapping[str, str] | None = None
    ) -> Script:
        """Read and check a script.

        Args:
            text: TOML. ``${name}`` in any string is replaced by a variable.
            where: a path or a name, for messages.
            variables: the values of names in the text.

        Raises:
            UsageError: not TOML, not a script, or a variable without a value.
        """
        raw = read_toml(text, where=where, variables=dict(variables or {}))
        if raw.get("version") != 1:
            raise UsageError(
                "a provider script starts with version = 1",
                where=where,
                hint="the format is described in docs/fake-provider.md",
            )
        try:
            return msgspec.convert(raw, resolved(cls))
        except msgspec.ValidationError as wrong:
            raise UsageError(str(wrong), where=where, hint=suggest(str(wrong), _NAMES)) from wrong


def _names(*kinds: type[msgspec.Struct]) -> tuple[str, ...]:
    """All field names of a script's tables."""
    return tuple(sorted({f.encode_name for kind in kinds for f in msgspec.structs.fields(kind)}))


_NAMES = _names(
    Script, Auth, Route, Model, Reply, When, Pace, Failure, TokenCounts, Part, RateLimits
)


# Choose the scripted reply for a request, and make the answer.


_RESULT_PREVIEW = 60


def misfits(when: When, ask: Ask) -> tuple[str, ...]:
    """The conditions of ``when`` that do not hold for ``ask``; empty if the reply matches."""
    results = "\n".join(result.text for result in ask.results)
    after = "tool" if ask.results else "prompt"
    checks = {
        "api": when.api is None or when.api == ask.api,
        "model": when.model is None or fnmatch.fnmatchcase(ask.model, when.model),
        "prompt_contains": when.prompt_contains is None or when.prompt_contains in ask.prompt,
        "system_contains": when.system_contains is None or when.system_contains in ask.system,
        "result_contains": when.result_contains is None or when.result_contains in results,
        "after": when.after is None or when.after == after,
        "tools": when.tools is None or when.tools == bool(ask.tools),
    }
    return tuple(name for name, holds in checks.items() if not holds)


class Replies:
    """The replies of a script, used up in order."""

    def __init__(self, script: Script) -> None:
        self._replies = script.replies
        self._used = [0] * len(script.replies)

    def pick(self, ask: Ask) -> tuple[str, Reply]:
        """The name and the reply for ``ask``: the first that fits and is not used up.

        Raises:
            WireError: no reply matches; the message has the reason for each reply.
        """
        for index, reply in enumerate(self._replies):
            if self._left(index) and not misfits(reply.when, ask):
                self._used[index] += 1
                return self._name(index), reply
        mismatches = [
            f"{self._name(index)} {self._why_not(index, reply, ask)}"
            for index, reply in enumerate(self._replies)
        ]
        reasons = "; ".join(mismatches) or "the script has none"
        raise WireError(
            f"no reply for this request (api {ask.api}, model {ask.model}, "
            f"prompt {ask.prompt[:_RESULT_PREVIEW]!r}, {len(ask.results)} tool results): {reasons}"
        )

    def unused(self) -> tuple[str, ...]:
        """Replies that were used less often than ``times`` (``0``: not even once)."""
        return tuple(
            self._name(index)
            for index, reply in enumerate(self._replies)
            if self._used[index] < max(reply.times, 1)
        )

    def _left(self, index: int) -> bool:
        times = self._replies[index].times
        return times == 0 or self._used[index] < times

    def _name(self, index: int) -> str:
        return self._replies[index].name or f"replies[{index}]"

    def _why_not(self, index: int, reply: Reply, ask: Ask) -> str:
        if not self._left(index):
            return "is used up"
        return f"does not fit ({', '.join(misfits(reply.when, ask))})"


def make_answer(
    reply: Reply, ask: Ask, *, chunk_chars: int, next_call_id: Callable[[], str]
) -> Answer:
    """The answer of ``reply`` to ``ask``.

    Args:
        reply: the reply in the script.
        ask: the request.
        chunk_chars: text per stream event.
        next_call_id: makes the id of a tool call.

    Raises:
        WireError: the reply calls a tool that the request does not offer.
    """
    parts = reply.parts or (Part(text=reply.text or ""),)
    said = tuple(_part(part, ask, next_call_id) for part in parts)
    called = any(isinstance(part, Call) for part in said)
    stop: Stop = reply.stop or ("tool" if called else "end")
    return Answer(parts=said, stop=stop, usage=_usage(reply, ask, said), chunk_chars=chunk_chars)


def _part(part: Part, ask: Ask, next_call_id: Callable[[], str]) -> Text | Thought | Call:
    """A part of the script as a part of the answer."""
    if part.text is not None:
        return Text(part.text)
    if part.think is not None:
        return Thought(part.think)
    name = part.tool or ""
    if name not in ask.tools and not part.unoffered:
        offered = ", ".join(ask.tools) or "none"
        raise WireError(f"the reply calls the tool {name!r}, the request offers: {offered}")
    said = (part.arguments or {}) if part.input is None else part.input
    return Call(next_call_id(), name, said)


def _usage(reply: Reply, ask: Ask, said: tuple[Text | Thought | Call, ...]) -> Usage:
    """Token counts: those of the script, else estimates."""
    counts = reply.usage
    text = "".join(
        part.text
        if not isinstance(part, Call)
        else part.arguments
        if isinstance(part.arguments, str)
        else msgspec.json.encode(part.arguments).decode()
        for part in said
    )
    return Usage(
        input=ask.size_tokens if counts.input is None else counts.input,
        output=estimate_tokens(text) if counts.output is None else counts.output,
        cached_input=counts.cached_input,
        reasoning_output=counts.reasoning_output,
    )


# The data of the fake provider: requests, planned answers, log entries.


Ending = Literal["complete", "disconnect"]

_WITHHELD = "(withheld)"
_ACCOUNT_HEADERS = frozenset({"chatgpt-account-id", "openai-organization", "openai-project"})
_HARMLESS_HEADERS = frozenset({"idempotency-key", "sec-websocket-key"})


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded request. Header names are in lower case; ``path`` has no query."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = {}
    body: bytes = b""

    def asked(self, name: str) -> str | None:
        """The first value of a query parameter."""
        return next((value for key, value in self.query if key == name), None)

    @property
    def key(self) -> str | None:
        """The client's API key, in any of the ways of the four APIs."""
        for name in ("x-api-key", "x-goog-api-key", "api-key"):
            if self.headers.get(name):
                return self.headers[name]
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
        return self.asked("key") or None


class AnswerPart(msgspec.Struct, frozen=True):
    """Bytes of the answer, and how long to wait before them."""

    delay_ms: int
    data: bytes


class PlannedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A request and the plan for its answer. The owner of the connection carries it out.

    ``ending`` ``disconnect`` means: after the last step, break the connection off without a proper
    end. ``entry`` is the log entry so far; the host adds the time of the request and its outcome.
    """

    status: int
    headers: dict[str, str]
    steps: tuple[AnswerPart, ...]
    ending: Ending = "complete"
    entry: dict[str, Any]


def withheld_values(request: HttpRequest) -> Iterator[str]:
    """The values that the log leaves out: keys, tokens without their scheme, values of cookies."""
    for name, value in request.headers.items():
        if name == "cookie":
            yield from (cookie.partition("=")[2].strip() for cookie in value.split(";"))
        elif _is_withheld(name):
            yield value.rpartition(" ")[2]
    yield from (value for name, value in request.query if secret_name(name))


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers for the log, without accounts, keys and cookies, which are recognised by name."""
    return {name: _WITHHELD if _is_withheld(name) else value for name, value in headers.items()}


def shown_query(query: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Query parameters for the log, without keys."""
    return {name: _WITHHELD if secret_name(name) else value for name, value in query}


def _is_withheld(header: str) -> bool:
    return header in _ACCOUNT_HEADERS or (secret_name(header) and header not in _HARMLESS_HEADERS)


# Encode planned answers with the module of each API.


def streamed(
    reply: Reply,
    answer: Answer,
    ask: Ask,
    stamp: Stamp,
    *,
    pace: Pace,
    framing: openai_responses.Framing,
) -> tuple[tuple[AnswerPart, ...], Ending]:
    """The answer as steps of a stream; it breaks off if the reply does."""
    api = APIS[ask.api]
    pieces = list(api.stream(answer, ask, stamp, framing))
    ending: Ending = "complete"
    if reply.after_events is not None:
        pieces = pieces[: reply.after_events]
        if reply.error is not None:
            problem = api.error(reply.error.status, reply.error.message, reply.error.kind)
            pieces.append(api.stream_error(problem, ask, stamp, framing))
        else:
            ending = "disconnect"
    return tuple(_paced(pieces, pace)), ending


def _paced(pieces: Iterable[Piece], pace: Pace) -> Iterable[AnswerPart]:
    """Steps with the pace of the script: once before the first, then before each paced one."""
    for index, piece in enumerate(pieces):
        delay = pace.first_ms if index == 0 else pace.each_ms if piece.paced else 0
        yield AnswerPart(delay, piece.data)


# The body of a request, decompressed and decoded within limits.


MAX_BODY_BYTES = 16 << 20
"""The limit for an unpacked body and a WebSocket message. Agents send a tenth of it."""
MAX_VALUES = 100_000
MAX_DEPTH = 64
_RAW_DEFLATE, _ANY_HEADER = -zlib.MAX_WBITS, zlib.MAX_WBITS | 32


class Body(msgspec.Struct, frozen=True):
    """A body: its form for the log, and why it is not acceptable JSON; None if it is acceptable."""

    shown: Any
    wrong: WireError | None = None

    @property
    def json(self) -> Any:
        """The decoded body.

        Raises:
            WireError: it is not JSON, or too large.
        """
        if self.wrong is not None:
            raise self.wrong
        return self.shown


def read_body(data: bytes) -> Body:
    """Decode a body."""
    try:
        check_density(data, MAX_VALUES, "body")
        value = msgspec.json.decode(data)
    except LimitError as many:
        wrong = WireError(f"the body is too large: {many.message}", status=413)
    except ValueError as no_json:
        wrong = WireError(f"the body is not JSON: {no_json}")
    except RecursionError:
        wrong = _too_deep()
    else:
        if not _is_deep(value):
            return Body(value)
        wrong = _too_deep()
    return Body(data.decode("utf-8", "replace"), wrong)


def too_large() -> WireError:
    """The error for a body that is too long."""
    return WireError(f"the body is too large: more than {MAX_BODY_BYTES} bytes", status=413)


def unpacked(data: bytes, encoding: str) -> bytes:
    """A body without its ``Content-Encoding``.

    Raises:
        WireError: an encoding other than gzip and deflate, damaged data, or too much data.
    """
    match encoding.strip().lower():
        case "" | "identity":
            body, whole = data, True
        case "gzip" | "x-gzip" | "deflate" as kind:
            # Many send deflate without the header that RFC 9110 asks for.
            raw = kind == "deflate" and data[:1] and data[0] & 15 != zlib.DEFLATED
            engine = zlib.decompressobj(_RAW_DEFLATE if raw else _ANY_HEADER)
            try:
                body = engine.decompress(data, MAX_BODY_BYTES + 1)
            except zlib.error as damaged:
                raise WireError(f"the body is not {kind}: {damaged}") from damaged
            whole = engine.eof
        case other:
            raise WireError(f"Content-Encoding {other!r}: send gzip, deflate or none", status=415)
    if len(body) > MAX_BODY_BYTES:
        raise too_large()
    if not whole:
        raise WireError("the compressed body is cut short")
    return body


def _is_deep(value: Any) -> bool:
    """Whether lists and objects nest too deeply."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        within = (item.values() if isinstance(item, dict) else item for item in level)
        level = [one for items in within for one in items if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def _too_deep() -> WireError:
    return WireError(f"the body nests deeper than {MAX_DEPTH} levels")


# Check the keys of clients. The log has numbers instead of keys.


class NotLetInError(Exception):
    """The client has no key, or a wrong one; reported in the form of the API.

    The wording matters: litellm recognises a wrong OpenAI key by it.

    Args:
        api: the API whose wording is used.
        missing: there was no key at all.
    """

    def __init__(self, api: Api | None, *, missing: bool) -> None:
        super().__init__("no API key was given" if missing else "wrong API key")
        words = APIS[api or "responses"]
        self.status, self.message = words.NO_KEY if missing else words.WRONG_KEY


class Door:
    """Opens a log entry per request and checks keys.

    Args:
        auth: the script's demands on a client.
        accepted_keys: if given, only these API keys are accepted.
    """

    def __init__(self, auth: Auth, accepted_keys: frozenset[str] | None) -> None:
        self._require = auth.require
        self._accepted = accepted_keys
        self._numbers = itertools.count(1)
        self._keys: dict[str, int] = {}

    def entry(self, request: HttpRequest, transport: str, body: Body) -> dict[str, Any]:
        """The log entry of a request, without its keys.

        ``key`` is 1 for the first key, 2 for the next different one: enough to find a program
        that keeps using an old key.
        """
        entry: dict[str, Any] = {
            "n": next(self._numbers),
            "transport": transport,
            "method": request.method,
            "path": request.path,
            "query": shown_query(request.query),
            "headers": shown_headers(request.headers),
        }
        key = request.key
        if key is not None:
            digest = hashlib.sha256(key.encode()).hexdigest()
            entry["key"] = self._keys.setdefault(digest, len(self._keys) + 1)
        if request.body:
            entry["body"] = body.shown
        return entry

    def let_in(self, request: HttpRequest, api: Api | None) -> None:
        """Check that the client is accepted.

        Raises:
            NotLetInError: no key, or the wrong one.
        """
        key = request.key
        if key is None and (self._require != "nothing" or self._accepted is not None):
            raise NotLetInError(api, missing=True)
        wrong = self._accepted is not None and key not in self._accepted
        if self._require == "impossible" or wrong:
            raise NotLetInError(api, missing=False)


# Answers as plans: status, headers, steps, log entry.


JSON = {"content-type": "application/json"}
SSE = {"content-type": f"{sse.CONTENT_TYPE}; charset=utf-8", "cache-control": "no-cache"}


def plain(
    status: int, body: bytes, entry: dict[str, Any], headers: dict[str, str]
) -> PlannedAnswer:
    """An answer in one piece; JSON unless ``headers`` have another type."""
    steps = (AnswerPart(0, body),) if body else ()
    reply_headers = {**JSON, **headers}
    return PlannedAnswer(
        status=status, headers=reply_headers, steps=steps, entry={**entry, "status": status}
    )


def fixed(route: Route, entry: dict[str, Any]) -> PlannedAnswer:
    """The answer of a scripted route."""
    log_entry = {**entry, "operation": "route"}
    if route.json is not msgspec.UNSET:
        return plain(route.status, msgspec.json.encode(route.json), log_entry, route.headers)
    headers = {"content-type": "text/plain; charset=utf-8", **route.headers}
    return plain(route.status, (route.text or "").encode(), log_entry, headers)


def refusal(
    api: Api | None, status: int, message: str, entry: dict[str, Any], *, kind: str = ""
) -> PlannedAnswer:
    """An error that is not in the script."""
    body = APIS[api or "responses"].error(status, f"ptycassette fake provider: {message}", kind)
    return plain(status, msgspec.json.encode(body), entry, {})


def scripted_error(
    api: Api, failure: Failure, headers: dict[str, str], entry: dict[str, Any], *, delay_ms: int
) -> PlannedAnswer:
    """An HTTP error of the script."""
    body = APIS[api].error(failure.status, failure.message, failure.kind)
    if api == "gemini" and failure.details:
        body["error"]["details"] = failure.details
    return PlannedAnswer(
        status=failure.status,
        headers={**JSON, **headers},
        steps=(AnswerPart(delay_ms, msgspec.json.encode(body)),),
        entry={**entry, "status": failure.status},
    )


def socket_error(
    failure: Failure, headers: dict[str, str], entry: dict[str, Any], *, delay_ms: int = 0
) -> PlannedAnswer:
    """An error over a WebSocket: one message that also has the content of the headers."""
    event = openai_responses.websocket_error(failure.status, failure.message, failure.kind, headers)
    return PlannedAnswer(
        status=failure.status,
        headers={},
        steps=(AnswerPart(delay_ms, msgspec.json.encode(event)),),
        entry={**entry, "status": failure.status},
    )


def dropped(entry: dict[str, Any], *, delay_ms: int) -> PlannedAnswer:
    """No answer: the connection breaks."""
    return PlannedAnswer(
        status=0,
        headers={},
        steps=(AnswerPart(delay_ms, b""),),
        ending="disconnect",
        entry={**entry, "status": 0},
    )
