"""Find the changes since a recording: facts in a cassette, on this machine, in a newer cassette.

A cassette from a stranger names a harness. That name is looked up among the installed profiles, and
never read as a path. The only program that may be started is that of a profile, on request.
"""

from __future__ import annotations

import http.client
import os
import platform
import shutil
import ssl
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from ptycassette.agents.harness.io.files import (
    find_binary,
    known_probes,
    known_profiles,
    load_probe,
    load_profile,
)
from ptycassette.agents.harness.io.probe import probe_live
from ptycassette.agents.harness.model_lists import (
    ModelList,
    is_model_list,
    listed_models,
    model_list_of,
)
from ptycassette.agents.harness.surroundings import (
    DriftCause,
    Surroundings,
    age_cause,
    compared,
    settings_cause,
)
from ptycassette.cassette.freshness import age_problem
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cassette.tape_lines import TAPE_KEY
from ptycassette.errors import CassetteError, UsageError
from ptycassette.model.records import decoded_json, native_text
from ptycassette.model.screen import Size
from ptycassette.profiles.profile import Profile, capability_of
from ptycassette.recording.io.options import (
    architecture,
    ask_version,
    installed_version,
    locale_of,
    path_digest,
    system,
)
from ptycassette.recording.session.base import DEFAULT_SIZE
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.network import NETWORK_VARIABLE, network_disabled
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.providers.answers import event_types, first_model
from ptycassette.tape.providers.questions import offered_tools, question_model
from ptycassette.tape.routing import host_and_port, known_providers
from ptycassette.terminal.emulator import default_emulator
from ptycassette.version import __version__

# Find today's models: through the harness's own probe, or the provider's list.


_LOCAL = {"127.0.0.1", "localhost", "::1"}
_PATIENCE_S = 15.0
_MOST_BYTES = 8 << 20
_MOST_ASKED = 20
_PROBE = "run ptycassette probe to see why"


class ModelsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The source of today's models.

    Attributes:
        provider: its name or base URL. Empty: the tape's provider, if it is a known one.
        key_variable: the variable with the key; the usual one of the API when empty.
    """

    provider: str = ""
    key_variable: str = ""


class UnknownModelsError(Exception):
    """The present models cannot be found out: the reason, and what to do."""


def asked_models(cassette: Cassette) -> tuple[str, ...]:
    """The requested models, sorted; the first 20."""
    found = {_model_of(exchange) for exchange in _questions(cassette)} - {None}
    return tuple(sorted(filter(None, found))[:_MOST_ASKED])


def recorded_list(cassette: Cassette) -> tuple[str, ...]:
    """The models of the last list that the program requested; empty if it requested none."""
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
    """The models that the harness itself offers, from its probe, which uses the user's account.

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
    """The provider's list, and which of the requested models still exist.

    A model that is not in the list is looked up by its name, because aliases have an answer, too.

    Args:
        cassette: a cassette with a tape.
        query: the provider.
        environment: the user's environment, with the key.

    Raises:
        UnknownModelsError: the provider is not known, there is no key, or no list came.
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
    """Base URL of the provider, and the place of its list."""
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
            f"{asked or 'what was asked'} is not a known provider: name it by --provider"
        )
    return usual.most_common(1)[0][0]


def _check(base: str) -> None:
    """Refuse an invalid base URL, and a key over a network without TLS."""
    host, _ = host_and_port(base)
    schemes = ("http", "https") if host in _LOCAL else ("https",)
    if not host or base.partition("://")[0].lower() not in schemes:
        names = ", ".join(known_providers().providers)
        raise UsageError(
            f"--provider: {base!r} is not a provider",
            hint=f"one of {names}, or a base URL with https (http on this machine only)",
        )


def _get(base: str, where: ModelList, key: str, below: str, query: str) -> tuple[int, Any]:
    """Status and document of one request; redirects are not followed."""
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


_MOST_BODY = 1 << 20
_RECORDERS_TERM = "xterm-256color"
_TELLING_HEADERS = frozenset(
    ("accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta",
     "openai-model", "openai-version", "originator", "user-agent", "version", "x-api-version",
     "x-app", "x-goog-api-client")
)  # fmt: skip
"""Headers whose values name software, an API or a model."""
_COUNTING = frozenset(("x-stainless-retry-count", "x-stainless-read-timeout"))


def drift_causes(
    path: str,
    *,
    newer: str | None = None,
    versions: bool = False,
    models: ModelsQuery | None = None,
) -> Iterator[DriftCause]:
    """Every cause for which a run today may differ from a recording; see ``CAUSES``.

    Args:
        path: the cassette.
        newer: a newer one of the same program, to compare with instead of this machine.
        versions: start the program of the harness's profile to ask for its version.
        models: ask for today's models. If the recorded list came from the harness's probe, use the
            probe and the user's account; else ask the provider with the user's key.

    Raises:
        CassetteError: a cassette cannot be read.
        UsageError: the provider in ``models`` is not a provider.
    """
    with open_cassette(path) as cassette:
        recorded, manifest = _of_cassette(cassette), cassette.manifest
        if newer is None:
            now = _of_machine(cassette, recorded, versions=versions)
            if models is not None:
                now = _with_models(now, cassette, models)
        else:
            with open_cassette(newer) as other:
                now = _of_cassette(other)
    yield from compared(recorded, now)
    problem = age_problem(manifest, MonotonicClock().wall())
    yield age_cause(problem, manifest.harness.freshness_window)
    yield settings_cause()


def _of_cassette(cassette: Cassette) -> Surroundings:
    manifest = cassette.manifest
    harness, terminal = manifest.harness, manifest.terminal
    capability = harness.capability or {}
    offered = _discovered(cassette) or capability.get("models") or recorded_list(cassette)
    said = (manifest.optional or {}).get(TAPE_KEY) or {}
    names = manifest.command.env_allowlist
    found = Surroundings(
        binary=harness.binary_path_digest_sha256,
        version=harness.binary_version,
        models=_names(offered),
        asked=asked_models(cassette) or None,
        modes=_names(capability.get("permission_modes")),
        features=_names(capability.get("features")),
        platform=f"{manifest.provenance.os} {manifest.provenance.arch}",
        term=terminal.term,
        locale=terminal.locale,
        size=f"{terminal.initial_cols}x{terminal.initial_rows}",
        emulator=f"{terminal.emulator.name} {terminal.emulator.version}",
        variables=None if names is None else tuple(sorted(names)),
        rules=said.get("rules_digest"),
        recorder=manifest.provenance.recorder_version,
    )
    if cassette.has_tape:
        found = msgspec.structs.replace(found, **_traffic(cassette))
    code = _of_code(cassette)
    if code is not None:
        # The format requires a terminal; code has none, so this machine's terminal does not matter.
        found = msgspec.structs.replace(
            found, version=_python(code.get("python")), term=None, size=None, emulator=None
        )
    return found


def _of_code(cassette: Cassette) -> Mapping[str, Any] | None:
    """The manifest's entry for a recording of code in ``use_tape``; None for one of a program."""
    said = (cassette.manifest.optional or {}).get("in_process")
    return said if isinstance(said, Mapping) else None


def _python(version: object) -> str | None:
    return f"Python {version}" if isinstance(version, str) else None


def _of_machine(cassette: Cassette, recorded: Surroundings, *, versions: bool) -> Surroundings:
    manifest = cassette.manifest
    profile = _profile_of(manifest.harness.name)
    argv = tuple(map(native_text, manifest.command.argv or ()))
    binary = (
        find_binary(profile) if profile is not None else shutil.which(argv[0]) if argv else None
    )
    version = None if _of_code(cassette) is None else _python(platform.python_version())
    if versions and profile is not None and binary is not None:
        version = installed_version(Path(binary)) or ask_version(
            Path(binary), profile.version_query.argv, timeout_s=_PATIENCE_S
        )
    # As the recorder writes them.
    able = (None if profile is None else capability_of(profile)) or {}
    emulator = default_emulator(Size(rows=1, cols=1)).identity
    columns, rows = shutil.get_terminal_size((0, 0))
    names = (profile.name,) if profile else ()
    suits = () if profile is None else (profile.terminal,)
    unchosen = {f"{one.cols}x{one.rows}" for one in (DEFAULT_SIZE, *suits)}
    return Surroundings(
        binary=None if binary is None else _digest_of(binary, recorded.binary),
        version=version,
        modes=_names(able.get("permission_modes")),
        features=_names(able.get("features")),
        platform=f"{system()} {architecture(platform.machine())}",
        # A recording has the terminal type of its recorder; this terminal's type does not matter.
        term=_RECORDERS_TERM,
        locale=locale_of(os.environ),
        # Without a choice it is the recorder's, today as then.
        size=recorded.size
        if recorded.size in unchosen
        else f"{columns}x{rows}"
        if columns
        else None,
        emulator=f"{emulator.name} {emulator.version}",
        variables=tuple(name for name in recorded.variables or () if name in os.environ),
        rules=None if recorded.rules is None else load_matching_rules(names).digest,
        recorder=f"ptycassette/{__version__}",
    )


