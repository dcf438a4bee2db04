"""Starts the proxy for a recording, as its options ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.options import RunningTape
from ptycassette.system.ownership import Closing

if TYPE_CHECKING:
    from ptycassette.tape.consent.terms import Terms
    from ptycassette.tape.io.running_proxy import RunningProxy
    from ptycassette.tape.retries import Retries


def tape_starter(
    *,
    profile: Profile | None = None,
    provider: str | None = None,
    proxy_env: bool = False,
    terms: Terms | None = None,
    retries: Retries | None = None,
) -> ProxyStarter:
    """Make a starter for the proxy of a recording.

    Args:
        profile: the program's profile, with the method to point it at the proxy. None uses the
            variables that most programs read.
        provider: where requests go: the name of a provider, or a base URL; the profile's when None.
        proxy_env: act as an HTTP proxy for everything that the program sends.
        terms: what may leave the machine; nothing by default.
        retries: how to retry after errors of providers; None to pass them on as they are.
    """
    return ProxyStarter(
        profile=profile, provider=provider, proxy_env=proxy_env, terms=terms, retries=retries
    )


class ProxyStarter:
    """A ``TapeStarter``; see ``tape_starter``, which makes it."""

    def __init__(
        self,
        *,
        profile: Profile | None,
        provider: str | None,
        proxy_env: bool,
        terms: Terms | None,
        retries: Retries | None,
    ) -> None:
        self._profile, self._provider, self._proxy_env = profile, provider, proxy_env
        self._terms, self._retries = terms, retries

    def __call__(self, journal: Path, environment: Mapping[str, str]) -> RunningTape:
        """Start it."""
        # They load the proxy's libraries, or rules, which other recordings do not need.
        from ptycassette.scrub.rules.values import generated_parts
        from ptycassette.tape.io.running_proxy import start_proxy
        from ptycassette.tape.routing import known_providers

        profile = self._profile
        proxy = start_proxy(
            journal=journal,
            profile=profile,
            provider=self._provider,
            proxy_env=self._proxy_env,
            environment=environment,
            terms=self._terms,
            retries=self._retries,
        )
        described: dict[str, Any] = {"pointed": {"proxy_env": self._proxy_env}}
        if self._terms is not None and self._terms.stripped:
            described["pointed"]["stripped"] = list(self._terms.stripped)
        if profile is not None:
            described["harness"] = profile.name
        if proxy.upstreams:
            described["pointed"]["upstreams"] = dict(proxy.upstreams)
        # If the program has its own provider, the proxy has no upstream.
        usual = known_providers().base_url_variables("")
        urls = (*proxy.upstreams.values(), *(environment.get(name, "") for name in usual))
        keys = [part for url in urls for part in generated_parts(url)]
        return _Proxied(proxy, described, Path(f"{journal}.pem"), keys)

    def without_proxy(
        self, environment: Mapping[str, str]
    ) -> tuple[Mapping[str, str], Sequence[str]]:
        """Variables and arguments that point the program at the provider itself.

        Both are empty if no provider was named: the program then uses its own.

        Raises:
            PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and the provider is elsewhere.
            UsageError: the provider is unknown, or we do not know how to point the program at it.
        """
        if self._provider is None:
            return {}, ()
        from ptycassette.tape.io.running_proxy import point_at_provider

        return point_at_provider(self._profile, self._provider, environment)


class _Proxied(Closing):
    """A running proxy. A ``RunningTape``."""

    def __init__(
        self,
        proxy: RunningProxy,
        described: Mapping[str, Any],
        certificate: Path,
        keys: Sequence[str],
    ) -> None:
        self._proxy, self._certificate = proxy, certificate
        self.environment: Mapping[str, str] = proxy.environment
        self.arguments: Sequence[str] = proxy.arguments
        self.secrets: Sequence[str] = (*proxy.secrets, *keys)
        self.address = proxy.address
        self.described = described
        self.needed = True

    @property
    def problem(self) -> str | None:
        return self._proxy.problem

    @property
    def reports(self) -> Sequence[str]:
        return self._proxy.reports

    def close(self) -> None:
        self._proxy.close()
        self._certificate.unlink(missing_ok=True)
