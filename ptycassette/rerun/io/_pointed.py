"""Where the program of a rerun finds its provider: the tape's server, pointed at as recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ptycassette.cassette._tape_lines import TAPE_KEY
from ptycassette.cassette.io.reader import Cassette
from ptycassette.harness.model_lists import model_list_of
from ptycassette.model.tape import TapeEntry
from ptycassette.rerun._tape_desk import asked_providers
from ptycassette.rerun.gates import Gates
from ptycassette.rerun.io.tape_server import TapeServer
from ptycassette.system.files.abandoned import temporary_folder
from ptycassette.system.ownership import owned_context
from ptycassette.tape.providers import known_providers

_MADE_UP_KEY = "0" * 40


class Pointed(msgspec.Struct, frozen=True, kw_only=True):
    """Where the program's provider is.

    ``url`` is the tape's server, or the real provider where the server is an HTTP proxy, whose
    certificate is in ``ca_file``. ``openai_url`` is the base URL of OpenAI's APIs where it is
    another one than ``url`` and ``/v1``. ``usual_url`` and ``keys``, which are made up, are for a
    program without a profile. ``model`` is the one that was asked most; empty if the recording
    names none.
    """

    server: TapeServer
    url: str
    usual_url: str
    keys: Mapping[str, str]
    openai_url: str
    ca_file: str
    model: str


def pointed_at(
    cassette: Cassette, server: TapeServer, ca_file: str, entries: Sequence[TapeEntry]
) -> Pointed:
    """Where a program without a network finds the providers that it asked."""
    url, openai_url = asked_providers(entries) if ca_file else (server.url, "")
    upstreams = recorded_pointing(cassette).get("upstreams") or {}
    route = next(iter(upstreams), "main")
    server.bases = {name: urlsplit(str(url)).path.rstrip("/") for name, url in upstreams.items()}
    return Pointed(
        server=server,
        url=url,
        usual_url=server.url_as_recorded(route),
        keys=_made_up_keys(entries),
        openai_url=openai_url,
        ca_file=ca_file,
        model=_asked_model(cassette),
    )


def _made_up_keys(entries: Sequence[TapeEntry]) -> dict[str, str]:
    """By the usual variables of the APIs that were asked: SDKs ask nothing without a key."""
    lists = filter(None, (model_list_of(entry.target) for entry in entries))
    headers = sorted({one.key_header for one in lists})
    return {known_providers().keys[header][0]: _MADE_UP_KEY for header in headers}


def _asked_model(cassette: Cassette) -> str:
    asked = Counter(
        str(event.payload.get("model") or "")
        for event in cassette.service_events()
        if isinstance(event.payload, dict) and event.payload.get("type") == "model-request"
    )
    return next((name for name, _ in asked.most_common() if name), "")


def recorded_pointing(cassette: Cassette) -> Mapping[str, Any]:
    """How the program was pointed at the recorder's proxy."""
    said: Mapping[str, Any] = (cassette.manifest.optional or {}).get(TAPE_KEY, {})
    return said.get("pointed") or {}


@owned_context
def tape_server(
    cassette: Cassette,
    gates: Gates,
    hold_s: float,
    server_of: Callable[..., TapeServer],
) -> Iterator[tuple[TapeServer, str]]:
    """The tape's server, and where it is an HTTP proxy, as the recorder was, the certificate.

    Args:
        cassette: the recording.
        gates: which inputs a piece has to wait for.
        hold_s: how long a piece waits for an input at most.
        server_of: makes it.
    """
    if not recorded_pointing(cassette).get("proxy_env"):
        with server_of(gates, hold_s=hold_s) as server:
            yield server, ""
        return
    with temporary_folder() as folder:
        ca_file = folder / "ca.pem"
        with server_of(gates, hold_s=hold_s, ca_file=ca_file) as server:
            yield server, str(ca_file)
