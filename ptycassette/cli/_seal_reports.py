"""The objects that ``--json`` prints of seals and bundles. ``docs/json.md`` documents them."""

from __future__ import annotations

import msgspec

from ptycassette.cli._error_report import ErrorReport


class SealReport(msgspec.Struct, frozen=True, kw_only=True):
    """The seal of one cassette of ``verify``. ``signers``: the names of trusted keys."""

    status: str
    signers: tuple[str, ...]
    keyids: tuple[str, ...]
    sealed_at: str | None
    sealed_by: str | None


class SealedCassette(msgspec.Struct, frozen=True, kw_only=True):
    """One cassette of ``seal``; ``kept``: its seal was there already, and holds."""

    path: str
    seal: str
    kept: bool
    error: ErrorReport | None


class SealsReport(msgspec.Struct, frozen=True, kw_only=True):
    """``seal --json``."""

    ok: bool
    public_key: str
    cassettes: tuple[SealedCassette, ...]


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """``bundle verify --json``. An error is a code, a colon and a reason."""

    ok: bool
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    signer: str | None
