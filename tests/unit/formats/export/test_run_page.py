"""The page of a run over several recordings."""

from __future__ import annotations

import re

import pytest

from ptycassette.formats.export.page import runs
from ptycassette.formats.export.page.runs import RunPart, run_page
from ptycassette.formats.export.page.styles import StyleClasses


def part(name: str, *, passed: bool, played: str = "") -> RunPart:
    """A part with a recording of that text, if any."""
    return RunPart(
        name=name,
        passed=passed,
        found=("<p>found</p>",),
        played=(lambda anchor: [f'<i id="{anchor}">{played}</i>']) if played else None,
    )


def page_of(*parts: RunPart) -> str:
    """The page."""
    return b"".join(run_page(parts, StyleClasses(), title="a run")).decode()


def test_the_index_leads_to_each_part() -> None:
    """With its outcome; names are text."""
    page = page_of(part("<one>", passed=True), part("two", passed=False))

    assert re.findall(r'<span class="[\w-]+">(\w+)</span> <a href="#(r\d)">(.*?)</a>', page) == [
        ("passed", "r0", "&lt;one&gt;"),
        ("FAILED", "r1", "two"),
    ]
    assert set(re.findall('id="(r[0-9])"', page)) == {"r0", "r1"}


def test_recordings_of_failed_parts_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for all; that one is left out is said. Ids differ."""
    monkeypatch.setattr(runs, "MOST_PLAYED", 100)
    page = page_of(
        part("a", passed=True, played="x" * 60), part("b", passed=False, played="y" * 60)
    )

    assert '<i id="r1s">yyy' in page
    assert "xxx" not in page
    assert page.count("Its recording is left out") == 1
