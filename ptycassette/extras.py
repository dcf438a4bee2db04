"""Packages that only an extra installs: the error if one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ptycassette.errors import UsageError

_NEEDED_BY = {
    "provider": "the fake provider",
    "seal": "a seal",
    "sigstore": "a seal of an identity",
    "tape": "recording or answering model traffic",
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
        raise _missing(name, str(missing.name)) from missing


def need_extra(name: str, *packages: str) -> None:
    """Check that packages of an extra are installed, without importing them.

    Args:
        name: of the extra.
        packages: the names that would be imported.

    Raises:
        UsageError: one is missing.
    """
    for package in packages:
        if find_spec(package) is None:
            raise _missing(name, package)


def _missing(name: str, package: str) -> UsageError:
    return UsageError(
        f"{_NEEDED_BY[name]} needs the package {package!r}",
        hint=f"pip install 'ptycassette[{name}]'",
    )
