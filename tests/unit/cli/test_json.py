"""The JSON objects of the command line: as documented, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.cli import reports

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "json.md"
STRUCTS = {
    name: struct
    for name in reports.__all__
    if isinstance(struct := getattr(reports, name), type) and issubclass(struct, msgspec.Struct)
}


def _documented() -> dict[str, list[str]]:
    """Names of objects and their fields, in the order of the page."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^### ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0].strip()
        found[name] = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    return found


def test_every_object_is_documented() -> None:
    """And nothing is that does not exist."""
    assert set(_documented()) == set(STRUCTS)


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_every_field_is_documented_in_order(name: str) -> None:
    """With its name in JSON."""
    fields = [field.encode_name for field in msgspec.structs.fields(STRUCTS[name])]

    assert _documented()[name] == fields


@pytest.mark.parametrize(
    ("args", "struct"),
    [
        (("info",), reports.InfoReport),
        (("verify",), reports.VerifyReport),
        (("events",), reports.EventLine),
        (("frames",), reports.FramesReport),
        (("frames", "--last"), reports.FramesReport),
        (("frames", "--diff"), reports.FramesReport),
    ],
)
def test_what_is_printed_is_the_object(
    args: tuple[str, ...], struct: type[msgspec.Struct], run: Callable[..., Any], cassette: Path
) -> None:
    """Each line decodes as its struct, and nothing of it is unknown to the struct."""
    for line in run(*args, "--json", cassette).text.splitlines():
        assert _again(line, struct) == json.loads(line)


def test_doctor_prints_its_object(run: Callable[..., Any]) -> None:
    """The same for the command without a cassette."""
    text = run("doctor", "--json").text

    assert _again(text, reports.DoctorReport) == json.loads(text)


def _again(text: str, struct: type[msgspec.Struct]) -> Any:
    """Decode into the struct and back: what it does not know gets lost."""
    return json.loads(msgspec.json.encode(msgspec.json.decode(text, type=struct)))
