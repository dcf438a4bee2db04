"""Reports of commands about seals, and the search for the trust file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ptycassette.cli._options import project
from ptycassette.cli._present import error_lines, field_lines
from ptycassette.errors import CassetteError
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.seal.trust import SealVerdict, Trust


def trust_in_force(named: Path | None) -> Trust:
    """The trust file that an option names, else the project file's; else one that trusts no key.

    Raises:
        CassetteError: it cannot be read, or is wrong.
    """
    from ptycassette.seal.io.key_files import read_trust
    from ptycassette.seal.trust import Trust

    path = named or project().seal.trust
    return Trust() if path is None else read_trust(path)


def cassettes_named(paths: Sequence[str]) -> list[str]:
    """The paths, each once, with the cassette in place of its seal: ``cassettes/*`` names both."""
    is_seal = [path.endswith(SUFFIX) and Path(path).is_file() for path in paths]
    named = (
        path.removesuffix(SUFFIX) if seal else path
        for path, seal in zip(paths, is_seal, strict=True)
    )
    return list(dict.fromkeys(named))


SUFFIX = ".seal.json"
STATES = {
    "trusted": "sealed",
    "unknown-key": "SEAL NOT TRUSTED",
    "unsigned": "NOT SEALED",
    "tampered": "NOT AS SEALED",
    "unreadable": "NOT VALID",
}
"""What people are shown for each status."""


def verdict_lines(verdict: SealVerdict) -> Iterator[str]:
    """A verdict as text."""
    yield f"{visible(verdict.path)}: {STATES[verdict.status]}"
    if verdict.error is not None:
        for line in error_lines(verdict.error):
            yield f"  {line.removeprefix('ptycassette: ')}"
    else:
        yield from field_lines(seal_fields(verdict))


def seal_fields(verdict: SealVerdict) -> Iterator[tuple[str, str]]:
    """The fields of a trusted seal."""
    if verdict.statement is not None:
        yield "by", visible(", ".join(verdict.signers), limit=200)
        yield (
            "when",
            visible(f"{verdict.statement.sealed_at}, by the clock of the signer", limit=100),
        )
        yield "files", f"{len(verdict.statement.digests)}, every byte as sealed"


def seal_report(verdict: SealVerdict) -> SealReport:
    """A verdict as JSON."""
    statement = verdict.statement
    return SealReport(
        status=verdict.status.value,
        signers=verdict.signers,
        keyids=verdict.keyids,
        sealed_at=None if statement is None else statement.sealed_at,
        sealed_by=None if statement is None else statement.sealed_by,
    )


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """An error: ``type`` is the name of its class in ``ptycassette.errors``."""

    type: str
    message: str
    where: str | None
    hint: str | None
    status: int

    @classmethod
    def of(cls, error: CassetteError) -> ErrorReport:
        """The report of an error."""
        return cls(
            type=type(error).__name__,
            message=error.message,
            where=error.where,
            hint=error.hint,
            status=error.exit_status,
        )


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
