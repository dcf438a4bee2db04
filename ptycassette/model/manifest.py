"""``manifest.json``: the page that pins a cassette. Written last, read first."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_NUMBER = re.compile(r"\d+(\.\d+)+[\w.+-]*")


class ContentDigest(msgspec.Struct, frozen=True):
    """SHA-256 of ``output.raw``, 64 lower-case hexadecimal digits."""

    sha256: str


class Harness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recorded CLI as a product."""

    name: str
    binary_path_digest_sha256: str | None = None
    binary_version: str | None = None
    capability: dict[str, Any] | None = None
    account_class: str | None = None
    captured_at: str | None = None
    freshness_window: str | None = None


def same_version(one: str | None, other: str | None) -> bool:
    """Whether two texts name one version: ``codex-cli 0.169.0`` is what a program prints.

    Its package calls the same version ``0.169.0``.
    """
    if one == other or one is None or other is None:
        return one == other
    found = [match[0] if (match := _NUMBER.search(text)) else None for text in (one, other)]
    return found[0] is not None and found[0] == found[1] and found[0] in {one, other}


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was started. Only *names* of environment variables are ever kept."""

    argv: tuple[str, ...] | None = None
    workdir_policy: str
    env_allowlist: tuple[str, ...] | None = None
    timeout_ms: int | None = None
    permission_mode: str | None = None


class EmulatorId(msgspec.Struct, frozen=True):
    """Which emulator made the frames. The version changes whenever results may."""

    name: str
    version: str


class Terminal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The terminal that the program saw at its start."""

    initial_rows: int
    initial_cols: int
    locale: str | None = None
    term: str | None = None
    pty_mode: dict[str, Any] | None = None
    emulator: EmulatorId


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How time was taken. ``resolution_ms`` is above 0."""

    resolution_ms: int
    clock_policy: str
    replay_default: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where and when it was recorded, and by what. ``recorded_at`` is RFC 3339, UTC."""

    git_sha: str | None = None
    contract_version: str | None = None
    os: str
    arch: str
    recorded_at: str
    recorder_version: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole manifest of version 1."""

    version: int
    id: str
    content_digest: ContentDigest
    harness: Harness
    command: Command
    terminal: Terminal
    timing: Timing
    provenance: Provenance
    required_features: tuple[str, ...] | None = None
    optional: dict[str, Any] | None = None
