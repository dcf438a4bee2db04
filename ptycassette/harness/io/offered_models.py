"""Which models there are today: the harness's own probe says it, or the provider's list.

A cassette of a stranger says which provider was asked. The user's key goes to no address that only
a cassette says: to the providers that are known, or to one that the user names.
"""

from __future__ import annotations

import http.client
import ssl
from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.errors import CassetteError, UsageError
from ptycassette.harness.io.files import known_probes, load_probe
from ptycassette.harness.io.probe import probe_live
from ptycassette.harness.model_lists import ModelList, is_model_list, listed_models, model_list_of
from ptycassette.model.json_values import decoded_json
from ptycassette.profiles.profile import Profile
from ptycassette.system.network import NETWORK_VARIABLE, network_disabled
from ptycassette.tape._facts import question_model
from ptycassette.tape.providers import known_providers
from ptycassette.tape.routing import host_and_port

_LOCAL = {"127.0.0.1", "localhost", "::1"}
_PATIENCE_S = 15.0
_MOST_BYTES = 8 << 20
_MOST_ASKED = 20
_PROBE = "run ptycassette probe to see why"


class ModelsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask for the models of today.

    Attributes:
        provider: its name or base URL; the tape's, if that is a known one, when empty.
        key_variable: in which variable the key is; the usual one of the API when empty.
    """

    provider: str = ""
    key_variable: str = ""


class UnknownModelsError(Exception):
    """Nobody says which models there are: the reason, and what to do."""


def asked_models(cassette: Cassette) -> tuple[str, ...]:
    """The models that were asked for, sorted; the first 20."""
    found = {_model_of(exchange) for exchange in _questions(cassette)} - {None}
    return tuple(sorted(filter(None, found))[:_MOST_ASKED])


def recorded_list(cassette: Cassette) -> tuple[str, ...]:
    """The models of the last list that the program itself asked for; empty where it did not."""
    found: tuple[str, ...] = ()
    for exchange in _exchanges(cassette):
        entry = exchange.entry
        answer = entry.answer
        if entry.method != "GET" or not is_model_list(entry.target) or answer is None:
            continue
        if answer.body is not None and answer.body.bytes <= _MOST_BYTES:
            found = listed_models(decoded_json(exchange.answer())) or found
    return found


def probed_models(profile: Profile) -> tuple[str, ...]:
    """What the harness itself offers, by its probe. It runs with the user's own account.

    Raises:
        UnknownModelsError: it has no probe for that, or the probe did not find them.
    """
    for name in known_probes():
        if not name.startswith(f"{profile.name}-"):
            continue
        probe = load_probe(name)
        if probe.discovery is None or probe.discovery.models is None:
            continue
        try:
            result = probe_live(probe, profile)
        except CassetteError as failed:
            raise UnknownModelsError(failed.message) from failed
        if result.discovery is None or not result.discovery.models:
            said = result.diagnostic.message if result.diagnostic else result.status
            raise UnknownModelsError(f"the probe {name} reported: {said}; {_PROBE}")
        return tuple(sorted(set(result.discovery.models)))
    raise UnknownModelsError(f"{profile.name} has no probe that lists models")


def provider_models(
    cassette: Cassette, query: ModelsQuery, environment: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The provider's list, and which of the models that were asked for it still has.

    A model that is not in the list is asked for by its name: an alias has an answer, too.

    Args:
        cassette: with a tape.
        query: whom to ask.
        environment: the user's: the key is there.

    Raises:
        UnknownModelsError: it is not known whom to ask, there is no key, or no list came.
        UsageError: the provider is neither known nor a base URL.
    """
    base, where = _place(cassette, query.provider)
    usual = known_providers().keys[where.key_header]
    variables = (query.key_variable,) if query.key_variable else usual
    key = next(filter(None, map(environment.get, variables)), "")
    if not key:
        raise UnknownModelsError(f"no key: set {' or '.join(variables)}, or name one by --key-env")
    status, document = _get(base, where, key, "", where.query)
    listed = listed_models(document)
    if status != HTTPStatus.OK or not listed:
        what = f"status {status}" if status != HTTPStatus.OK else "no list"
        raise UnknownModelsError(f"{base}{where.path} answered with {what}")
    still = [
        name
        for name in asked_models(cassette)
        if name in listed or _get(base, where, key, f"/{quote(name, safe='')}", "")[0] == 200
    ]
    return listed, tuple(still)


def _place(cassette: Cassette, provider: str) -> tuple[str, ModelList]:
    """Base URL of the provider, and where its list is."""
    lists = [
        (exchange.entry.upstream, found)
        for exchange in _questions(cassette)
        if (found := model_list_of(exchange.entry.target)) is not None
    ]
    if not lists:
        raise UnknownModelsError("the tape has no question of an API that lists its models")
    known = {one.url for one in known_providers().providers.values()}
    if provider:
        named = known_providers().named(provider)
        base = (named.url if named is not None else provider).rstrip("/")
        _check(base)
        return base, lists[0][1]
    usual = Counter(one for one in lists if one[0] in known)
    if not usual:
        asked = ", ".join(sorted({upstream for upstream, _ in lists if upstream}))
        raise UnknownModelsError(
            f"{asked or 'what was asked'} is no known provider: name it by --provider"
        )
    return usual.most_common(1)[0][0]


def _check(base: str) -> None:
    """Refuse what is no base URL, and a key over a network without TLS."""
    host, _ = host_and_port(base)
    schemes = ("http", "https") if host in _LOCAL else ("https",)
    if not host or base.partition("://")[0].lower() not in schemes:
        names = ", ".join(known_providers().providers)
        raise UsageError(
            f"--provider: {base!r} is no provider",
            hint=f"one of {names}, or a base URL with https (http on this machine only)",
        )


def _get(base: str, where: ModelList, key: str, below: str, query: str) -> tuple[int, Any]:
    """Status and document of one request; redirections are not followed."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    if network_disabled() and host not in _LOCAL:
        raise UnknownModelsError(f"{base} is not asked: {NETWORK_VARIABLE} is set")
    connection = (
        http.client.HTTPSConnection(
            host, parts.port, timeout=_PATIENCE_S, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, parts.port, timeout=_PATIENCE_S)
    )
    target = parts.path + where.path + below + (f"?{query}" if query else "")
    try:
        connection.request("GET", target, headers={**where.headers(key), "accept": "*/*"})
        answer = connection.getresponse()
        return answer.status, decoded_json(answer.read(_MOST_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as failed:
        reason = str(failed) or type(failed).__name__
        raise UnknownModelsError(f"{base} did not answer: {reason}") from failed
    finally:
        connection.close()


def _exchanges(cassette: Cassette) -> Iterable[RecordedExchange]:
    return cassette.tape() if cassette.has_tape else ()


def _questions(cassette: Cassette) -> list[RecordedExchange]:
    return [one for one in _exchanges(cassette) if not is_model_list(one.entry.target)]


def _model_of(exchange: RecordedExchange) -> str | None:
    entry = exchange.entry
    small = entry.body is not None and entry.body.bytes <= _MOST_BYTES
    return question_model(decoded_json(exchange.question()) if small else None, entry.target)
