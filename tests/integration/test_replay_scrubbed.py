"""What was scrubbed can be replayed by the code that recorded it, and messages show no secret."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptycassette import use
from ptycassette.errors import DivergenceError
from ptycassette.host.replaying.library import Library, Start

TOKEN = "gh" + "p_" + "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0B"
MAIL = "jane.roe" + "@" + "corp-internal.com"
PROGRAM = [sys.executable, "-u", "-c", "print('you:', input('> '))"]


def run(place: Path, text: str, *, mode: str, match: str) -> None:
    """One session in which a text is typed."""
    with use(place, argv=PROGRAM, mode=mode, match=match) as session:
        session.wait_for_text(">")
        session.submit(text)
        session.wait_for_text("you:")


@pytest.mark.parametrize("match", ["prompt", "exact", "normalised", "semantic"])
@pytest.mark.parametrize("text", [f"write to {MAIL}", f"take {TOKEN} now", TOKEN])
def test_who_recorded_can_replay(tmp_path: Path, text: str, match: str) -> None:
    """However input is compared."""
    place = tmp_path / "c.cassette"
    run(place, text, mode="record", match=match)

    assert text.encode() not in b"".join(file.read_bytes() for file in place.iterdir())
    run(place, text, mode="replay", match=match)


@pytest.mark.parametrize("match", ["prompt", "exact", "normalised"])
def test_another_text_diverges_and_the_message_shows_no_secret(tmp_path: Path, match: str) -> None:
    """Although a mask stands for the secret of the recording."""
    place = tmp_path / "c.cassette"
    run(place, f"take {TOKEN} now", mode="record", match=match)

    with pytest.raises(DivergenceError) as caught:
        run(place, f"take {TOKEN} then", mode="replay", match=match)
    assert "input-changed" in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_start_is_found_by_arguments_that_were_scrubbed(tmp_path: Path) -> None:
    """And what it is called holds none of them."""
    library = Library(tmp_path, state=tmp_path / "state")
    start = Start(program="sh", args=("-c", f"echo shown # {TOKEN}"), cwd="/", env={})
    place = library.choose(start, record=True).path
    with use(place, argv=["sh", *start.args], mode="record") as session:
        session.wait_for_text("shown")

    assert TOKEN not in str(place)
    assert library.choose(start).path == place
