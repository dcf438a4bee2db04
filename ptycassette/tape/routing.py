"""Find the provider for a request that reaches the proxy, or refuse the request.

A client that was pointed at the proxy by a base URL sends ``/TOKEN/ROUTE/path``. The token is
random and made for one recording. A web page in the user's browser or a program that scans ports
cannot guess it, so it cannot spend the user's key. A client that uses the proxy as an HTTP proxy
sends the token as the proxy password (RFC 9110, section 11.7).

The ``Host`` header must name this machine. This stops DNS rebinding, where an attacker's DNS server
points a name at 127.0.0.1, even if the attacker has the token.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.toml_text import package_text
from ptycassette.profiles.session_log import StrictTable, read_checked

if TYPE_CHECKING:
    import h11

    from ptycassette.model.tape import TapeEntry


_PORTS = {"http": 80, "https": 443}
_HERE = ("127.0.0.1", "localhost")


class NotServedError(Exception):
    """The proxy refuses a request; it does not appear in the tape.

    Args:
        status: the status of the answer.
        reason: the reason for the client.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Origin(msgspec.Struct, frozen=True):
    """A scheme, a host and a port to connect to."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, scheme: str, authority: str) -> Origin:
        """The origin of a scheme and an authority.

        Raises:
            ValueError: the authority is invalid, or the scheme is neither http nor https.
        """
        if scheme not in _PORTS:
            raise ValueError(f"the scheme {scheme!r} is neither http nor https")
        parts = urlsplit(f"{scheme}://{authority}")
        if not parts.hostname or parts.netloc != authority or parts.username is not None:
            raise ValueError(f"{authority!r} is not a host")
        return cls(scheme, parts.hostname, parts.port or _PORTS[scheme])

    @property
    def authority(self) -> str:
        """The authority for a ``Host`` header: without the port if it is the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


class Destination(msgspec.Struct, frozen=True):
    """The server for a request, and the target (path and query) to send."""

    origin: Origin
    target: str


class Routes:
    """The routes that the proxy serves.

    Args:
        token: the secret of this recording.
        port: the port that the proxy listens on.
        upstreams: the base URL of the provider, by the name of its route.
        forward: whether it is also an HTTP proxy.

    Raises:
        UsageError: an upstream is not a base URL.
    """

    def __init__(
        self, *, token: str, port: int, upstreams: Mapping[str, str], forward: bool
    ) -> None:
        self._token = token.encode()
        self._hosts = frozenset(f"{host}:{port}" for host in _HERE)
        self._forward = forward
        self._upstreams = {name: base_url(url) for name, url in upstreams.items()}

    def destination(self, request: h11.Request) -> Destination:
        """The destination of a request that came to the port itself, not through a tunnel.

        Raises:
            NotServedError: no route matches, or the request is not from this recording's client.
        """
        target = request.target.decode("ascii")
        if not target.startswith("/"):
            return self._forwarded(request, target)
        if header(request, b"host").lower() not in self._hosts:
            raise NotServedError(421, "this is not the host that you think it is")
        _, token, *rest = target.split("/", 3)
        if not hmac.compare_digest(token.encode(), self._token) or not rest:
            raise NotServedError(404, "not found")
        name, mark, query = rest[0].partition("?")
        upstream = self._upstreams.get(name)
        if upstream is None:
            raise NotServedError(404, f"no route {name}")
        path = f"/{rest[1]}" if len(rest) > 1 else f"/{mark}{query}"
        return Destination(upstream.origin, upstream.target + path)

    def tunnel(self, request: h11.Request) -> str:
        """The authority in a CONNECT request.

        Raises:
            NotServedError: it is not a valid CONNECT from this recording's client.
        """
        self._check_proxy_user(request)
        return request.target.decode("ascii")

    def _forwarded(self, request: h11.Request, target: str) -> Destination:
        self._check_proxy_user(request)
        try:
            parts = urlsplit(target)
            origin = Origin.of(parts.scheme, parts.netloc)
        except ValueError as wrong:
            raise NotServedError(400, str(wrong)) from wrong
        path = parts._replace(scheme="", netloc="", fragment="").geturl()
        return Destination(origin, path if path.startswith("/") else f"/{path}")

    def _check_proxy_user(self, request: h11.Request) -> None:
        if not self._forward:
            raise NotServedError(404, "not found")
        kind, _, code = header(request, b"proxy-authorization").partition(" ")
        try:
            _, _, password = base64.b64decode(code, validate=True).partition(b":")
        except ValueError:  # not base64, or not ASCII
            password = b""
        if kind.lower() != "basic" or not hmac.compare_digest(password, self._token):
            raise NotServedError(407, "this proxy belongs to a recording")


