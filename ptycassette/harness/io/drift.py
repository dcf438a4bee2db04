"""What changed since a recording: the facts in a cassette, on this machine, in a newer cassette.

A cassette of a stranger names a harness. That name is looked up among the profiles that are
installed, never read as a path, and no program is started but that of a profile, when asked.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette._tape_lines import TAPE_KEY
from ptycassette.cassette.freshness import age_problem
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.harness.io.files import find_binary, known_profiles, load_profile
from ptycassette.harness.io.offered_models import (
    ModelsQuery,
    UnknownModelsError,
    asked_models,
    probed_models,
    provider_models,
    recorded_list,
)
from ptycassette.harness.surroundings import (
    DriftCause,
    Surroundings,
    age_cause,
    compared,
    settings_cause,
)
from ptycassette.model.geometry import Size
from ptycassette.model.json_values import decoded_json, native_text
from ptycassette.profiles.capability import capability_of
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.binary_probe import (
    architecture,
    ask_version,
    installed_version,
    locale_of,
    path_digest,
    system,
)
from ptycassette.session.options import DEFAULT_SIZE
from ptycassette.system.clock import MonotonicClock
from ptycassette.tape.io.matching_rules import load_matching_rules
from ptycassette.terminal.emulator import default_emulator
from ptycassette.version import __version__

_PATIENCE_S = 15.0
_EVENT = re.compile(rb'(?:^data: ?|^|\})\{"type": ?"([\w.]{1,80})"', re.MULTILINE)
_MODEL = re.compile(rb'"(?:model|modelVersion)": ?"([^"\\]{1,120})"')
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
        newer: a newer one of the same program, to compare with in place of this machine.
        versions: start the program of the harness's profile to ask for its version.
        models: ask which models there are: the harness's probe, with the user's account, where
            the recorded list came from it; else the provider, with the user's key.

    Raises:
        CassetteError: a cassette cannot be read.
        UsageError: the provider that ``models`` names is none.
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
        # The format wants a terminal; code has none, so that of this machine says nothing of it.
        found = msgspec.structs.replace(
            found, version=_python(code.get("python")), term=None, size=None, emulator=None
        )
    return found


def _of_code(cassette: Cassette) -> Mapping[str, Any] | None:
    """What the manifest says of a recording of code in ``use_tape``; None for one of a program."""
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
        # A recording has the terminal type of its recorder, whatever that of this terminal is.
        term=_RECORDERS_TERM,
        locale=locale_of(os.environ),
        # Where nobody chose one, it is the recorder's, today as then.
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
    """What the harness itself said that it offers."""
    return cassette.discovery.models or () if cassette.discovery is not None else ()


def _with_models(now: Surroundings, cassette: Cassette, query: ModelsQuery) -> Surroundings:
    """With the models of today, or why they are not known."""
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
    """The profile of a harness, by its name alone: a path in its place is somebody's trick."""
    return load_profile(name) if name in known_profiles() else None


def _digest_of(binary: str, recorded: str | None) -> str:
    """As it is recorded; older recordings have the digest of the whole path."""
    whole = sha256(os.fsencode(os.path.realpath(binary))).hexdigest()
    return whole if recorded == whole else path_digest(binary)


def _names(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not value:
        return None
    return tuple(sorted({str(one) for one in value}))


def _traffic(cassette: Cassette) -> dict[str, tuple[str, ...]]:
    """How the provider behaved, as far as the tape says."""
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
        events.update(kind.decode() for kind in _EVENT.findall(body))
        asked = _MODEL.search(exchange.question())
        found = _MODEL.search(body)
        if asked is not None and found is not None:
            pair = (one[1].decode("utf-8", "replace") for one in (asked, found))
            served.add(" -> ".join(pair))
    return {
        "served": tuple(sorted(served)),
        "statuses": tuple(sorted(statuses)),
        "events": tuple(sorted(events)),
        "asked_features": tuple(sorted(features)),
        "asked_headers": tuple(sorted(headers)),
        "answer_headers": tuple(sorted(answered)),
    }


def _header(header: tuple[str, str]) -> str:
    """A header; its value, too, where that says the same in every request."""
    name, value = header
    says = name in _TELLING_HEADERS or (name.startswith("x-stainless-") and name not in _COUNTING)
    return f"{name}: {value}" if says else name


def _features(exchange: RecordedExchange) -> Iterator[str]:
    """What a request asks with: the keys of its body, and the names of the tools that it offers."""
    asked = decoded_json(exchange.question()) if _is_short(exchange) else None
    if not isinstance(asked, dict):
        return
    for name, value in asked.items():
        yield f"{name} {str(value).lower()}" if isinstance(value, bool) else name
    offered = asked.get("tools")
    for tool in offered if isinstance(offered, list) else ():
        if not isinstance(tool, dict):
            continue
        function = tool.get("function")
        declared = tool.get("functionDeclarations")
        named = declared if isinstance(declared, list) else [function or tool]
        for one in named:
            name = (one.get("name") or one.get("type")) if isinstance(one, dict) else None
            if isinstance(name, str):
                yield f"tool {name}"


def _is_short(exchange: RecordedExchange) -> bool:
    body = exchange.entry.body
    return body is not None and body.bytes <= _MOST_BODY
