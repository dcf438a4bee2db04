"""An error as JSON, in the objects of several commands."""

from __future__ import annotations

import msgspec

from ptycassette.errors import CassetteError


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
