"""What was scrubbed can be replayed by the code that recorded it, and messages show no secret."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ptycassette import use
from ptycassette.errors import DivergenceError, NotFoundError
from ptycassette.recording.io.rescrub import find_secrets_left, scrub_cassette
from ptycassette.replaying.io.library import Library, ProgramStart
from ptycassette.scrub.io.setup import session_scrubber

TOKEN = "gh" + "p_" + "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0B"
OTHER = "gh" + "p_" + "Zc4eF6gH8iJ0kL2mN4pQ6rS8tU0vW2xY4z1C"
MAIL = "jane.roe" + "@" + "corp-internal.com"
PROGRAM = [sys.executable, "-u", "-c", "print('you:', input('> '))"]


def run(place: Path, text: str, *, mode: str, match: str, secrets: str | None = None) -> None:
    """One session in which a text is typed."""
    with use(place, argv=PROGRAM, mode=mode, match=match, secrets=secrets) as session:
        session.wait_for_text(">")
        session.submit(text)
        session.wait_exit()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("match", ["prompt", "exact", "normalised", "semantic"])
@pytest.mark.parametrize("text", [f"write to {MAIL}", f"take {TOKEN} now", TOKEN])
def test_who_recorded_can_replay(tmp_path: Path, text: str, match: str) -> None:
    """However input is compared."""
    place = tmp_path / "c.cassette"
    run(place, text, mode="record", match=match)

    assert text.encode() not in b"".join(file.read_bytes() for file in place.iterdir())
    run(place, text, mode="replay", match=match)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("match", ["prompt", "exact", "normalised"])
def test_another_text_diverges_and_the_message_shows_no_secret(tmp_path: Path, match: str) -> None:
    """Although a mask stands for the secret of the recording."""
    place = tmp_path / "c.cassette"
    run(place, f"take {TOKEN} now", mode="record", match=match)

    with pytest.raises(DivergenceError) as caught:
        run(place, f"take {TOKEN} then", mode="replay", match=match)
    assert "input-changed" in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("match", ["prompt", "exact"])
def test_another_secret_diverges_and_the_message_shows_neither(tmp_path: Path, match: str) -> None:
    """Two inputs that differ only in their secret are two inputs."""
    place = tmp_path / "c.cassette"
    run(place, f"take {TOKEN} now", mode="record", match=match)

    with pytest.raises(DivergenceError, match="differs only in its secret") as caught:
        run(place, f"take {OTHER} now", mode="replay", match=match)
    assert TOKEN not in str(caught.value)
    assert OTHER not in str(caught.value)


def test_another_secret_will_do_where_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh credential elsewhere must not need another recording."""
    place = tmp_path / "c.cassette"
    run(place, f"take {TOKEN} now", mode="record", match="prompt")

    run(place, f"take {OTHER} now", mode="replay", match="prompt", secrets="any")
    run(place, f"take {OTHER} now", mode="replay", match="normalised")
    monkeypatch.setenv("PTYCASSETTE_SECRETS", "any")
    run(place, f"take {OTHER} now", mode="replay", match="prompt")


def test_what_is_guessable_has_no_digest(tmp_path: Path) -> None:
    """A mail address is compared by its form alone: a list of addresses would find it."""
    place = tmp_path / "c.cassette"
    run(place, f"write to {MAIL}", mode="record", match="prompt")

    assert b"secret_digests" not in (place / "manifest.json").read_bytes()


def test_scrubbing_again_keeps_digests_that_still_hold(tmp_path: Path) -> None:
    """And drops them where it masks more of the input."""
    place, again = tmp_path / "c.cassette", tmp_path / "d.cassette"
    run(place, f"take {TOKEN} or wombatwombat", mode="record", match="prompt")
    scrub_cassette(place, session_scrubber(), target=again)
    more = tmp_path / "e.cassette"
    scrub_cassette(place, session_scrubber(known=["wombatwombat"]), target=more)

    assert find_secrets_left(place, session_scrubber()) == ()
    assert _digests(again) == _digests(place) is not None
    assert _digests(more) is None


def _digests(place: Path) -> object:
    return (json.loads((place / "manifest.json").read_text())["optional"]).get("secret_digests")


def test_a_start_with_another_secret_is_another_start(tmp_path: Path) -> None:
    """Until one says that any will do."""
    library = Library(tmp_path, state=tmp_path / "state")
    first, second = (
        ProgramStart(program="sh", args=("-c", f"echo shown # {token}"), cwd="/", env={})
        for token in (TOKEN, OTHER)
    )
    place = library.choose(first, record=True).path
    with use(place, argv=["sh", *first.args], mode="record") as session:
        session.wait_for_text("shown")

    with pytest.raises(NotFoundError, match="differs only in its secret") as caught:
        library.choose(second)
    assert OTHER not in str(caught.value)
    assert library.choose(second, record=True).exists is False
    lax = Library(tmp_path, state=tmp_path / "state", secrets="any")
    assert lax.choose(second).path == place


def test_a_start_is_found_by_arguments_that_were_scrubbed(tmp_path: Path) -> None:
    """And what it is called holds none of them."""
    library = Library(tmp_path, state=tmp_path / "state")
    start = ProgramStart(program="sh", args=("-c", f"echo shown # {TOKEN}"), cwd="/", env={})
    place = library.choose(start, record=True).path
    with use(place, argv=["sh", *start.args], mode="record") as session:
        session.wait_for_text("shown")

    assert TOKEN not in str(place)
    assert library.choose(start).path == place
