"""A home and a work folder for a run of a program, in a private temporary folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ptycassette.system.files.abandoned import HeldFolder, held_folder
from ptycassette.system.ownership import owned_context


class RunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run has its home and its work folder."""

    home: Path
    cwd: Path
    folder: HeldFolder


@owned_context
def run_place(
    root: Path | None,
    *,
    cwd: Path | None = None,
    files: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Iterator[RunPlace]:
    """A private folder, with a home and a work folder in it.

    Args:
        root: as for ``held_folder``.
        cwd: a work folder of the caller's, in place of one in the home.
        files: texts to write into the work folder, by name.
        keep: as for ``held_folder``.

    Raises:
        StorageError: the disk refuses.
    """
    with held_folder(root, keep=keep) as folder:
        # A name that occurs on no screen, because the scrubber treats it as a user's name.
        home = folder.path / "run-home"
        # Inside the home, as a user would have it: CLIs then show it as ~/work.
        place = RunPlace(home=home, cwd=cwd or home / "work", folder=folder)
        home.mkdir(mode=0o700)
        place.cwd.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            (place.cwd / name).write_text(text)
        yield place
