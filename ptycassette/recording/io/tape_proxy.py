"""Starts the proxy for a recording, as its options ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptycassette.profiles import Profile
from ptycassette.recording.io._running_tape import RunningTape, TapeStarter
from ptycassette.system import Closing

if TYPE_CHECKING:
    from ptycassette.tape import Retries
    from ptycassette.tape.consent import Terms
    from ptycassette.tape.io import RunningProxy


def tape_starter(
    *,
    profile: Profile | None = None,
    provider: str | None = None,
    proxy_env: bool = False,
    terms: Terms | None = None,
    retries: Retries | None = None,
) -> TapeStarter:
    """What starts the proxy of a recording.

    Args:
        profile: of the program, which says how it is pointed at the proxy; the variables that
            most programs read when None.
        provider: whither: the name of a provider, or a base URL; the profile's when None.
        proxy_env: as an HTTP proxy for all that the program sends.
        terms: what may leave the machine; nothing by default.
        retries: what to do about errors of providers; None to pass them on as they are.
    """

    def start(journal: Path, environment: Mapping[str, str]) -> RunningTape:
        # It loads the proxy's libraries, which other recordings do not need.
        from ptycassette.tape.io import start_proxy

        proxy = start_proxy(
            journal=journal,
            profile=profile,
            provider=provider,
            proxy_env=proxy_env,
            environment=environment,
            terms=terms,
            retries=retries,
        )
        described: dict[str, Any] = {"pointed": {"proxy_env": proxy_env}}
        if profile is not None:
            described["harness"] = profile.name
        if proxy.upstreams:
            described["pointed"]["upstreams"] = dict(proxy.upstreams)
        return _Proxied(proxy, described, Path(f"{journal}.pem"))

    return start


class _Proxied(Closing):
    """A running proxy. A ``RunningTape``."""

    def __init__(
        self, proxy: RunningProxy, described: Mapping[str, Any], certificate: Path
    ) -> None:
        self._proxy, self._certificate = proxy, certificate
        self.environment: Mapping[str, str] = proxy.environment
        self.arguments: Sequence[str] = proxy.arguments
        self.secrets: Sequence[str] = proxy.secrets
        self.described = described

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        return self._proxy.problem

    @property
    def reports(self) -> Sequence[str]:
        """See ``RunningTape.reports``."""
        return self._proxy.reports

    def close(self) -> None:
        """See ``RunningTape.close``."""
        self._proxy.close()
        self._certificate.unlink(missing_ok=True)
