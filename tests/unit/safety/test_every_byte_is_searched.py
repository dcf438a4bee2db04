"""``verify-scrub`` is a gate: a token anywhere in a cassette is found, or it is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import InvalidCassetteError
from ptycassette.recording.io.rescrub import find_secrets_left
from ptycassette.scrub.session import default_scrubber

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ2sT" + "4vW6xY8zA0bC2dE4"
CASSETTES = [ROOT / "fixtures" / "tapes" / "client-tape", ROOT / "fixtures" / "v1" / "awkward"]
Steps = tuple[str | int, ...]


def places(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Each text of a document, and a new member of each object."""
    if isinstance(value, str):
        yield steps
    elif isinstance(value, dict):
        yield (*steps, "a_new_member")
        for name, one in value.items():
            yield from places(one, (*steps, name))
    elif isinstance(value, list):
        for number, one in enumerate(value[:2]):
            yield from places(one, (*steps, number))


def with_text(value: Any, steps: Steps, text: str) -> Any:
    """The document with a text at a place."""
    if not steps:
        return text
    first, *rest = steps
    copy = value.copy()
    copy[first] = with_text(value[first] if rest else None, tuple(rest), text)
    return copy


def refit(cassette: Path) -> None:
    """Let the digests fit, as somebody does who made the cassette."""
    path = cassette / "manifest.json"
    manifest = json.loads(path.read_bytes())
    optional = manifest.get("optional")
    optional = optional if isinstance(optional, dict) else {}
    optional.pop("manifest_digest", None)
    if isinstance(manifest.get("provenance"), dict):
        manifest["provenance"].pop("contract_version", None)
    pins = optional.get("artifacts")
    for name, pin in pins.items() if isinstance(pins, dict) else ():
        if not isinstance(pin, dict) or not (cassette / name).is_file():
            continue
        data = (cassette / name).read_bytes()
        pin.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    path.write_text(json.dumps(manifest) + "\n")


def is_let_through(cassette: Path) -> bool:
    """Whether neither ``verify`` nor ``verify-scrub`` has anything against it."""
    try:
        with open_cassette(cassette):
            pass
        return not find_secrets_left(cassette, default_scrubber(), environment={})
    except InvalidCassetteError:
        return False


DOCUMENTS = ("manifest.json", "final.json", "scrub-report.json", "quota.json", "discovery.json")
RECORDS = ("input.jsonl", "output.jsonl", "frames.jsonl", "service-events.jsonl", "tape.jsonl")


def cases() -> Iterator[tuple[Path, str, int, Steps]]:
    """Each cassette, file, line and place."""
    for cassette in CASSETTES:
        for name in (*DOCUMENTS, *RECORDS):
            path = cassette / name
            lines = path.read_bytes().splitlines() if path.exists() else []
            if name in DOCUMENTS and lines:
                lines = [path.read_bytes()]
            for number, line in enumerate(lines[:3]):
                yield from ((cassette, name, number, one) for one in places(json.loads(line)))


@pytest.mark.parametrize("cassette", CASSETTES, ids=lambda path: path.name)
def test_the_cassettes_are_clean(cassette: Path) -> None:
    """So what is found below is the token."""
    assert is_let_through(cassette)


def test_a_token_at_any_place_is_found(tmp_path: Path) -> None:
    """In each text, as each new member, in each kind of record and document."""
    through: list[str] = []
    tried = 0
    for cassette, name, number, steps in cases():
        copy = tmp_path / "c"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(cassette, copy)
        path = copy / name
        lines = [path.read_bytes()] if name in DOCUMENTS else path.read_bytes().splitlines()
        changed = with_text(json.loads(lines[number]), steps, TOKEN)
        lines[number] = json.dumps(changed).encode()
        path.write_bytes(b"\n".join(lines) + b"\n")
        refit(copy)
        if not any(TOKEN.encode() in one.read_bytes() for one in copy.iterdir()):
            continue  # it was in a digest, which fits again
        tried += 1
        if is_let_through(copy):
            through.append(f"{cassette.name}: {name} {number} {steps}")

    assert tried > 200
    assert "\n".join(through) == ""


@pytest.mark.parametrize(
    "where", ["unknown file", "name of a file", "end of the bodies", "hole", ".gitattributes"]
)
def test_a_token_outside_of_records_is_found(tmp_path: Path, where: str) -> None:
    """In what no record names."""
    copy = tmp_path / "c"
    shutil.copytree(CASSETTES[0], copy)
    path = copy / "manifest.json"
    manifest = json.loads(path.read_bytes())
    pins = manifest["optional"]["artifacts"]
    match where:
        case ".gitattributes":
            (copy / where).write_text(f"* -text\n# {TOKEN}\n")
        case "unknown file":
            (copy / "notes.bin").write_bytes(b"\xff\x00" + TOKEN.encode())
            pins["notes.bin"] = {}
        case "name of a file":
            (copy / TOKEN).write_bytes(b"x")
            pins[TOKEN] = {}
        case "end of the bodies":
            (copy / "tape-bodies.bin").write_bytes(
                (copy / "tape-bodies.bin").read_bytes() + TOKEN.encode()
            )
        case _:
            bodies = (copy / "tape-bodies.bin").read_bytes()
            entries = [json.loads(line) for line in (copy / "tape.jsonl").read_bytes().splitlines()]
            moved = len(TOKEN)
            for entry in entries:
                for body in (entry["body"], entry["answer"]["body"]):
                    body["at"] += moved
            (copy / "tape-bodies.bin").write_bytes(TOKEN.encode() + bodies)
            (copy / "tape.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))
    path.write_text(json.dumps(manifest))
    refit(copy)

    assert not is_let_through(copy)
