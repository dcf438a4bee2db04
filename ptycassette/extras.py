"""Packages that only an extra installs: what is said where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptycassette.errors import UsageError

_NEEDED_BY = {
    "provider": "the fake provider",
    "seal": "a seal",
    "sigstore": "a seal of an identity",
    "tape": "running a program from its tape",
}


@contextmanager
def needing_extra(name: str) -> Iterator[None]:
    """Say which extra to install if a package that is imported inside is missing.

    Args:
        name: of the extra.

    Raises:
        UsageError: a package of another project is missing.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "ptycassette":
            raise
        raise UsageError(
            f"{_NEEDED_BY[name]} needs the package {missing.name!r}",
            hint=f"pip install 'ptycassette[{name}]'",
        ) from missing
