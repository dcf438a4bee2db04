"""The manifest of a recording, from the head of its journal and from what the run revealed.

Every text in it is scrubbed, except for digests and times, whose form the format prescribes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ptycassette.cassette._tape_lines import TAPE_KEY, TAPE_VERSION
from ptycassette.model.journal import Finished, SessionMeta
from ptycassette.model.json_values import native, storable, storable_text
from ptycassette.model.manifest import (
    Command,
    ContentDigest,
    EmulatorId,
    Harness,
    Manifest,
    Provenance,
    Terminal,
    Timing,
)
from ptycassette.model.ports import Scrubber
from ptycassette.model.records import DiscoveryRecord, QuotaRecord
from ptycassette.model.resolved_types import resolved
from ptycassette.model.streams import STREAMS_KEY
from ptycassette.recording._capability import with_probed
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.timeline.match_secrets import (
    SECRET_DIGESTS_KEY,
    InputDigest,
    stored_secrets,
    word_digests,
)

_FORMAT_VERSION: Final = 1
_SHAPED: Final = ("binary_path_digest_sha256", "captured_at", "freshness_window")
_KEPT_OPTIONS: Final = (
    *("edited", "frame_policy", "idle_limit_ms", "imported", "in_process", "meta", "recovered"),
)


class Learnt(msgspec.Struct, kw_only=True):
    """What a run revealed beyond the head of its journal.

    Attributes:
        began: when the program started, RFC 3339; empty where the journal does not have it.
        quota: the last quota that was probed.
        discovery: the last models that were probed.
        end: how the program ended.
        secrets: the digests of what was masked in the input.
        tape: what the manifest says of the tape besides its key; None without one.
    """

    began: str = ""
    quota: QuotaRecord | None = None
    discovery: DiscoveryRecord | None = None
    end: Finished | None = None
    secrets: list[InputDigest] = []
    tape: dict[str, Any] | None = None


def make_manifest(
    meta: SessionMeta, learnt: Learnt, *, emulator: EmulatorId, scrubber: Scrubber
) -> Manifest:
    """The manifest with scrubbed texts. The sink fills in the digest of the output."""
    argv = tuple(scrubber.text(word, channel="argv") for word in meta.argv)
    secrets = stored_secrets(learnt.secrets, word_digests(meta.id, meta.argv, argv))
    mode = meta.permission_mode
    return Manifest(
        version=_FORMAT_VERSION,
        id=meta.id,
        content_digest=ContentDigest(""),
        harness=_harness(meta, learnt, scrubber),
        command=Command(
            argv=tuple(map(storable_text, argv)),
            workdir_policy=meta.workdir_policy,
            env_allowlist=tuple(map(storable_text, meta.env_allowlist)) or None,
            timeout_ms=meta.timeout_ms,
            permission_mode=mode and storable_text(scrubber.text(mode, channel="permission-mode")),
        ),
        terminal=Terminal(
            initial_rows=meta.size.rows,
            initial_cols=meta.size.cols,
            locale=None if meta.locale is None else storable_text(meta.locale),
            term=storable_text(meta.term),
            pty_mode=meta.pty_mode,
            emulator=emulator,
        ),
        timing=Timing(
            resolution_ms=meta.resolution_ms,
            clock_policy="monotonic-elapsed",
            replay_default="realtime",
        ),
        provenance=Provenance(
            git_sha=meta.git_sha,
            os=meta.os,
            arch=meta.arch,
            recorded_at=learnt.began or meta.recorded_at,
            recorder_version=meta.recorder_version,
        ),
        optional={
            **_optional(meta, learnt, scrubber),
            **_streams(meta, learnt),
            **_tape(meta, learnt, scrubber),
            **secrets,
        }
        or None,
    )


def manifest_texts(manifest: Manifest) -> dict[str, Any]:
    """The texts of a manifest, for verification: without digests, which look like keys."""
    harness = msgspec.to_builtins(manifest.harness)
    optional = dict(manifest.optional or {})
    for name in (SECRET_DIGESTS_KEY, TAPE_KEY):
        optional.pop(name, None)
    return {
        "command": native(msgspec.to_builtins(manifest.command)),
        "harness": native({one: value for one, value in harness.items() if one not in _SHAPED}),
        "optional": native(optional),
    }


def _harness(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> Harness:
    given = meta.harness
    if learnt.end is not None and learnt.end.other_program:
        given = msgspec.structs.replace(given, capability=None)
    harness = msgspec.to_builtins(with_probed(given, learnt.quota, learnt.discovery))
    if learnt.end is not None and learnt.end.binary_version is not None:
        harness["binary_version"] = learnt.end.binary_version
    shaped = {name: harness.pop(name) for name in _SHAPED if name in harness}
    scrubbed = storable(scrubber.value(harness, channel="harness"))
    return msgspec.convert({**scrubbed, **shaped}, resolved(Harness))


def _streams(meta: SessionMeta, learnt: Learnt) -> dict[str, Any]:
    """What the streams of the program were, unless all were its terminal."""
    if meta.streams is None:
        return {}
    offset = learnt.end.stdin_offset if learnt.end is not None else None
    return {STREAMS_KEY: msgspec.structs.replace(meta.streams, stdin_offset=offset).written()}


def _tape(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> dict[str, Any]:
    """That there is a tape, if there is one."""
    if learnt.tape is None:
        return {}
    option = meta.options[TAPE_OPTION]
    described = storable(scrubber.value(option.get("described", {}), channel="manifest"))
    return {
        TAPE_KEY: {
            "version": TAPE_VERSION,
            "key": option.get("key", ""),
            **described,
            **learnt.tape,
        }
    }


def _optional(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> dict[str, Any]:
    options = meta.options
    found = {name: options[name] for name in _KEPT_OPTIONS if options.get(name) is not None}
    if learnt.end is not None and learnt.end.version_missing is not None:
        found["binary_version_missing"] = learnt.end.version_missing
    if meta.title is not None:
        found["title"] = meta.title
    value: dict[str, Any] = storable(scrubber.value(found, channel="manifest"))
    return value
