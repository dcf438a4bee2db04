"""The fake provider without its sockets: turn a request into the plan of an answer.

Rules:

* Scripted routes come first, then the known paths of the four APIs; anything else is a 404 in the
  form of an API, and a *problem*.
* A request is parsed strictly. If the API would refuse it, or this fake does not support it, the
  answer is the API's error, and that is a problem. A top-level field that is new to this fake is
  accepted and named in the log, unless it looks mistyped.
* The first reply that matches and is not used up answers. If there is none, that is a problem.
* A scripted failure is not a problem.
* The same requests in the same order give the same bytes, except for times.

Tests should check the problems: each is one line that names what to fix.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from typing import Any, Literal

import msgspec

from ptycassette.agents.harness.fake import _limits as chatgpt
from ptycassette.agents.harness.fake import script as plans
from ptycassette.agents.harness.fake._limits import RateLimits, codex_event, limit_headers
from ptycassette.agents.harness.fake.script import (
    AnswerPart,
    Body,
    Door,
    Ending,
    Failure,
    HttpRequest,
    NotLetInError,
    Pace,
    PlannedAnswer,
    Replies,
    Reply,
    Route,
    Script,
    make_answer,
    read_body,
    streamed,
)
from ptycassette.model.ports import Clock
from ptycassette.tape.providers import anthropic, gemini, openai_chat, openai_responses
from ptycassette.tape.providers.answers import APIS
from ptycassette.tape.providers.neutral import (
    Answer,
    Api,
    Ask,
    Call,
    Message,
    Stamp,
    Text,
    WireError,
)

# The memory of a provider, and its checks of conversations.


_KEPT = 64


class History:
    """Conversations by the id of their last answer; the oldest are forgotten."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[Message, ...]] = {}

    def keep(self, answer_id: str, ask: Ask, answer: Answer | None) -> None:
        """Store a conversation and its answer, under the answer's id."""
        said: tuple[Message, ...] = ()
        if answer is not None:
            text = "".join(part.text for part in answer.parts if isinstance(part, Text))
            calls = tuple(part for part in answer.parts if isinstance(part, Call))
            said = (Message("assistant", text, calls),)
        self._turns[answer_id] = ask.turns + said
        while len(self._turns) > _KEPT:
            del self._turns[next(iter(self._turns))]

    def continued(self, ask: Ask, previous_id: str | None) -> Ask:
        """``ask`` with the conversation before it.

        Raises:
            WireError: the id is unknown.
        """
        if previous_id is None:
            return ask
        before = self._turns.get(previous_id)
        if before is None:
            raise WireError(
                f"Previous response with id {previous_id!r} not found.",
                kind="previous_response_not_found",
            )
        return Ask(
            api=ask.api,
            model=ask.model,
            stream=ask.stream,
            turns=before + ask.turns,
            tools=ask.tools,
            wants_usage=ask.wants_usage,
            sse=ask.sse,
        )

    def check(self, ask: Ask) -> None:
        """Check that each result belongs to a call: by id, or by name if there is no id.

        Raises:
            WireError: a result without its call, or a call without a result before the
                conversation goes on.
        """
        called: dict[str, str] = {}
        answered: set[str] = set()
        waiting: dict[str, deque[str]] = {}
        for turn in ask.turns:
            for use in turn.calls:
                if use.call_id:
                    called[use.call_id] = use.name
                    waiting.setdefault(use.name, deque()).append(use.call_id)
            for result in turn.results:
                if result.call_id and result.call_id not in called:
                    raise WireError(f"a tool result for {result.call_id!r}, which no call has")
                open_calls = waiting.get(result.name, deque())
                answered.add(result.call_id or _oldest_open(open_calls, answered))
        missing = called.keys() - answered
        if missing:
            raise WireError(f"no tool result for the call {min(missing)!r}")


