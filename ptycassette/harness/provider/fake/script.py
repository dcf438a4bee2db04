"""Provider scripts: what a fake provider answers. TOML text in, a checked script out.

``docs/fake-provider.md`` describes the format. A script is checked completely before
the first request: an unknown name, a wrong type or contradicting fields are errors
that name the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ptycassette.errors import UsageError
from ptycassette.harness.provider.fake._limits import RateLimits
from ptycassette.harness.provider.wire.fields import UnknownFields
from ptycassette.harness.provider.wire.neutral import Api, Stop
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import read_toml, suggest


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
    """Token counts of an answer; what is left out is estimated."""

    input: int | None = None
    output: int | None = None
    cached_input: int = 0
    reasoning_output: int = 0


class Failure(_Checked, frozen=True, kw_only=True):
    """An error in place of an answer, or in the middle of one (``after_events``).

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

    ``model`` may hold ``*`` and ``?``. ``after`` is who spoke last: the user
    (``prompt``) or a tool. ``tools`` is whether the request offers any.
    """

    api: Api | None = None
    model: str | None = None
    prompt_contains: str | None = None
    system_contains: str | None = None
    result_contains: str | None = None
    after: Literal["prompt", "tool"] | None = None
    tools: bool | None = None


class Reply(_Checked, frozen=True, kw_only=True):
    """One answer. ``times`` 0 means for ever."""

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
    """Which clients are accepted: all (default), those with a key, or none."""

    require: Literal["nothing", "key", "impossible"] = "nothing"


class Script(_Checked, frozen=True, kw_only=True):
    """A whole script. ``unknown_fields``: what becomes of a request with a field that is new."""

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
