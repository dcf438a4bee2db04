"""Notes beside a cassette, apart from the program that shows them."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from ptycassette import CassetteError, open_cassette
from ptycassette.model.records import Finished
from ptycassette.testing import write_cassette
from ptycassette_viewer.annotations import Annotations, Note, sidecar
from ptycassette_viewer.traces.trace_screen import read_trace
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


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_notes_and_traces_that_are_no_files_are_refused(kind: str, tmp_path: Path) -> None:
    """A pipe beside a cassette is not waited for, and a device is not read."""
    whole = tmp_path / "c"
    write_cassette(whole, Finished(t_us=1))
    for place in (sidecar(whole), tmp_path / "trace.json"):
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "device":
            place.symlink_to("/dev/zero")
        else:
            place.mkdir()

    with open_cassette(whole) as cassette, pytest.raises(CassetteError, match="regular file"):
        Annotations(cassette)
    with pytest.raises(CassetteError, match="regular file"):
        read_trace(tmp_path / "trace.json")