def _oldest_open(calls: deque[str], answered: set[str]) -> str:
    """The first tool call that has no result yet; empty if there is none.

    Gemini accepts results that name only the function.
    """
    while calls and calls[0] in answered:
        calls.popleft()
    return calls[0] if calls else ""


# Find the API and the operation for a method and a path.


OperationName = Literal["hello", "generate", "count", "models", "model", "account", "usage"]


class Operation(msgspec.Struct, frozen=True):
    """The operation of a request. ``model`` is set if the path names one."""

    api: Api | None
    name: OperationName
    model: str = ""
    stream: bool = False


_GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+)(?::([A-Za-z]+))?")
_GEMINI_LIST = re.compile(r"/v1(?:beta|alpha)/models")
_GEMINI_VERBS: dict[str, tuple[OperationName, bool]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count", False),
}
_FIXED: dict[str, tuple[str, Operation]] = {
    "/v1/messages": ("POST", Operation("anthropic", "generate")),
    "/v1/messages/count_tokens": ("POST", Operation("anthropic", "count")),
    "/v1/responses": ("POST", Operation("responses", "generate")),
    "/v1/chat/completions": ("POST", Operation("chat", "generate")),
    "/backend-api/wham/accounts/check": ("GET", Operation("responses", "account")),
    "/backend-api/wham/usage": ("GET", Operation("responses", "usage")),
}


def find_operation(request: HttpRequest) -> Operation:
    """The operation of a request.

    ``/v1/models`` belongs to three APIs: Anthropic's clients send ``anthropic-version``,
    Google's have a key header of their own.

    Raises:
        WireError: 404 for an unknown path, 405 for a wrong method.
    """
    path, method = request.path, request.method
    if path == "/" and method in {"GET", "HEAD"}:
        return Operation(None, "hello")
    if path in _FIXED:
        wanted, operation = _FIXED[path]
        return _only(method, wanted, path, operation)
    api = _owner_of_v1(request)
    if path == "/v1/models":
        return _only(method, "GET", path, Operation(api, "models"))
    if _GEMINI_LIST.fullmatch(path):
        return _only(method, "GET", path, Operation("gemini", "models"))
    found = _GEMINI.fullmatch(path)
    if found is not None and found[2] is None:
        owner: Api = api if path.startswith("/v1/") else "gemini"
        return _only(method, "GET", path, Operation(owner, "model", found[1]))
    if found is not None and found[2] in _GEMINI_VERBS:
        name, stream = _GEMINI_VERBS[found[2]]
        return _only(method, "POST", path, Operation("gemini", name, found[1], stream))
    raise WireError(f"unknown path: {method} {path}", status=404)


def _owner_of_v1(request: HttpRequest) -> Api:
    if "anthropic-version" in request.headers:
        return "anthropic"
    return "gemini" if "x-goog-api-key" in request.headers else "responses"


def _only(method: str, wanted: str, path: str, operation: Operation) -> Operation:
    """``operation``, if the method is right."""
    if method != wanted:
        raise WireError(f"{path} takes {wanted}, not {method}", status=405)
    return operation


_Entry = dict[str, Any]


