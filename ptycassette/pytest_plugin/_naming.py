"""The path of a test's cassette: stable, readable, and different for each test."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ptycassette.scrub.io.conceal import concealed

MAX_NAME = 100
_MAY_TELL = re.compile(r"[A-Za-z0-9+/_-]{16}|[@=:]")
"""No secret that is known by its shape is in a name without any of these."""
_UNSAFE = re.compile(r"[^\w.=,+\[\]-]+")


def cassette_path(base: Path, module: str, name: str) -> Path:
    """``base/module/name.cassette``, for a test of that name.

    A name that is too long for file systems, has characters that they refuse, or shows a secret
    (as parameters may) is rewritten and gets a hash, so that two tests never share a path.

    Args:
        base: the directory of cassettes.
        module: the test file, without its suffix.
        name: the test within it, class and parameters included: ``TestX.test_y[a-1]``.
    """
    shown = concealed(name) if _MAY_TELL.search(name) else name
    safe = _UNSAFE.sub("_", shown).strip(". ") or "test"
    if safe != name or len(safe.encode()) > MAX_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        head = safe.encode()[: MAX_NAME - 9].decode("utf-8", "ignore")
        safe = f"{head}-{digest}"
    return base / _UNSAFE.sub("_", module) / f"{safe}.cassette"


def library_of(cassette: Path) -> Path:
    """The directory of the cassettes of one test that starts programs: the test's own, as a folder.

    Args:
        cassette: the test's own path.
    """
    return cassette.with_name(cassette.name.removesuffix(".cassette"))


def without_leading_dots(folder: Path) -> Path:
    """A relative path that stays below what it is joined to."""
    return Path(*(part if part != ".." else "up" for part in folder.parts))
