"""What commands write: nothing that is there is lost, and what is no file stays what it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ptycassette.cli import main
from ptycassette.errors import ExistsError
from ptycassette.replaying.standin.comparison import StandinReport
from ptycassette.replaying.standin.io.process import write_report

FIXTURES = Path(__file__).parents[3] / "fixtures"
WRITERS: dict[str, Callable[[str, str], list[str]]] = {
    "export svg": lambda source, out: ["export", "--format", "svg", source, out],
    "export cast": lambda source, out: ["export", "--format", "asciicast", source, out],
    "export text": lambda source, out: ["export", "--format", "text", source, out],
    "check": lambda source, out: ["check", f"{source}.scenario.yaml", "--junit", out],
    "rec": lambda _, out: ["rec", "-q", "--headless", out, "--", "true"],
    "scrub": lambda source, out: ["scrub", source, "--output", out],
}
KINDS = ("file", "link", "pipe", "device")
FILES = ("export svg", "export cast", "export text", "check")


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A cassette with a scenario."""
    place = tmp_path / "source"
    shutil.copytree(FIXTURES / "v1" / "minimal", place)
    assert main(["check", "--init", str(place)]) == 0
    return str(place)


@pytest.fixture(params=KINDS)
def taken(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A place where something exists already; it is the same afterwards."""
    place = tmp_path / "taken"
    terminal = os.openpty()
    (tmp_path / "elsewhere").write_text("kept")
    match request.param:
        case "file":
            place.write_text("kept")
        case "link":
            place.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(place)
        case _:  # where nothing can be replaced, should we try
            place = Path(os.ttyname(terminal[1]))
    before = place.lstat()
    yield place
    after = place.lstat()
    for fd in terminal:
        os.close(fd)

    assert (after.st_mode, after.st_ino, after.st_size) == (
        before.st_mode, before.st_ino, before.st_size,
    )  # fmt: skip
    assert (tmp_path / "elsewhere").read_text() == "kept"


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_there_is_refused(writer: str, source: str, taken: Path) -> None:
    """With the status of a refusal."""
    assert main(WRITERS[writer](source, str(taken))) == 6


@pytest.mark.parametrize("taken", KINDS[1:], indirect=True)
@pytest.mark.parametrize("writer", [*FILES, "rec"])
def test_what_is_no_file_is_refused_whatever_is_said(writer: str, source: str, taken: Path) -> None:
    """Links, pipes and devices are never replaced."""
    name, *words = WRITERS[writer](source, str(taken))

    assert main([name, "--overwrite", *words]) == 6


@pytest.mark.parametrize("taken", KINDS[1:], indirect=True)
def test_a_report_of_a_stand_in_replaces_files_only(taken: Path) -> None:
    """Else root would make /dev/null a file."""
    with pytest.raises(ExistsError, match="not a regular file"):
        write_report(str(taken), StandinReport(result="passed", cassette="c"))
    assert not taken.with_name(f"{taken.name}.txt").exists()


@pytest.mark.parametrize("writer", FILES)
def test_a_file_is_replaced_when_that_is_said(writer: str, source: str, tmp_path: Path) -> None:
    """As one who writes it again and again does."""
    (tmp_path / "out").write_text("old")
    name, *words = WRITERS[writer](source, str(tmp_path / "out"))

    assert main([name, "--overwrite", *words]) == 0
    assert (tmp_path / "out").read_text() != "old"


@pytest.mark.parametrize("writer", FILES)
def test_a_hyphen_is_stdout(
    writer: str, source: str, capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What would be in the file, and nothing besides."""
    monkeypatch.chdir(tmp_path)
    capfdbinary.readouterr()
    assert main(WRITERS[writer](source, "out")) == 0
    capfdbinary.readouterr()
    assert main(WRITERS[writer](source, "-")) == 0
    printed = capfdbinary.readouterr().out

    assert not (tmp_path / "-").exists()
    if writer == "check":
        assert ET.fromstring(printed).tag == ET.parse("out").getroot().tag
    else:
        assert printed == (tmp_path / "out").read_bytes()


def test_an_empty_path_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """As an unset variable of a shell gives it; there is no folder that it could be."""
    for words in (["info"], ["verify"], ["events"], ["frames"], ["cat"], ["play"], ["tape"]):
        assert main([*words, ""]) == 3
        captured = capfd.readouterr()
        assert "the path of the cassette is empty" in captured.out + captured.err
    assert main(["stand-in", ""]) == 125
    assert "the path of the cassette is empty" in capfd.readouterr().err


def test_a_file_in_place_of_a_cassette_was_not_changed(
    source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The hint says what to give."""
    assert main(["info", f"{source}/manifest.json"]) == 4
    said = capfd.readouterr().err

    assert "give the directory" in said
    assert "was changed" not in said
