"""Answer a fork's questions from a live provider, through the recording proxy with its budget.

The program never has the user's key: it runs with a made-up one, in a temporary home, and off the
network. The key is put into the question on its way to the proxy.

A provider does not have the answers that came from a tape, and messages over a WebSocket of the
Responses API continue earlier answers by their ids. So each is sent as a separate request with the
whole conversation (``tape/providers/openai_responses.py``). Other WebSockets are refused with 426
(RFC 9110, 15.5.22).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import msgspec

from ptycassette.agents.fork.io.branch import QUIET_MS
from ptycassette.agents.fork.places import Change, ForkPlace, Tail
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.made_answers import made_hit
from ptycassette.errors import UsageError
from ptycassette.model.tape import Chunk
from ptycassette.recording.input_script import ScriptStep
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.ownership import Closing
from ptycassette.tape.consent.terms import Terms
from ptycassette.tape.io.running_proxy import RunningProxy, start_proxy
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question
from ptycassette.tape.providers.openai_responses import Conversations, asks, messages_of
from ptycassette.tape.providers.sse import CONTENT_TYPE
from ptycassette.tape.routing import known_providers

_RESPONSES = "/responses"
Headers = tuple[tuple[str, str], ...]
_OF_THE_CONNECTION = frozenset(
    ("accept-encoding", "connection", "content-encoding", "content-length", "expect", "host",
     "keep-alive", "te", "transfer-encoding", "upgrade")
)  # fmt: skip
_LONGEST_S = 600.0


class LiveTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The live provider, and what may be sent to it.

    Attributes:
        provider: its name or base URL; the parent's when empty.
        terms: what may leave the machine.
        key_variable: the variable with the key; the usual one of the API when empty.
    """

    provider: str = ""
    terms: Terms = Terms()
    key_variable: str = ""


