"""What commands do, as functions: the same result, nothing printed, errors as exceptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptycassette import (
    check_scenario,
    export_cassette,
    open_cassette,
    record,
    scrub_cassette,
    seal_cassette,
    tool_call,
    use_tape,
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


def test_code_is_exported_as_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording of code has no screen; its turns are written, as by the command."""
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "code.cassette"
    with use_tape(code, mode="record"), tool_call("add", {"a": 1}) as call:
        call.result = 2

    export_cassette(code, "a.txt")
    assert main(["export", "code.cassette", "b.txt"]) == 0

    assert "tool add" in Path("a.txt").read_text(encoding="utf-8")
    assert Path("a.txt").read_bytes() == Path("b.txt").read_bytes()


@pytest.mark.parametrize(
    ("out", "options"),
    [
        ("a.svg", {"format": "nonsense"}),
        ("a.svg", {"format": "ansi"}),
        ("a.svg", {"theme": "purple"}),
        ("a.svg", {"speed": 0}),
        ("a.svg", {"speed": "2"}),
        ("a.svg", {"speed": float("nan")}),
        ("a.svg", {"still": "yes"}),
        ("a.svg", {"title": 7}),
        ("a.cast", {"idle_limit": -1}),
        ("a.cast", {"idle_limit": "soon"}),
        ("a.txt", {"scrollback": 1.5}),
        ("a.txt", {"scrollback": True}),
        ("a.gif", {"font_size": 5}),
        ("a.md", {"exchanges": (3, 1)}),
        ("a.md", {"exchanges": 0}),
    ],
)
def test_a_wrong_option_of_an_export_is_refused(
    cassette: Path, out: str, options: dict[str, Any]
) -> None:
    """As the command refuses it, and nothing is written."""
    with pytest.raises(UsageError):
        export_cassette(cassette, out, **options)

    assert not Path(out).exists()


def test_a_time_of_an_export_is_written_as_everywhere(cassette: Path) -> None:
    """A text and a number of seconds are the same time."""
    export_cassette(cassette, "a.cast", idle_limit="1500ms")
    export_cassette(cassette, "b.cast", idle_limit=1.5)

    assert Path("a.cast").read_bytes() == Path("b.cast").read_bytes()


def test_a_known_value_is_one_text_or_many(cassette: Path) -> None:
    """A text is one value, not its characters; a value that is too short is refused."""
    with pytest.raises(UsageError):
        scrub_cassette(cassette, known=["x"])

    assert scrub_cassette(cassette, known="xyzzy-plugh-42").status == "redacted"


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