def _discovered(cassette: Cassette) -> tuple[str, ...]:
    """The models that the harness itself reported in the recording."""
    return cassette.discovery.models or () if cassette.discovery is not None else ()


def _with_models(now: Surroundings, cassette: Cassette, query: ModelsQuery) -> Surroundings:
    """Add today's models, or why they are not known."""
    listed: tuple[str, ...] | None = None
    asked: tuple[str, ...] | None = None
    unknown: dict[str, str] = {}
    probed = bool(_discovered(cassette))
    if probed:
        try:
            profile = _profile_of(cassette.manifest.harness.name)
            listed = None if profile is None else probed_models(profile)
        except UnknownModelsError as reason:
            unknown["models"] = str(reason)
    try:
        offered, asked = provider_models(cassette, query, os.environ)
        listed = listed if probed else offered
    except UnknownModelsError as reason:
        unknown["asked-models"] = str(reason)
        if not probed:
            unknown["models"] = str(reason)
    return msgspec.structs.replace(now, models=listed, asked=asked, unknown=unknown)


def _profile_of(name: str) -> Profile | None:
    """The profile of a harness, only by its name: a path instead may be an attack."""
    return load_profile(name) if name in known_profiles() else None


def _digest_of(binary: str, recorded: str | None) -> str:
    """The digest in the recorded form; older recordings have the digest of the whole path."""
    whole = sha256(os.fsencode(os.path.realpath(binary))).hexdigest()
    return whole if recorded == whole else path_digest(binary)


def _names(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not value:
        return None
    return tuple(sorted({str(one) for one in value}))


def _traffic(cassette: Cassette) -> dict[str, tuple[str, ...]]:
    """The behaviour of the provider, as far as the tape shows it."""
    served: set[str] = set()
    statuses: set[str] = set()
    events: set[str] = set()
    features: set[str] = set()
    headers: set[str] = set()
    answered: set[str] = set()
    for exchange in cassette.tape():
        headers.update(map(_header, exchange.entry.headers))
        features.update(_features(exchange))
        answer = exchange.entry.answer
        if answer is None:
            continue
        answered.update(map(_header, answer.headers))
        if answer.status is not None:
            statuses.add(str(answer.status))
        if answer.body is None or answer.body.bytes > _MOST_BODY:
            continue
        body = exchange.answer()
        events.update(event_types(body))
        asked, found = first_model(exchange.question()), first_model(body)
        if asked is not None and found is not None:
            served.add(f"{asked} -> {found}")
    return {
        "served": tuple(sorted(served)),
        "statuses": tuple(sorted(statuses)),
        "events": tuple(sorted(events)),
        "asked_features": tuple(sorted(features)),
        "asked_headers": tuple(sorted(headers)),
        "answer_headers": tuple(sorted(answered)),
    }


def _header(header: tuple[str, str]) -> str:
    """A header, with its value if that is the same in every request."""
    name, value = header
    says = name in _TELLING_HEADERS or (name.startswith("x-stainless-") and name not in _COUNTING)
    return f"{name}: {value}" if says else name


def _features(exchange: RecordedExchange) -> Iterator[str]:
    """The features of a request: the keys of its body, and the names of its offered tools."""
    asked = decoded_json(exchange.question()) if _is_short(exchange) else None
    if not isinstance(asked, dict):
        return
    for name, value in asked.items():
        yield f"{name} {str(value).lower()}" if isinstance(value, bool) else name
    for tool in offered_tools(asked):
        name = tool.get("name") or tool.get("type")
        if isinstance(name, str):
            yield f"tool {name}"


def _is_short(exchange: RecordedExchange) -> bool:
    body = exchange.entry.body
    return body is not None and body.bytes <= _MOST_BODY