class FakeProvider:
    """A scripted provider as a state machine. Not safe for use from several threads.

    Args:
        script: the answers.
        clock: for ``created`` fields and the resets of limits.
        accepted_keys: if given, only these API keys are accepted.
        first_number: the first number for ids in its answers, which are counted.
    """

    def __init__(
        self,
        script: Script,
        clock: Clock,
        *,
        accepted_keys: frozenset[str] | None = None,
        first_number: int = 1,
    ) -> None:
        self._script = script
        self._clock = clock
        self._door = Door(script.auth, accepted_keys)
        self._replies = Replies(script)
        self._history = History()
        self._stamps = itertools.count(first_number)
        self._calls = itertools.count(first_number)
        self.problems: list[str] = []

    @property
    def unused(self) -> tuple[str, ...]:
        """The names of replies that were not requested, or not often enough."""
        return self._replies.unused()

    def http(self, request: HttpRequest) -> PlannedAnswer:
        """Answer one HTTP request."""
        body = read_body(request.body)
        entry = self._door.entry(request, "http", body)
        api: Api | None = None
        try:
            route = self._route(request)
            if route is not None:
                return plans.fixed(route, entry)
            operation = find_operation(request)
            api = operation.api
            entry["operation"] = operation.name if api is None else f"{api}.{operation.name}"
            if api is None:
                return plans.plain(200, b'{"ptycassette":"fake provider"}', entry, {})
            self._door.let_in(request, api)
            return self._operate(api, operation, request, body, entry)
        except NotLetInError as refused:
            return plans.refusal(api, refused.status, refused.message, entry)
        except WireError as wrong:
            self._problem(entry, wrong.message)
            return plans.refusal(api, wrong.status, wrong.message, entry, kind=wrong.kind)

    def refuse(self, request: HttpRequest, wrong: WireError) -> PlannedAnswer:
        """Refuse an HTTP request without reading its body, in the form of its API."""
        entry = self._door.entry(request, "http", read_body(b""))
        self._problem(entry, wrong.message)
        try:
            api = find_operation(request).api
        except WireError:
            api = None
        return plans.refusal(api, wrong.status, wrong.message, entry, kind=wrong.kind)

    def connect(self, request: HttpRequest) -> PlannedAnswer:
        """Decide about a WebSocket handshake: status 101 to accept, anything else to refuse."""
        entry = self._door.entry(request, "websocket", read_body(b""))
        entry["operation"] = "responses.connect"
        if request.path != "/v1/responses":
            message = f"unknown WebSocket path: {request.path}"
            self._problem(entry, message)
            return plans.refusal("responses", 404, message, entry)
        if not self._script.websocket:
            return plans.refusal("responses", 426, "no WebSocket here", entry)
        try:
            self._door.let_in(request, "responses")
        except NotLetInError as refused:
            return plans.refusal("responses", refused.status, refused.message, entry)
        return PlannedAnswer(status=101, headers={}, steps=(), entry={**entry, "status": 101})

    def message(self, text: str, request: HttpRequest) -> PlannedAnswer:
        """Answer one WebSocket message; each step of the answer is one text message.

        Args:
            text: the client's message.
            request: the handshake.
        """
        sent = read_body(text.encode("utf-8", "surrogatepass"))
        entry = self._door.entry(request, "websocket", sent)
        entry |= {"operation": "responses.generate", "body": sent.shown}
        try:
            body = sent.json
            if openai_responses.confirms(body):
                # Codex acknowledges events; there is no answer to that.
                log_entry = {**entry, "operation": "responses.processed", "status": 200}
                return PlannedAnswer(status=200, headers={}, steps=(), entry=log_entry)
            return self._generate_responses(body, entry, websocket=True)
        except WireError as wrong:
            self._problem(entry, wrong.message)
            failure = Failure(status=wrong.status, message=wrong.message, kind=wrong.kind)
            return plans.socket_error(failure, {}, entry)

    def _route(self, request: HttpRequest) -> Route | None:
        for route in self._script.routes:
            if (route.method, route.path) == (request.method, request.path):
                return route
        return None

    def _problem(self, entry: _Entry, message: str) -> None:
        """Note a request that neither the script nor the API expects."""
        entry["problem"] = message
        self.problems.append(f"request {entry['n']} {entry['method']} {entry['path']}: {message}")

    def _operate(
        self, api: Api, operation: Operation, request: HttpRequest, sent: Body, entry: _Entry
    ) -> PlannedAnswer:
        if operation.name in {"models", "model"}:
            return self._models(api, operation, entry)
        if operation.name in {"account", "usage"}:
            return self._account(operation, request, entry)
        body = sent.json
        if operation.name == "count":
            return self._count(api, operation, body, entry)
        if api == "responses":
            return self._generate_responses(body, entry, websocket=False)
        ask, unknown = self._parse(api, operation, body, request)
        self._note_unknown(unknown, entry)
        self._history.check(ask)
        return self._generate(ask, entry, framing=openai_responses.Framing(), websocket=False)[0]

    def _models(self, api: Api, operation: Operation, entry: _Entry) -> PlannedAnswer:
        """The list of models, or one of them."""
        mine = [one for one in self._script.models if api in one.apis]
        if operation.name == "model":
            mine = [one for one in mine if one.id == operation.model]
            if not mine:
                raise WireError(f"the script has no model {operation.model!r}", status=404)
        body = APIS[api].models([(one.id, one.name or one.id) for one in mine])
        if operation.name == "model":
            body = body[APIS[api].LIST][0]
        return plans.plain(200, msgspec.json.encode(body), entry, self._script.headers)

    def _account(self, operation: Operation, request: HttpRequest, entry: _Entry) -> PlannedAnswer:
        """A request of Codex about a ChatGPT account, which exists if the script has its limits."""
        limits = self._script.limits.codex
        if limits is None:
            raise WireError("the script has no limits.codex", status=404)
        if operation.name == "usage":
            body = chatgpt.usage(limits, int(self._clock.wall().timestamp()))
        else:
            account_id = request.headers.get("chatgpt-account-id", "fake-account")
            body = chatgpt.account(account_id, limits.plan_type or "plus")
        return plans.plain(200, msgspec.json.encode(body), entry, self._script.headers)

    def _note_unknown(self, unknown: tuple[str, ...], entry: _Entry) -> None:
        """Name accepted unknown fields in the log, and as a problem if the script asks for that."""
        if unknown:
            entry["unknown_fields"] = list(unknown[:_NAMES_SHOWN])
        if unknown and self._script.unknown_fields == "report":
            self._problem(entry, f"unknown request field, let through: {', '.join(unknown)}")

    def _parse(
        self, api: Api, operation: Operation, body: Any, request: HttpRequest
    ) -> tuple[Ask, tuple[str, ...]]:
        """A request of one of the three APIs without continuations."""
        if api != "gemini":
            parse = anthropic.parse if api == "anthropic" else openai_chat.parse
            return parse(body, unknown_fields=self._script.unknown_fields)
        return gemini.parse(
            body,
            model=operation.model,
            stream=operation.stream,
            sse=request.asked("alt") == "sse",
            unknown_fields=self._script.unknown_fields,
        )

    def _count(self, api: Api, operation: Operation, body: Any, entry: _Entry) -> PlannedAnswer:
        """An estimate of the number of tokens in a request."""
        if api == "anthropic":
            ask, unknown = anthropic.parse(
                body, unknown_fields=self._script.unknown_fields, counting=True
            )
        else:
            ask, unknown = gemini.count(
                body, model=operation.model, unknown_fields=self._script.unknown_fields
            )
        self._note_unknown(unknown, entry)
        return plans.plain(200, msgspec.json.encode({APIS[api].COUNT: ask.size_tokens}), entry, {})

    def _generate_responses(self, body: Any, entry: _Entry, *, websocket: bool) -> PlannedAnswer:
        """A request of the Responses API, which may continue an earlier answer."""
        ask, context, unknown = openai_responses.parse(
            body, unknown_fields=self._script.unknown_fields
        )
        self._note_unknown(unknown, entry)
        ask = self._history.continued(ask, context.previous_id)
        self._history.check(ask)
        framing = openai_responses.Framing(websocket=websocket)
        if not context.generate:
            stamp = self._stamp()
            self._history.keep(stamp.id("resp"), ask, None)
            steps = tuple(
                AnswerPart(0, piece.data) for piece in openai_responses.warmed(ask, stamp, framing)
            )
            log_entry = {**entry, "status": 200, "operation": "responses.warm"}
            return PlannedAnswer(status=200, headers=plans.SSE, steps=steps, entry=log_entry)
        exchange, stamp, answer = self._generate(ask, entry, framing=framing, websocket=websocket)
        self._history.keep(stamp.id("resp"), ask, answer)
        return exchange

    def _stamp(self) -> Stamp:
        return Stamp(next(self._stamps), int(self._clock.wall().timestamp()))

    def _generate(
        self, ask: Ask, entry: _Entry, *, framing: openai_responses.Framing, websocket: bool
    ) -> tuple[PlannedAnswer, Stamp, Answer | None]:
        name, reply = self._replies.pick(ask)
        entry["reply"] = name
        stamp = self._stamp()
        headers = self._headers(ask, reply, stamp)
        pace = reply.pace or self._script.pace
        streaming = ask.stream or websocket
        if _fails_at_once(reply, streaming=streaming):
            return _failed(ask, reply, headers, entry, pace, websocket=websocket), stamp, None
        answer = make_answer(
            reply, ask, chunk_chars=pace.chunk_chars, next_call_id=lambda: self._call_id(ask.api)
        )
        if streaming:
            steps, ending = streamed(reply, answer, ask, stamp, pace=pace, framing=framing)
            first = codex_event(self._limits(reply), stamp.created_s) if websocket else None
            if first is not None:
                steps = (AnswerPart(0, msgspec.json.encode(first)), *steps)
            reply_headers = {**(plans.SSE if ask.sse else plans.JSON), **headers}
        else:
            steps, ending = _in_one_piece(reply, answer, ask, stamp, pace)
            reply_headers = {**plans.JSON, **headers}
        log_entry = {**entry, "status": 200}
        exchange = PlannedAnswer(
            status=200, headers=reply_headers, steps=steps, ending=ending, entry=log_entry
        )
        return exchange, stamp, answer

    def _limits(self, reply: Reply) -> RateLimits:
        return reply.limits or self._script.limits

    def _headers(self, ask: Ask, reply: Reply, stamp: Stamp) -> dict[str, str]:
        """Request id, limits, and the script's headers."""
        return {
            APIS[ask.api].REQUEST_ID: stamp.id("req"),
            **limit_headers(self._limits(reply), ask.api, stamp.created_s),
            **self._script.headers,
            **reply.headers,
        }

    def _call_id(self, api: Api) -> str:
        """The id of the next tool call, in the format of the API."""
        return f"{APIS[api].CALL_PREFIX}_fake_{next(self._calls):06d}"