def header(request: h11.Request, name: bytes) -> str:
    """The value of a header; empty if it is missing."""
    return next((value.decode("latin-1") for key, value in request.headers if key == name), "")


def host_and_port(url: str) -> tuple[str, int | None]:
    """Host and port of an untrusted address; the host is "" if the address is invalid."""
    try:
        parts = urlsplit(url)
        place = parts.hostname or "", parts.port
    except ValueError:  # brackets without an IPv6 address, or a port that is not a number
        return "", None
    return place


def base_url(url: str) -> Destination:
    """Parse a provider's base URL: its origin, and the path that all targets begin with.

    Raises:
        UsageError: it is not a base URL.
    """
    try:
        parts = urlsplit(url)
        origin = Origin.of(parts.scheme, parts.netloc)
    except ValueError as wrong:
        raise UsageError(f"{url!r} is not a base URL of a provider: {wrong}") from wrong
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} is not a base URL of a provider: it has a query")
    return Destination(origin, parts.path.rstrip("/"))


# The known providers: their addresses, and how programs are usually pointed at them.


class Provider(StrictTable, frozen=True, kw_only=True):
    """A provider: its base URL without a version, and the variables that programs read.

    Attributes:
        also: its other names.
        models: prefixes of the names of its models.
        messages: the path of questions that have ``messages``.
        contents: the path of questions that have ``contents``, with ``{model}``; empty if the
            provider does not support them.
    """

    url: str
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    also: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    messages: str = "/v1/chat/completions"
    contents: str = ""


class _ProxyVariables(StrictTable, frozen=True, kw_only=True):
    environment: dict[str, str]


class Providers(StrictTable, frozen=True, kw_only=True):
    """The file ``providers.toml``.

    Attributes:
        keys: headers for keys, and the variables in which users have these keys.
        key_variables: all variables for keys, with the ends of the names of hosts that take them.
        proxy: the variables that programs read for an HTTP proxy.
    """

    version: int
    providers: dict[str, Provider]
    keys: dict[str, tuple[str, ...]]
    key_variables: dict[str, tuple[str, ...]]
    proxy: _ProxyVariables

    @classmethod
    def parse(cls, text: str, *, where: str = "providers.toml") -> Providers:
        """Read and check the file.

        Raises:
            UsageError: the file is wrong; names the fault and the nearest known name.
        """
        return read_checked(text, cls, where=where, known=(Provider, _ProxyVariables))

    def named(self, name: str) -> Provider | None:
        """The provider with a name, ignoring case; None if there is no such provider."""
        wanted = name.lower()
        known = self.providers.items()
        return next((one for key, one in known if wanted in {key, *one.also}), None)

    def at(self, url: str) -> bool:
        """Whether this is the base URL of a known provider."""
        return any(one.url == url for one in self.providers.values())

    def of_model(self, model: str) -> Provider:
        """The provider of a model; the longest matching prefix decides."""
        beginnings = {start: one for one in self.providers.values() for start in one.models}
        return beginnings[max(filter(model.startswith, beginnings), key=len)]

    def keys_at(self, host: str) -> list[tuple[str, ...]]:
        """The variables with the keys that a host takes; each tuple has alternatives."""
        taken = (
            name
            for name, ends in self.key_variables.items()
            if any(host == end or host.endswith(f".{end}") for end in ends)
        )
        groups = (
            next((one for one in self.keys.values() if name in one), (name,)) for name in taken
        )
        return list(dict.fromkeys(groups))

    def base_url_variables(self, url: str) -> dict[str, str]:
        """The usual variables of all providers, set to one base URL without a version."""
        return {
            name: value.replace("${url}", url)
            for one in self.providers.values()
            for name, value in one.environment.items()
        }


@cache
def known_providers() -> Providers:
    """The providers of ``providers.toml``."""
    return Providers.parse(package_text(__package__, "providers.toml"))


MADE_UP_KEY = "0" * 40
"""The key of a replay: SDKs send nothing without one.

The scrubber takes it for no secret. It would look for words, also in the name of a fork.
"""
_OF_OPENAI = (
    *("/audio", "/batches", "/chat/completions", "/completions", "/embeddings", "/images"),
    *("/models", "/moderations", "/responses"),
    *("/v1/containers", "/v1/conversations", "/v1/evals", "/v1/files", "/v1/fine_tuning"),
    *("/v1/uploads", "/v1/vector_stores", "/v1/videos"),
)


