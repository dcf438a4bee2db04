"""Whether a package announces plug-ins, found without loading what is slow to load."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from ptycassette.scrub.io.setup import announced


def package(place: Path, text: str) -> None:
    """One that is installed there."""
    folder = place / "plugin-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(text, encoding="ascii")


def test_a_group_that_a_package_announces_is_found(tmp_path: Path) -> None:
    """And no other."""
    package(tmp_path, "[some.group]\nname = module:thing\n")

    assert announced("some.group", [str(tmp_path)])
    assert not announced("some.other", [str(tmp_path)])
    assert not announced("some.group", [str(tmp_path / "missing")])


def test_an_archive_is_left_to_who_can_read_it(tmp_path: Path) -> None:
    """Better to ask for nothing than to miss a rule that somebody installed."""
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"PK")

    assert announced("some.group", [str(archive)])


def test_a_finder_of_somebody_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may find packages anywhere."""

    class Finder:
        def find_distributions(self) -> None:
            """Whatever."""

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])

    assert announced("no.such.group")


def test_it_agrees_with_the_slow_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every group that is installed here."""
    package(tmp_path, "[made.up.group]\nname = module:thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    groups = entry_points().groups

    assert "made.up.group" in groups
    assert all(announced(group) for group in groups)