class LiveTail(Closing):
    """The live provider's answers. An ``AnswerSource``.

    Args:
        live: the provider, and what may be sent to it.
        recorded: the provider that the parent's tape names most often. It counts only if it is a
            known one: the user's key never goes to an address that comes only from a cassette.
        environment: the user's environment, with the keys.

    Raises:
        PreflightError, ApprovalNeededError: as ``start_proxy``; nothing was started.
        UsageError: the provider is not known.
    """

    def __init__(self, live: LiveTerms, *, recorded: str, environment: Mapping[str, str]) -> None:
        self._live, self._environment = live, environment
        provider = live.provider or recorded
        if not provider:
            raise UsageError("the provider is not known", hint="add --provider NAME, or a base URL")
        if not live.provider and not known_providers().at(recorded):
            raise UsageError(
                f"the recording asked {recorded}, which is not a known provider",
                hint="if your key may go there, name it by --provider",
            )
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder())
            self._proxy: RunningProxy = stack.enter_context(
                start_proxy(
                    journal=folder / "live.journal",
                    provider=provider,
                    environment={},
                    terms=live.terms,
                )
            )
            self._stack = stack.pop_all()
        [self._route] = list(self._proxy.upstreams)[:1]
        self._conversations = Conversations()
        self._handshakes: dict[Hashable, Question] = {}

    def learn(self, question: Question, hit: Hit) -> None:
        """Note an answer from another source."""
        if question.kind == "websocket":
            self._handshakes[question.within] = question
        elif question.kind == "message":
            self._conversations.learn(question.body, [data for _, data in hit.pieces])

    def close(self) -> None:
        """End the proxy."""
        self._stack.close()

    @property
    def reports(self) -> Sequence[str]:
        """The questions that were not sent, and why."""
        self._proxy.problem  # noqa: B018 - it reads what the proxy has said
        return tuple(self._proxy.reports)

    async def __call__(self, question: Question) -> Hit | Miss:
        """See ``AnswerSource``."""
        if question.kind == "websocket":
            known = question.target.partition("?")[0].endswith(_RESPONSES)
            status = HTTPStatus.SWITCHING_PROTOCOLS if known else HTTPStatus.UPGRADE_REQUIRED
            self._handshakes[question.within] = question
            return made_hit(question, status, (), ())
        if question.kind == "message":
            return await self._message(question)
        return await self._http(question)

    async def _message(self, question: Question) -> Hit | Miss:
        opening = self._handshakes.get(question.within)
        if not asks(question.body):
            return made_hit(question, HTTPStatus.OK, (), ())
        pieces = self._conversations.warmed(question.body)
        if pieces is None:
            body = self._conversations.whole(question.body)
            if body is None or opening is None:
                return Miss(
                    asked="a message over a WebSocket",
                    reason="it continues what was not said here, or is of no API that is known",
                )
            request = msgspec.structs.replace(
                opening, kind="http", method="POST", body=body, headers=_as_request(opening.headers)
            )
            answer = await self._http(request)
            whole = b"".join(data for _, data in answer.pieces)
            if answer.status is None:
                return made_hit(question, 0, (), (), complete=False)
            pieces = tuple(messages_of(answer.status, whole))
        self._conversations.learn(question.body, pieces)
        made = tuple((Chunk(0, len(data), "text"), data) for data in pieces)
        return made_hit(question, HTTPStatus.OK, (), made)

    async def _http(self, question: Question) -> Hit:
        import aiohttp  # noqa: PLC0415 - only a live tail needs it

        url = f"http://127.0.0.1:{self._proxy.port}/{self._proxy.secrets[0]}/{self._route}"
        try:
            return await self._ask(url + question.target, question)
        except (aiohttp.ClientError, TimeoutError):
            return made_hit(question, 0, (), (), complete=False)

    async def _ask(self, url: str, question: Question) -> Hit:
        import aiohttp  # noqa: PLC0415 - as above

        timeout = aiohttp.ClientTimeout(total=_LONGEST_S)
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=True) as session,
            session.request(
                question.method,
                url,
                data=question.body or None,
                headers=dict(self._headers(question)),
                allow_redirects=False,
            ) as answer,
        ):
            pieces = [(Chunk(0, len(data)), data) async for data, _ in answer.content.iter_chunks()]
            headers = tuple(
                (name.lower(), value)
                for name, value in answer.headers.items()
                if name.lower() not in _OF_THE_CONNECTION
            )
            return made_hit(question, answer.status, headers, tuple(pieces))

    def _headers(self, question: Question) -> list[tuple[str, str]]:
        """The program's headers, with the user's key."""
        made = [one for one in question.headers if one[0] not in _OF_THE_CONNECTION]
        keyed = ((name, self._with_key(name, value)) for name, value in made)
        return [*keyed, ("accept-encoding", "identity")]

    def _with_key(self, name: str, value: str) -> str:
        keys = known_providers().keys
        if name not in keys:
            return value
        variables = (self._live.key_variable,) if self._live.key_variable else keys[name]
        key = next(filter(None, map(self._environment.get, variables)), "")
        if not key:
            return value
        return f"Bearer {key}" if name == "authorization" else key


def _as_request(headers: Headers) -> Headers:
    """The headers of a handshake, for a request instead."""
    kept = [
        (name, value)
        for name, value in headers
        if not name.startswith("sec-websocket") and "websocket" not in value.lower()
    ]
    kept += [("content-type", "application/json"), ("accept", CONTENT_TYPE)]
    return tuple(kept)


# How a recording is forked.


class ForkOptions(RerunOptions, frozen=True, kw_only=True):
    """The options of a fork: how to run the program, and what changes.

    Attributes:
        at: the place; before the first input when left out.
        change: the change; nothing when left out.
        tail: the source of later answers.
        script: a script of answers, for ``scripted``; the recorded answers when None.
        inputs: the later inputs; the rest of the recorded inputs when None.
        quiet_ms: how long the program must be quiet before the next of them is typed, if the
            recorded screen does not appear.
        live: the provider, and what may be sent to it, for ``live``.
        overwrite: replace the cassette at the target.
    """

    at: ForkPlace = ForkPlace("exchange", 1)
    change: Change = Change(kind="none")
    tail: Tail = "scripted"
    script: Path | None = None
    inputs: tuple[ScriptStep, ...] | None = None
    quiet_ms: int = QUIET_MS
    live: LiveTerms = LiveTerms()
    overwrite: bool = False
