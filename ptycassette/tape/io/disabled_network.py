"""``PTYCASSETTE_DISABLE_NETWORK``: nothing may leave this machine, whoever agreed to it."""

from __future__ import annotations

from collections.abc import Mapping

from ptycassette.errors import PreflightError
from ptycassette.tape.consent import is_local
from ptycassette.tape.routing import base_url

NETWORK_VARIABLE = "PTYCASSETTE_DISABLE_NETWORK"
_FALSE = {"", "0", "false", "no", "off"}


def network_disabled(environment: Mapping[str, str]) -> bool:
    """Whether the variable is set."""
    return environment.get(NETWORK_VARIABLE, "").lower() not in _FALSE


def refuse_provider(url: str) -> None:
    """Refuse a provider that is not on this machine; ``url`` is empty for any host.

    Raises:
        PreflightError: it is not.
    """
    if url and is_local(base_url(url).origin):
        return
    whither = f"its model is at {url}" if url else "the program may ask any host"
    raise PreflightError(
        f"the network is disabled, and {whither}",
        where=NETWORK_VARIABLE,
        hint="unset the variable, or name a provider on 127.0.0.1",
    )
