"""Point a program at the proxy with variables and arguments, never through files of the user."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.toml_text import fill_variables
from ptycassette.profiles.profile import Profile, TapePointing
from ptycassette.tape.routing import Provider, Providers, base_url

CA_VARIABLES = (
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CODEX_CA_CERTIFICATE",
)
"""Variables with files of authorities that the user trusts besides the system's."""

_ONLY = "main"
"""The name of the route of a URL that belongs to no known provider."""


class Pointing(msgspec.Struct, frozen=True, kw_only=True):
    """Variables and arguments for a program, with ``${NAME}`` for the base URL of a route.

    ``main`` is the route of the user's provider; empty for an HTTP proxy.
    """

    environment: dict[str, str]
    arguments: tuple[str, ...]
    upstreams: dict[str, str]
    main: str

    def at(self, base: str, *, proxy: str, ca: str) -> tuple[dict[str, str], tuple[str, ...]]:
        """Environment and arguments for a proxy.

        Args:
            base: its URL; the names of routes are added to it.
            proxy: its URL as an HTTP proxy.
            ca: the file of certificates to trust.
        """
        return self._filled(
            {name: f"{base}/{name}" for name in self.upstreams} | {"proxy": proxy, "ca": ca}
        )

    def at_upstreams(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The same without a proxy: each route leads directly to its provider."""
        return self._filled({name: url.rstrip("/") for name, url in self.upstreams.items()})

    def _filled(self, names: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        filled = fill_variables(dict(self.environment), "tape", names)
        return filled, tuple(fill_variables(list(self.arguments), "tape", names))


def pointing(
    providers: Providers,
    *,
    profile: Profile | None,
    provider: str | None,
    proxy_env: bool,
    environment: Mapping[str, str],
) -> Pointing:
    """Decide how to point a program at the proxy.

    Args:
        providers: all known providers.
        profile: the program's profile, if it has one.
        provider: the name of the provider, or its base URL. None: the profile's provider, or else
            the provider whose variable for a base URL is set.
        proxy_env: use the variables for HTTP proxies, for all traffic of the program.
        environment: the user's environment. Traffic goes to a base URL that is already set in it.

    Raises:
        UsageError: there is no known way, or no such provider.
    """
    tape = TapePointing() if profile is None else profile.tape
    if proxy_env:
        variables = {**providers.proxy.environment, **tape.proxy_environment}
        return Pointing(environment=variables, arguments=(), upstreams={}, main="")
    if tape.proxy_only:
        title = profile.title if profile else "the program"
        raise UsageError(
            f"{title} reads the address of its provider from its own files only",
            hint="add --proxy-env, which records it through an HTTP proxy",
        )
    url = provider if provider is not None and "://" in provider else None
    set_already: dict[str, str] = {}
    if provider is None and not tape.provider:
        provider, set_already = _set_already(providers, environment)
    name = tape.provider if url is not None or provider is None else provider
    if url is None and name not in providers.providers:
        raise _unknown(name, providers, profile)
    if tape.environment or tape.arguments:
        variables, arguments = tape.environment, tape.arguments
    elif set_already:
        variables, arguments = set_already, ()
    elif name:
        variables, arguments = _usual(name, providers.providers[name]), ()
    else:
        name, arguments = _ONLY, ()
        variables = providers.base_url_variables(f"${{{_ONLY}}}")
    upstreams = {key: one.url for key, one in providers.providers.items()}
    templates = [*variables.values(), *arguments]
    for variable, template in variables.items():
        upstreams |= _already(template, environment.get(variable, ""), set(upstreams))
    if url is not None:  # whatever provider it uses
        upstreams = {key: _without_tail(url, key, templates) for key in (*upstreams, name)}
    used = [key for key in upstreams if any(f"${{{key}}}" in one for one in templates)]
    if name not in used:
        raise UsageError(
            f"{profile.title if profile else 'the program'} cannot be pointed at {name}",
            hint="--proxy-env records all that it sends, through an HTTP proxy",
        )
    return Pointing(
        environment=dict(variables),
        arguments=arguments,
        upstreams={key: upstreams[key] for key in used},
        main=name,
    )


def _unknown(name: str, providers: Providers, profile: Profile | None) -> UsageError:
    known = f"known are {', '.join(providers.providers)}, or give its base URL"
    if not name:
        title = profile.title if profile else "this program, which has no profile,"
        return UsageError(
            f"the provider of {title} is not known",
            hint=f"name it with --provider ({known}), set a variable for it (OPENAI_BASE_URL,"
            " ANTHROPIC_BASE_URL, ...), or use --proxy-env",
        )
    return UsageError(f"no provider {name!r}", hint=known)


def _set_already(
    providers: Providers, environment: Mapping[str, str]
) -> tuple[str | None, dict[str, str]]:
    """The provider whose base URL the user has set, and all such variables as templates.

    Raises:
        UsageError: two variables give one provider different addresses.
    """
    first: str | None = None
    found: dict[str, str] = {}
    addresses: dict[str, tuple[str, str]] = {}
    for name, provider in providers.providers.items():
        for variable, template in _usual(name, provider).items():
            value = environment.get(variable, "")
            for address in _already(template, value, {name}).values():
                first = first or name
                found[variable] = template
                other, same = addresses.setdefault(name, (variable, address))
                if same != address:
                    raise UsageError(
                        f"{other} and {variable} name two addresses",
                        hint="choose the one to record with --provider",
                    )
    return first, found


def _usual(name: str, provider: Provider) -> dict[str, str]:
    return {
        variable: value.replace("${url}", f"${{{name}}}")
        for variable, value in provider.environment.items()
    }


def _already(template: str, value: str, names: set[str]) -> dict[str, str]:
    """The upstream that the user's value of a variable means, by the name of its route."""
    for name in names:
        head, mark, tail = template.partition(f"${{{name}}}")
        if mark and not head and "://" in value:
            return {name: value.rstrip("/").removesuffix(tail.rstrip("/"))}
    return {}


def _without_tail(url: str, name: str, templates: list[str]) -> str:
    """A base URL without its version. People include one if the program's variable does."""
    base_url(url)
    url = url.rstrip("/")
    for template in templates:
        # In an argument or a file, the URL ends at a quote.
        tail = re.split(r"[^\w/.-]", template.partition(f"${{{name}}}")[2])[0].rstrip("/")
        if tail.startswith("/") and url.endswith(tail):
            return url.removesuffix(tail)
    return url
