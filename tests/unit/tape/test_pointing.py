"""How programs are pointed at the proxy, and what the proxy makes of what they send then."""

from __future__ import annotations

import base64
from pathlib import Path

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import UsageError
from ptycassette.profiles.profile import Profile
from ptycassette.tape import pointing as module
from ptycassette.tape.pointing import Pointing, pointing
from ptycassette.tape.routing import (
    Destination,
    NotServedError,
    Origin,
    Routes,
    base_url,
    host_and_port,
    known_providers,
)

FOLDER = Path(module.__file__).parent
PROVIDERS = known_providers()
PROFILES = FOLDER.parent / "profiles"
BASE = "http://127.0.0.1:7/TOKEN"


def profile(name: str) -> Profile:
    """A built-in profile."""
    return Profile.parse((PROFILES / f"{name}.toml").read_text())


def pointed(
    name: str | None = None,
    provider: str | None = None,
    *,
    proxy_env: bool = False,
    **environment: str,
) -> Pointing:
    """How a program is pointed at the proxy."""
    return pointing(
        PROVIDERS,
        profile=profile(name) if name else None,
        provider=provider,
        proxy_env=proxy_env,
        environment=environment,
    )


def at(where: Pointing) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment and arguments for a proxy."""
    return where.at(BASE, proxy="http://p:TOKEN@127.0.0.1:7", ca="/ca.pem")


@pytest.mark.parametrize(
    ("name", "environment", "arguments", "upstreams"),
    [
        (
            "codex",
            {},
            ("-c", f'openai_base_url="{BASE}/openai/v1"'),
            {"openai": "https://api.openai.com"},
        ),
        (
            "claude",
            {"ANTHROPIC_BASE_URL": f"{BASE}/anthropic", "ANTHROPIC_API_BASE": f"{BASE}/anthropic"},
            (),
            {"anthropic": "https://api.anthropic.com"},
        ),
        (
            "gemini",
            {"GOOGLE_GEMINI_BASE_URL": f"{BASE}/gemini"},
            (),
            {"gemini": "https://generativelanguage.googleapis.com"},
        ),
    ],
)
def test_a_profile_says_how(
    name: str,
    environment: dict[str, str],
    arguments: tuple[str, ...],
    upstreams: dict[str, str],
) -> None:
    """By variables where the CLI has one, else by arguments."""
    where = pointed(name)

    assert at(where) == (environment, arguments)
    assert where.upstreams == upstreams


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_profile_can_be_filled_in(path: Path) -> None:
    """Its names are those of providers, and one of its routes is its own provider's."""
    if profile(path.stem).tape.proxy_only:
        assert pointed(path.stem, proxy_env=True).environment
    elif not profile(path.stem).tape.provider:
        with pytest.raises(UsageError, match=r"the provider of .* is not known"):
            pointed(path.stem)
    else:
        where = pointed(path.stem)
        assert "${" not in str(at(where))
        assert profile(path.stem).tape.provider in where.upstreams


def test_a_url_is_where_the_traffic_goes() -> None:
    """With or without the version that the variable has."""
    for url in ("http://127.0.0.1:9", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"):
        assert pointed("qwen", url).upstreams == {"openai": "http://127.0.0.1:9"}
        assert pointed("codex", url).upstreams == {"openai": "http://127.0.0.1:9"}  # in quotes


def test_without_a_proxy_the_program_asks_the_provider_itself() -> None:
    """In the form that its profile says, with the version that the variable has."""
    where = pointed("codex", "http://127.0.0.1:9/v1/")
    usual = pointed(None, "http://127.0.0.1:9/")

    assert where.at_upstreams() == ({}, ("-c", 'openai_base_url="http://127.0.0.1:9/v1"'))
    assert usual.at_upstreams()[0] == PROVIDERS.base_url_variables("http://127.0.0.1:9")


def test_a_base_url_of_the_users_own_is_where_the_traffic_goes() -> None:
    """As it went without us."""
    where = pointed("qwen", OPENAI_BASE_URL="https://gateway.example/llm/v1/")

    assert where.upstreams == {"openai": "https://gateway.example/llm"}


def test_a_program_without_a_profile_gets_the_usual_variables() -> None:
    """Those of the provider, or all for a URL of nobody in particular."""
    assert set(pointed(None, "gemini").environment) == {"GOOGLE_GEMINI_BASE_URL"}
    assert at(pointed(None, "http://127.0.0.1:9"))[0] == PROVIDERS.base_url_variables(
        f"{BASE}/main"
    )


def test_as_an_http_proxy_it_takes_whatever_is_sent() -> None:
    """No provider need be known."""
    where = pointed("codex", proxy_env=True)
    environment, arguments = at(where)

    assert environment["HTTPS_PROXY"] == "http://p:TOKEN@127.0.0.1:7"
    assert {environment[name] for name in module.CA_VARIABLES} == {"/ca.pem"}
    assert (arguments, where.upstreams) == ((), {})


@pytest.mark.parametrize(
    ("name", "provider", "message"),
    [
        (None, None, "provider of this program, which has no profile, is not known"),
        (None, "opnai", "no provider 'opnai'"),
        ("codex", "anthropic", "OpenAI Codex CLI cannot be pointed at anthropic"),
        ("codex", "ftp://x", "not a base URL"),
    ],
)
def test_what_cannot_be_done_is_said(name: str | None, provider: str | None, message: str) -> None:
    """With what can."""
    with pytest.raises(UsageError, match=message):
        pointed(name, provider)


UPSTREAMS = {"main": "https://a.example/base"}
ROUTES = Routes(token="TOKEN", port=7, upstreams=UPSTREAMS, forward=True)  # noqa: S106 - made up
PASSWORD = base64.b64encode(b"p:TOKEN").decode()


def request(target: str, host: str = "127.0.0.1:7", *, user: str | bytes = "") -> h11.Request:
    """A request as it reaches the port."""
    headers = [("host", host), *([("proxy-authorization", user)] if user else [])]
    return h11.Request(method="GET", target=target, headers=headers)


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        (request("/TOKEN/main/v1/x?q=%2F&r=/"), "/base/v1/x?q=%2F&r=/"),
        (request("/TOKEN/main/"), "/base/"),
        (request("/TOKEN/main?q"), "/base/?q"),
        (request("/TOKEN/main//x", "localhost:7"), "/base//x"),
    ],
)
def test_a_route_keeps_the_path_as_it_is(asked: h11.Request, target: str) -> None:
    """Nothing is decoded or put in order."""
    origin = Origin("https", "a.example", 443)

    assert ROUTES.destination(asked) == Destination(origin, target)


