"""What commands do, as functions: the same result, nothing printed, errors as exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette import (
    check_scenario,
    export_cassette,
    open_cassette,
    record,
    scrub_cassette,
    seal_cassette,
    verify_cassette,
)
from ptycassette.cli import main
from ptycassette.errors import DigestError, ExistsError, UsageError

pytestmark = pytest.mark.integration


@pytest.fixture
def cassette(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of a short program."""
    monkeypatch.chdir(tmp_path)
    with record(["sh", "-c", "echo the word is xyzzy-plugh-42"], "word.cassette") as session:
        session.wait_for_text("plugh")
    return tmp_path / "word.cassette"


def test_a_cassette_is_verified(cassette: Path) -> None:
    """The verdict has the first error; frames are rendered again on request."""
    assert verify_cassette(cassette, rederive=True).ok
    output = cassette / "output.raw"
    output.write_bytes(output.read_bytes().replace(b"the", b"The"))

    verdict = verify_cassette(cassette)
    assert not verdict.ok
    assert isinstance(verdict.error, DigestError)


def test_a_cassette_is_exported(cassette: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By the ending of the name or by the format, with the options of that format."""
    export_cassette(cassette, "a.txt", all=True)
    export_cassette(cassette, "b.data", format="asciicast", idle_limit=1.0)

    assert "xyzzy" in Path("a.txt").read_text(encoding="utf-8")
    assert Path("b.data").read_bytes().startswith(b"{")
    with pytest.raises(ExistsError):
        export_cassette(cassette, "a.txt")
    with pytest.raises(UsageError, match="text has no option theme"):
        export_cassette(cassette, "c.txt", theme="dark")
    assert not Path("c.txt").exists()
    assert capfd.readouterr() == ("", "")


def test_a_cassette_is_scrubbed(cassette: Path) -> None:
    """In place, of a value that only the caller knows."""
    report = scrub_cassette(cassette, known=["xyzzy-plugh-42"])

    assert report.status == "redacted"
    with open_cassette(cassette) as scrubbed:
        assert b"plugh" not in b"".join(scrubbed.raw())


def test_a_cassette_is_sealed(cassette: Path) -> None:
    """With a key that the command made; a second time nothing changes."""
    assert main(["seal", "--new-key", "own.key"]) == 0
    done = seal_cassette(cassette, "own.key")

    assert Path(done.seal).is_file()
    assert seal_cassette(cassette, "own.key").kept
    assert main(["seal", "--new-key", "other.key"]) == 0
    with pytest.raises(ExistsError):
        seal_cassette(cassette, "other.key")


def test_a_scenario_is_checked(cassette: Path) -> None:
    """Its outcome, and an error for what is not a scenario."""
    assert main(["check", "--init", str(cassette)]) == 0
    (scenario,) = cassette.parent.glob("*.scenario.yaml")

    assert check_scenario(scenario).passed
    scenario.write_text("nonsense: 1", encoding="utf-8")
    with pytest.raises(UsageError):
        check_scenario(scenario)