_NAMES_SHOWN = 20


def _fails_at_once(reply: Reply, *, streaming: bool) -> bool:
    """Whether a reply is a failure from the start; an error cannot break JSON off."""
    if reply.error is not None:
        return reply.after_events is None or not streaming
    return reply.disconnect and reply.after_events is None


def _in_one_piece(
    reply: Reply, answer: Answer, ask: Ask, stamp: Stamp, pace: Pace
) -> tuple[tuple[AnswerPart, ...], Ending]:
    """An answer without a stream; if it is broken off, half of it arrives."""
    body = msgspec.json.encode(APIS[ask.api].whole(answer, ask, stamp))
    if reply.after_events is not None:
        return (AnswerPart(pace.first_ms, body[: len(body) // 2]),), "disconnect"
    return (AnswerPart(pace.first_ms, body),), "complete"


def _failed(
    ask: Ask, reply: Reply, headers: dict[str, str], entry: _Entry, pace: Pace, *, websocket: bool
) -> PlannedAnswer:
    failure = reply.error
    if failure is None:
        return plans.dropped(entry, delay_ms=pace.first_ms)
    if failure.retry_after_s is not None:
        headers = {**headers, "retry-after": str(failure.retry_after_s)}
    if websocket:
        return plans.socket_error(failure, headers, entry, delay_ms=pace.first_ms)
    return plans.scripted_error(ask.api, failure, headers, entry, delay_ms=pace.first_ms)