def test_as_an_http_proxy_the_whole_url_says_where() -> None:
    """RFC 9112, section 3.2.2."""
    asked = request("http://b.example:81/x?y", user=f"Basic {PASSWORD}")

    assert ROUTES.destination(asked) == Destination(Origin("http", "b.example", 81), "/x?y")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (request("/TOKEN/other/x"), 404),
        (request("/TOKEN"), 404),
        (request("/token/main/x"), 404),
        (request("/TOKEN/main/x", "127.0.0.1:8"), 421),
        (request("http://b.example/x"), 407),
        (request("http://b.example/x", user="Basic !"), 407),
        (request("http://b.example/x", user=b"Basic \xff"), 407),
        (request("http://[b/x", user=f"Basic {PASSWORD}"), 400),
        (request("http://b:x/x", user=f"Basic {PASSWORD}"), 400),
        (request("http://b:99999/x", user=f"Basic {PASSWORD}"), 400),
        (request("http://b.example/x", user=f"Bearer {PASSWORD}"), 407),
        (request("gopher://b.example/x", user=f"Basic {PASSWORD}"), 400),
        (request("*"), 407),
    ],
)
def test_all_else_is_not_served(asked: h11.Request, status: int) -> None:
    """The status says why."""
    with pytest.raises(NotServedError) as raised:
        ROUTES.destination(asked)

    assert raised.value.status == status


@pytest.mark.parametrize("url", ["http://[x", "http://h:x", "https://h:99999/v1", "h", ""])
def test_what_is_no_base_url_is_refused(url: str) -> None:
    """By an error that names it; a recording may say such a thing, too."""
    with pytest.raises(UsageError, match="not a base URL"):
        base_url(url)
    assert host_and_port(url) == ("", None)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=30))
def test_no_other_token_opens_a_route(token: str) -> None:
    """Not one that begins or ends like it, nor one of other bytes."""
    if token.split("/", maxsplit=1)[0] == "TOKEN":
        return
    with pytest.raises(NotServedError):
        ROUTES.destination(request(f"/{token}/main/x"))


ADDRESSES = [
    ({"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, {"openai": "http://127.0.0.1:8080"}),
    ({"ANTHROPIC_BASE_URL": "https://own.test/api/"}, {"anthropic": "https://own.test/api"}),
    (
        {"OPENAI_BASE_URL": "http://a.test/v1", "OPENAI_API_BASE": "http://a.test/v1",
         "GOOGLE_GEMINI_BASE_URL": "http://b.test"},
        {"openai": "http://a.test", "gemini": "http://b.test"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "upstreams"), ADDRESSES)
def test_a_program_without_a_profile_goes_where_its_variables_lead(
    variables: dict[str, str], upstreams: dict[str, str]
) -> None:
    """Each variable that the user has set leads to the proxy, and from there to its address."""
    where = pointed(**variables)
    environment, arguments = at(where)

    assert where.upstreams == upstreams
    assert set(environment) == set(variables)
    assert all(value.startswith(BASE) for value in environment.values())
    assert arguments == ()


def test_two_addresses_of_one_provider_are_not_guessed_between() -> None:
    """The traffic of one of them would go to the other."""
    with pytest.raises(UsageError, match="two addresses") as refused:
        pointed(OPENAI_BASE_URL="http://a.test/v1", OPENAI_API_BASE="http://b.test/v1")

    assert "--provider" in str(refused.value.hint)


def test_without_an_address_it_says_how_to_give_one() -> None:
    """An option, a variable, or the HTTP proxy."""
    with pytest.raises(UsageError, match=r"the provider of .* is not known") as refused:
        pointed(OPENAI_BASE_URL="not a URL")

    assert "OPENAI_BASE_URL" in str(refused.value.hint)
    assert "--proxy-env" in str(refused.value.hint)


@pytest.mark.parametrize("provider", [None, "anthropic", "http://127.0.0.1:7"])
def test_a_program_that_only_an_http_proxy_reaches_says_so(provider: str | None) -> None:
    """An empty tape would be no help."""
    with pytest.raises(UsageError, match="from its own files only") as refused:
        pointed("pi", provider, ANTHROPIC_BASE_URL="http://127.0.0.1:7")

    assert "--proxy-env" in str(refused.value.hint)
    assert pointed("pi", proxy_env=True).environment["NO_PROXY"] == ""