def key_header(target: str) -> str:
    """The header for the key of an API; empty if the API is unknown.

    Args:
        target: path and query of a request (``/v1/messages``).
    """
    path, _, query = target.partition("?")
    _, below, rest = path.rpartition("/models/")
    if below and ":" in rest and "/" not in rest:
        return "x-goog-api-key"
    if "/messages/" in f"{path}/" or ("/v1/" in path and query == "beta=true"):
        return "x-api-key"
    return "authorization" if any(f"{one}/" in f"{path}/" for one in _OF_OPENAI) else ""


def key_variables(entries: Iterable[TapeEntry]) -> list[tuple[str, ...]]:
    """The variables in which SDKs look for the keys of recorded requests.

    An unknown host takes the key of its API. A program may choose its provider by the keys that it
    has, so there are no variables of other providers. Each tuple has alternatives.
    """
    known = known_providers()
    groups: dict[tuple[str, ...], None] = {}
    for upstream, target in dict.fromkeys((one.upstream, one.target) for one in entries):
        found = known.keys_at(host_and_port(upstream)[0])
        if not found and "/openai/deployments/" in target:
            found = [("AZURE_OPENAI_API_KEY",)]
        if not found and target.startswith("/model/"):  # Bedrock
            found = known.keys_at("amazonaws.com")
        if not found and (header := key_header(target)):
            found = [known.keys[header]]
        groups |= dict.fromkeys(found)
    return list(groups)


_AZURE_TARGET = re.compile(r"(.*?)/openai/[^?]*\?(?:.*&)?api-version=([\w.-]+)")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]+")


def place_variables(
    entries: Iterable[TapeEntry], keys: Collection[str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Variables that are not secret, without which SDKs of Azure and AWS make no client.

    Their values come from the recorded requests.

    Args:
        entries: the recorded requests.
        keys: the variables with keys; those of other providers need no others.
        environment: what is set there is left out.
    """
    found: dict[str, str] = {}
    region, azure = "", known_providers().key_variables["AZURE_OPENAI_API_KEY"]
    for upstream, target in dict.fromkeys((one.upstream, one.target) for one in entries):
        host = host_and_port(upstream)[0]
        local = host in {"127.0.0.1", "localhost", "::1"}
        at_azure = local or any(host.endswith(f".{end}") for end in azure)
        if at_azure and (parts := _AZURE_TARGET.match(target)):
            found |= {
                "AZURE_OPENAI_ENDPOINT": upstream + parts[1],
                "OPENAI_API_VERSION": parts[2],
                "AZURE_API_BASE": upstream + parts[1],
                "AZURE_API_VERSION": parts[2],
            }
        if host.endswith(".amazonaws.com"):
            region = region or next(filter(_REGION.fullmatch, host.split(".")), "")
    if not any(name.startswith("AZURE_") for name in keys):
        found = {}
    regions = ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_REGION_NAME")
    if any(name.startswith("AWS_") for name in keys) and not any(map(environment.get, regions)):
        found |= dict.fromkeys(regions, region or "us-east-1")
    return {name: value for name, value in found.items() if not environment.get(name)}


# The interface through which the proxy asks whether a question may leave the machine.


class QuestionRefusedError(Exception):
    """A question must not leave the machine; gives the reason for the user and the CLI."""


class OutgoingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, or a message over a WebSocket, before it is sent on.

    ``packing`` is the content encoding of ``body``; names in ``headers`` are in lower case.
    """

    exchange: int
    origin: Origin
    method: str
    target: str
    body: bytes
    packing: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    over_websocket: bool = False


class Permitted(NamedTuple):
    """The permitted part of a question; ``left_out`` are the paths of the rest."""

    body: bytes
    left_out: tuple[str, ...] = ()


class Gate(Protocol):
    """Sees questions before they are sent on, and the answers. It never waits."""

    def reads(self, origin: Origin) -> bool:
        """Whether questions to this provider must be held until they are judged."""

    def judge(self, question: OutgoingRequest) -> Permitted:
        """The body to send on: the question's body, or less.

        Raises:
            QuestionRefusedError: nothing of it may be sent on.
        """

    def begun(self, exchange: int, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of an answer, names in lower case."""

    def answered(self, exchange: int, data: bytes) -> None:
        """Take a piece of an answer, as received."""

    def said(self, exchange: int, data: bytes) -> None:
        """Take a message of the provider over a WebSocket."""

    def over(self, exchange: int, *, sent: bool) -> None:
        """Note that an exchange is complete.

        Args:
            exchange: its number.
            sent: whether anything of it was sent to the provider.
        """
