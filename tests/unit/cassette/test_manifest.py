"""The manifest: what must be in it, in which order it is checked, what it pins."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ptycassette.cassette.layout import (
    MANIFEST,
    REQUIRED_FILES,
    Artifact,
    check_artifact,
    check_entries,
    read_artifacts,
    with_artifacts,
)
from ptycassette.cassette.manifest import (
    CONTRACT,
    check_manifest_digest,
    decode_manifest,
    encode_manifest,
    peek_version,
    with_manifest_digest,
)
from ptycassette.errors import (
    DigestError,
    EmulatorMissingError,
    LimitError,
    ManifestError,
    VersionError,
)
from ptycassette.model.limits import Limits
from ptycassette.model.records import EmulatorId, Manifest
from ptycassette.testing import manifest_of

ZEROS = "0" * 64
ALL_PINNED = {
    name: Artifact(sha256=ZEROS, bytes=1) for name in REQUIRED_FILES if name != "output.raw"
}


def _edited(**changes: Any) -> bytes:
    document = json.loads(encode_manifest(manifest_of()))
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = document
        for name in parents:
            target = target[name]
        if value is ...:
            del target[last]
        else:
            target[last] = value
    return json.dumps(document).encode()


def test_a_manifest_is_indented_and_ends_with_a_newline() -> None:
    """As the reference writes it, in the order of its fields."""
    data = encode_manifest(manifest_of())

    assert data.startswith(b'{\n  "version": 1,\n  "id": "')
    assert data.endswith(b"}\n")
    assert list(json.loads(data)) == [
        "version",
        "id",
        "content_digest",
        "harness",
        "command",
        "terminal",
        "timing",
        "provenance",
    ]


def test_unknown_fields_stay_in_the_document() -> None:
    """For who writes the manifest again."""
    page = decode_manifest(_edited(colour="blue", harness__mood=1))

    assert page.document["colour"] == "blue"
    assert page.document["harness"]["mood"] == 1
    assert page.manifest == manifest_of()


@pytest.mark.parametrize("version", [..., None, 0, -1, True, 1.0, "1", []])
def test_a_manifest_without_a_proper_version_names_none(version: object) -> None:
    """Only an integer of at least 1 is a version."""
    with pytest.raises(VersionError, match="names no format version"):
        decode_manifest(_edited(version=version))


def test_a_newer_version_is_called_newer_whatever_else_is_in_it() -> None:
    """Dispatch on the version first: duplicate keys, wrong types and all."""
    with pytest.raises(VersionError, match="format version is 7") as caught:
        decode_manifest(b'{"id": 1, "id": 2, "version": 7, "timing": null}')

    assert caught.value.hint == "install a newer ptycassette"


def test_the_version_can_be_looked_up_alone() -> None:
    """For who decides whether to replace a cassette."""
    assert peek_version(b'{"version": 12}') == 12


@pytest.mark.parametrize("data", [b"", b"[]", b"7", b'"x"', b"{", b"\xff"])
def test_what_is_no_object_is_no_manifest(data: bytes) -> None:
    """Anything but one JSON object."""
    with pytest.raises(ManifestError):
        decode_manifest(data)


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ({"id": ...}, {"content_digest": ...}, "id is missing"),
        ({"content_digest": {}}, {"terminal": 1}, r"content_digest\.sha256 is missing"),
        ({"terminal__emulator": []}, {"timing": {}}, r"terminal\.emulator\.name is missing"),
        ({"timing__resolution_ms": True}, {"harness": 1}, "resolution_ms must be an integer"),
        ({"timing__resolution_ms": -5}, {"required_features": ["x"]}, "above 0"),
        ({"harness__name": 1}, {"required_features": ["x"]}, r"\$\.harness\.name"),
    ],
)
def test_the_rules_are_checked_in_their_order(
    first: dict[str, Any], then: dict[str, Any], says: str
) -> None:
    """Of two that are broken the first is reported."""
    with pytest.raises(ManifestError, match=says):
        decode_manifest(_edited(**first, **then))


@pytest.mark.parametrize("terminal", [..., None, 1, {"emulator": None}, {"emulator": {"name": ""}}])
def test_a_missing_emulator_is_reported_to_who_requires_one(terminal: object) -> None:
    """Before anything that is wrong with the manifest otherwise."""
    with pytest.raises(EmulatorMissingError, match="the emulator a 1 is required"):
        decode_manifest(_edited(terminal=terminal, id=...), require_emulator=EmulatorId("a", "1"))


@pytest.mark.parametrize("field", ["initial_rows", "initial_cols"])
@pytest.mark.parametrize("value", [-1, 65536])
def test_a_size_must_fit_16_bits(field: str, value: int) -> None:
    """Go reads it into a uint16."""
    with pytest.raises(ManifestError, match=f"{field} {value} does not fit"):
        decode_manifest(_edited(**{f"terminal__{field}": value}))


TOO_MUCH: dict[str, tuple[Callable[[], object], str]] = {
    "a manifest that is too large": (
        lambda: decode_manifest(encode_manifest(manifest_of()),
                                limits=Limits(max_document_bytes=10)),
        "bytes, and a reader accepts 10"),
    "deeper than the decoder itself goes": (
        lambda: decode_manifest(b'{"version":' + b"[" * 50_000), "nested deeper"),
    "a little deeper than the limit": (
        lambda: decode_manifest(_edited(x=json.loads("[" * 64 + "]" * 64))),
        "nested deeper than 64 levels"),
    "too many artifacts": (
        lambda: read_artifacts(_with_table({f"f{number}": GOOD for number in range(300)})),
        "300 artifacts"),
    "a name that is too long": (
        lambda: read_artifacts(_with_table({"x" * 256: GOOD})), "too long"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_MUCH)
def test_a_manifest_that_is_too_much_is_refused(case: str) -> None:
    """Before it is decoded."""
    act, says = TOO_MUCH[case]

    with pytest.raises(LimitError, match=says):
        act()


# ------------------------------------------------------------------ artifacts


def test_artifacts_are_read_back() -> None:
    """By name, with digest and length."""
    manifest = with_artifacts(manifest_of(), ALL_PINNED)

    assert read_artifacts(manifest) == ALL_PINNED


def test_a_manifest_without_artifacts_pins_nothing() -> None:
    """That is what the reference writes."""
    assert read_artifacts(manifest_of()) is None


def _with_table(table: object) -> Manifest:
    return msgspec.structs.replace(manifest_of(), optional={"artifacts": table})


GOOD = {"sha256": ZEROS, "bytes": 1}


@pytest.mark.parametrize(
    "table",
    [
        [],
        "x",
        {"final.json": None},
        {"final.json": {"sha256": ZEROS}},
        {"final.json": {"sha256": "A" * 64, "bytes": 1}},
        {"final.json": {"sha256": ZEROS, "bytes": -1}},
        {"manifest.json": GOOD},
        {"a/b": GOOD},
        {".": GOOD},
        {"..": GOOD},
        {".hidden": GOOD},
        {"": GOOD},
        {"a\n": GOOD},
        {"a\0b": GOOD},
        {"final.json": GOOD},
    ],
)
def test_malformed_artifacts_are_refused(table: object) -> None:
    """Types, digests, lengths, names that lead elsewhere, and files left out."""
    with pytest.raises(ManifestError, match=r"optional\.artifacts"):
        read_artifacts(_with_table(table))


def test_entries_of_an_unpinned_cassette_may_be_more() -> None:
    """Only a pinned one says what else there is."""
    entries = frozenset({MANIFEST, *REQUIRED_FILES, "more"})

    check_entries(entries, None, place="x")
    assert "more" in entries


def test_a_file_is_compared_with_its_pin_if_it_has_one() -> None:
    """Digest and length both count."""
    check_artifact("x", None, sha256="a", size=1, place="x")
    check_artifact("final.json", ALL_PINNED, sha256=ZEROS, size=1, place="x")

    with pytest.raises(DigestError, match="2 bytes, and the manifest pins 1"):
        check_artifact("final.json", ALL_PINNED, sha256=ZEROS, size=2, place="x")
    with pytest.raises(DigestError, match="the sha256 is 1"):
        check_artifact("final.json", ALL_PINNED, sha256="1", size=1, place="x")


# ------------------------------------------------------------------ its own digest


def _sealed(**optional: Any) -> Manifest:
    manifest = msgspec.structs.replace(manifest_of(), optional=optional or None)
    return with_manifest_digest(with_artifacts(manifest, ALL_PINNED))


def test_a_manifest_pins_itself() -> None:
    """And promises to."""
    manifest = _sealed(title="x")

    check_manifest_digest(manifest)
    assert manifest.provenance.contract_version == CONTRACT
    assert manifest.optional is not None
    assert manifest.optional["manifest_digest"]["optional"] == ["title"]


def test_pinning_again_gives_the_same() -> None:
    """The digest does not cover itself."""
    assert with_manifest_digest(_sealed(title="x")) == _sealed(title="x")


def test_a_contract_that_is_given_stays() -> None:
    """It is the recorder's to name."""
    provenance = msgspec.structs.replace(manifest_of().provenance, contract_version="C-3")
    manifest = msgspec.structs.replace(manifest_of(), provenance=provenance)

    assert with_manifest_digest(manifest).provenance.contract_version == "C-3"


