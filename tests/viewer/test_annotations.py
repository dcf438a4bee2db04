"""Notes beside a cassette, apart from the program that shows them."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from ptycassette import CassetteError, open_cassette
from ptycassette_viewer.annotations import Annotations, Note
from tests.conftest import ROOT


def test_a_note_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a temporary file nor the note, which would look kept."""
    path = tmp_path / "made"
    shutil.copytree(ROOT / "fixtures" / "tapes" / "client-tape", path)
    with open_cassette(path) as cassette:
        notes = Annotations(cassette)

    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(CassetteError, match="could not be written: No space left"):
        notes.add(Note(0, 1))
    assert ([entry.name for entry in tmp_path.iterdir()], notes.notes) == (["made"], ())
