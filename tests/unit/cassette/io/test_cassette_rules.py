"""Every rule of the format has its error, its message and its fixture."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ptycassette import errors, open_cassette
from ptycassette.model.records import EmulatorId

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"


def _make_fixtures() -> ModuleType:
    sys.path.insert(0, str(FIXTURES))
    try:
        return importlib.import_module("make_fixtures")
    finally:
        sys.path.remove(str(FIXTURES))


make_fixtures = _make_fixtures()


@pytest.mark.parametrize("name", make_fixtures.V1)
def test_a_valid_cassette_is_accepted(name: str) -> None:
    """Each fixture in ``v1`` passes the full check."""
    with open_cassette(FIXTURES / "v1" / name) as cassette:
        verified = cassette.verify()

    assert verified.output_bytes == cassette.output_size


@pytest.mark.parametrize("name", make_fixtures.CORRUPT)
def test_a_broken_rule_is_refused_by_its_own_error(name: str) -> None:
    """Each fixture in ``corrupt`` raises exactly its error, and the message says what."""
    corrupt = make_fixtures.CORRUPT[name]

    with pytest.raises(errors.InvalidCassetteError) as caught:
        open_cassette(FIXTURES / "corrupt" / name)

    assert type(caught.value) is getattr(errors, corrupt.error)
    assert corrupt.says in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.startswith(str(FIXTURES / "corrupt" / name))


def test_every_error_of_an_invalid_cassette_has_a_fixture() -> None:
    """No class below ``InvalidCassetteError`` is without one."""
    with_fixture = {corrupt.error for corrupt in make_fixtures.CORRUPT.values()}

    assert with_fixture == {cls.__name__ for cls in errors.InvalidCassetteError.__subclasses__()}


def test_the_committed_fixtures_are_what_the_script_makes(tmp_path: Path) -> None:
    """Nobody edited a fixture by hand, and the script is deterministic."""
    make_fixtures.write(tmp_path)

    made, committed = make_fixtures.listing(tmp_path), make_fixtures.listing(FIXTURES)
    assert made.keys() == committed.keys()
    assert made == committed


@pytest.mark.parametrize("name", [*make_fixtures.V1, *make_fixtures.CORRUPT])
def test_the_readme_lists_every_fixture(name: str) -> None:
    """What a reader in another language must pass is written down."""
    rows = (FIXTURES / "README.md").read_text(encoding="utf-8").splitlines()

    corrupt = make_fixtures.CORRUPT.get(name)
    start = f"| `{name}` | `{corrupt.error}` | {corrupt.says} |" if corrupt else f"| `{name}` |"
    assert any(row.startswith(start) for row in rows)


MINIMAL = FIXTURES / "v1" / "minimal"
MINIMAL_ID = "00000000-0000-4000-8000-000000000001"


def test_pins_that_are_met_open_the_cassette() -> None:
    """Id, digest (in either case) and emulator as recorded."""
    with open_cassette(MINIMAL, check="manifest") as cassette:
        digest = cassette.manifest.content_digest.sha256

    with open_cassette(
        MINIMAL,
        expect_id=MINIMAL_ID,
        expect_sha256=digest.upper(),
        require_emulator=EmulatorId("synthetic", "1"),
    ) as again:
        assert again.manifest.id == MINIMAL_ID


def test_another_id_than_expected_is_refused() -> None:
    """The caller's pin on the id."""
    with pytest.raises(errors.IdPinError, match="expected the id other"):
        open_cassette(MINIMAL, expect_id="other")


def test_another_digest_than_expected_is_refused() -> None:
    """The caller's pin on the digest of ``output.raw``."""
    with pytest.raises(errors.DigestPinError, match="expected the digest 0000"):
        open_cassette(MINIMAL, expect_sha256="0" * 64)


@pytest.mark.parametrize("required", [EmulatorId("other", "1"), EmulatorId("synthetic", "2")])
def test_another_emulator_than_required_is_refused(required: EmulatorId) -> None:
    """Name and version both count."""
    with pytest.raises(errors.EmulatorPinError, match="frames were made by synthetic 1"):
        open_cassette(MINIMAL, require_emulator=required)


def test_any_version_of_an_emulator_can_be_required() -> None:
    """An empty version pins the name alone."""
    with open_cassette(MINIMAL, require_emulator=EmulatorId("synthetic", "")) as cassette:
        assert cassette.manifest.terminal.emulator.version == "1"


@pytest.mark.parametrize("name", ["emulator-missing", "emulator-version-missing"])
def test_a_missing_emulator_is_reported_before_one_that_differs(name: str) -> None:
    """Whoever requires one learns that there is none, not that it is another."""
    with pytest.raises(errors.EmulatorMissingError, match="names none"):
        open_cassette(FIXTURES / "corrupt" / name, require_emulator=EmulatorId("x", "1"))


def test_an_unscrubbed_cassette_opens_when_allowed() -> None:
    """On purpose, and only then."""
    with open_cassette(FIXTURES / "corrupt" / "unscrubbed", allow_unscrubbed=True) as cassette:
        assert cassette.scrub_report.status == "unscrubbed"


def test_unknown_optional_fields_are_kept_and_ignored() -> None:
    """What a later writer adds stays in the document, and its files are pinned and readable."""
    with open_cassette(FIXTURES / "v1" / "later") as cassette:
        tape = b"".join(cassette.artifact("provider-tape.jsonl"))

    assert cassette.document["colour"] == {"of": ["the", "box"]}
    assert cassette.manifest.optional is not None
    assert cassette.manifest.optional["later"] == {"file": "provider-tape.jsonl"}
    assert tape == b'{"any":"thing"}\n'