def _changed(change: Callable[[dict[str, Any]], object], **fields: Any) -> Manifest:
    """A manifest that pins itself, with another ``optional`` and other fields."""
    sealed = _sealed(title="x")
    optional = {**(sealed.optional or {})}
    change(optional)
    return msgspec.structs.replace(sealed, optional=optional, **fields)


DAMAGED: dict[str, tuple[Manifest, type[Exception], str]] = {
    "a known field": (
        _changed(lambda _: None, id="other"), DigestError, "the digest of the manifest"),
    "a name that is covered": (
        _changed(lambda optional: optional.update(title="y")), DigestError,
        "the digest of the manifest"),
    # Whether this version knows the name or not; its own writer covers all of them.
    **{f"an added {name}": (
        _changed(lambda optional, name=name: optional.update({name: "x"})), DigestError,
        rf"does not cover optional\.{name}") for name in ("meta", "later")},
    # Whoever damages the key of a pin does not get rid of it.
    **{f"no {name}": (
        _changed(lambda optional, name=name: optional.pop(name)), ManifestError,
        f"{name} is missing") for name in ("artifacts", "manifest_digest")},
    **{f"{value} for a digest": (
        _changed(lambda optional, value=value: optional.update(manifest_digest=value)),
        ManifestError, r"optional\.manifest_digest")
       for value in (1, {}, {"sha256": 1, "optional": []}, {"sha256": "x"})},
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_a_changed_manifest_is_noticed(case: str) -> None:
    """What is changed, added, taken away, and no digest."""
    manifest, error, says = DAMAGED[case]

    with pytest.raises(error, match=says):
        check_manifest_digest(manifest)


def test_what_the_files_prove_and_what_comes_later_is_not_covered() -> None:
    """Artifacts and content digest."""
    digest = manifest_of(sha256="1" * 64).content_digest

    check_manifest_digest(
        _changed(lambda optional: optional.update(artifacts={}), content_digest=digest)
    )
    assert digest != _sealed().content_digest
