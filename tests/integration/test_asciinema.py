"""asciinema itself: it plays what we write, and what it writes we read as its player shows it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptycassette import Session, open_cassette
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.importing.io.importer import import_file
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.screen import Size

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("asciinema") is None, reason="asciinema is not installed"),
]
SIZE = Size(12, 40)
PROGRAMS = {
    "styles": r"printf '\033[1;31mred\033[0m \344\275\240\345\245\275 wide\n\033]2;t\007'; seq 30",
    "alternate": r"printf 'before\n\033[?1049h\033[2Jfull\033[5;5Hscreen\033[?1049lafter'",
    "repaints": r"for i in 1 2 3; do printf '\r\033[K%s' $i; sleep 0.05; done; printf '\033[3;7Hx'",
}


def shown(tmp_path: Path, *argv: str) -> str:
    """The text of the screen when a program has ended, in a terminal of its own."""
    home = {"HOME": str(tmp_path), "ASCIINEMA_CONFIG_HOME": str(tmp_path / "config")}
    with Session(argv, size=SIZE, env=home) as session:
        assert session.wait_exit(timeout_s=60).code == 0
        return session.screen().text.rstrip()


def cat_of(cast: Path) -> bytes:
    """What ``asciinema cat`` writes; it wants a terminal, whatever it writes to."""
    shown(cast.parent, "sh", "-c", f"asciinema cat {cast} > {cast}.cat")
    return cast.with_name(f"{cast.name}.cat").read_bytes()


@pytest.mark.parametrize("program", PROGRAMS)
def test_its_recordings_give_the_screens_of_its_player(program: str, tmp_path: Path) -> None:
    """The last screen is the player's; the bytes, and so all screens on the way, are its too."""
    cast = tmp_path / "x.cast"
    shown(tmp_path, "asciinema", "rec", "-q", "-c", PROGRAMS[program], str(cast))
    import_file(cast, tmp_path / "made", by=import_named("asciicast"))
    played = shown(tmp_path, "asciinema", "play", "-s", "50", str(cast))
    with open_cassette(tmp_path / "made") as cassette:
        *_, last = cassette.frames()

        assert "\n".join(last.text).rstrip() == played
        assert b"".join(cassette.raw()) == cat_of(cast)


@pytest.mark.parametrize("name", ["asciicast", "asciicast-v1"])
@pytest.mark.parametrize("fixture", ["programs/vim.cassette", "programs/dialog.cassette"])
def test_it_plays_and_cats_ours(name: str, fixture: str, tmp_path: Path) -> None:
    """Byte for byte what our own cat gives."""
    cast = tmp_path / "x.cast"
    with open_cassette(FIXTURES / fixture) as cassette:
        cast.write_bytes(b"".join(export_named(name).recording(cassette)))
        output = b"".join(cassette.raw())
    shown(tmp_path, "asciinema", "play", "-s", "50", "-i", "0.1", str(cast))

    assert cat_of(cast) == output
