"""Pictures that cannot be made: what is said, and that nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette


def test_what_cannot_be_drawn_says_so(
    tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left where the picture should be, and the error says what to do."""
    write_cassette(tmp_path / "c", Output(0, b"hi"))
    write_cassette(tmp_path / "wide", Output(0, b"hi"), manifest=manifest_of(size=Size(999, 999)))
    cases = (
        ("c", ("x.gif", "--font", "No Such Font"), 2, "there is no font"),
        ("c", ("x.gif", "--font", __file__), 2, "cannot be read"),
        ("c", ("x.gif", "--from", "3", "--to", "1"), 2, "is before"),
        ("wide", ("x.png",), 2, "--font-size"),
        ("c", ("no/x.gif",), 125, "cannot be written"),
    )
    for name, words, status, said in cases:
        ran = run("export", "--allow-unscrubbed", tmp_path / name, tmp_path / words[0], *words[1:])

        assert (ran.status, said in ran.err) == (status, True), ran.err
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run("export", "--allow-unscrubbed", tmp_path / "c", tmp_path / "x.mp4")
    assert (ran.status, "install it" in ran.err) == (2, True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c", "wide"]
