"""The providers that are known: where they are, and how programs are usually pointed at them."""

from __future__ import annotations

from functools import cache

import msgspec

from ptycassette._tables import package_text
from ptycassette.profiles.checked import StrictTable, read_checked


class Provider(StrictTable, frozen=True, kw_only=True):
    """A provider: its base URL without a version, and the variables that programs read.

    Attributes:
        also: other names of it.
        models: how the names of its models begin.
        messages: the path of questions that have ``messages``.
        contents: the path of questions that have ``contents``, with ``{model}``; empty where it
            takes none.
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
        keys: headers in which providers take a key, and the variables in which users have it.
        proxy: what programs read where the proxy is an HTTP proxy.
    """

    version: int
    providers: dict[str, Provider]
    keys: dict[str, tuple[str, ...]]
    proxy: _ProxyVariables

    @classmethod
    def parse(cls, text: str, *, where: str = "providers.toml") -> Providers:
        """Read and check the file.

        Raises:
            UsageError: what is wrong, and the nearest known name.
        """
        return read_checked(text, cls, where=where, known=(Provider, _ProxyVariables))

    def named(self, name: str) -> Provider | None:
        """The provider of a name, in whatever case; None if it is not known."""
        wanted = name.lower()
        known = self.providers.items()
        return next((one for key, one in known if wanted in {key, *one.also}), None)

    def at(self, url: str) -> bool:
        """Whether this is the base URL of one of them."""
        return any(one.url == url for one in self.providers.values())

    def of_model(self, model: str) -> Provider:
        """The provider whose models are called so: the longest beginning decides."""
        beginnings = {start: one for one in self.providers.values() for start in one.models}
        return beginnings[max(filter(model.startswith, beginnings), key=len)]

    def base_url_variables(self, url: str) -> dict[str, str]:
        """The usual variables of all providers, for one base URL without a version."""
        return {
            name: value.replace("${url}", url)
            for one in self.providers.values()
            for name, value in one.environment.items()
        }


@cache
def known_providers() -> Providers:
    """The providers of ``providers.toml``."""
    return Providers.parse(package_text(__package__, "providers.toml"))
