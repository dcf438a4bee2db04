"""A recording as a page: what is in it, and that it loads and runs nothing but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.formats.export.html import recording_page
from ptycassette.formats.export.page import styles as film
from ptycassette.formats.export.page.recording import MOST_STILLS, stills_of
from ptycassette.model.records import (
    JournalEvent,
    Noted,
    Output,
    OutputRecord,
    Resized,
    Typed,
    painted_bytes,
)
from ptycassette.model.screen import Screen, Size
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import write_cassette

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
CODEX = FIXTURES / "agents" / "codex-tui"


def page_of(cassette: Path, **options: Any) -> str:
    """The page of a cassette."""
    with open_cassette(cassette, check="manifest") as source:
        return b"".join(recording_page(source, **options)).decode()


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., str]:
    """Makes a cassette of events, and the page of that."""

    def page(*items: JournalEvent, **options: Any) -> str:
        write_cassette(tmp_path / "made", *items, overwrite=True)
        return page_of(tmp_path / "made", **options)

    return page


def film_of(page: str) -> dict[str, Any]:
    """The film in a page."""
    match = re.search('<script type="application/json" class="film">(.*?)</script>', page)
    assert match is not None
    found: dict[str, Any] = json.loads(match[1])
    return found


def screens_of(found: dict[str, Any]) -> list[tuple[int, list[str]]]:
    """Time and rows of every frame, put together as the script does it."""
    screens = []
    rows: list[int] = []
    for t_ms, _, size, _, *changes in found["frames"]:
        rows = rows[: found["sizes"][size][0]]
        rows += [-1] * (found["sizes"][size][0] - len(rows))
        for at in range(0, len(changes), 3):
            start, first, count = changes[at : at + 3]
            rows[start : start + count] = range(first, first + count)
        screens.append((t_ms, ["".join(found["rows"][row][::2]).rstrip() for row in rows]))
    return screens


def policy_of(page: str) -> str:
    """The policy in the page."""
    match = re.search('http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert match is not None
    return match[1]


def test_the_policy_allows_the_own_style_and_script_and_nothing_else() -> None:
    """By their digests; no attribute styles, acts or leads out of the page."""
    page = page_of(CODEX)
    digests = [
        base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        for source in re.findall("<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    ]
    markup = re.sub("<(style|script).*?</(style|script)>", "", page, flags=re.DOTALL)

    assert policy_of(page) == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{digests[0]}'; "
        f"script-src 'sha256-{digests[1]}'; require-trusted-types-for 'script'"
    )
    assert re.findall(r"<[^>]* (?:style|src|srcset|action|on\w+)=", markup) == []
    assert {link[0] for link in re.findall('href="(.)', markup)} == {"#"}
    assert "://" not in "".join(re.findall("<[^>]*>", markup))


def test_style_and_script_name_no_address() -> None:
    """But for the names of XML, which nobody asks for."""
    page = page_of(CODEX)
    ours = "".join(
        re.findall("<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    ).replace("http://www.w3.org/2000/svg", "")

    assert re.findall(r"https?:|url\(|import\b|fetch|XMLHttp|innerHTML|eval\(", ours) == []


def test_every_frame_is_what_the_terminal_showed() -> None:
    """Text for text, of a real session with resizes, at its time."""
    found = screens_of(film_of(page_of(CODEX)))
    emulator = default_emulator(Size(rows=30, cols=100))
    shown: dict[int, set[tuple[str, ...]]] = {}
    with open_cassette(CODEX, check="manifest") as source:
        for event in source.events():
            if isinstance(event.record, OutputRecord):
                emulator.feed(painted_bytes(event))
            elif event.kind == "input" and getattr(event.record, "size", None):
                emulator.resize(event.record.size)  # type: ignore[union-attr,arg-type]
            texts = tuple(row.rstrip() for row in emulator.snapshot().rows)
            shown.setdefault(event.t_us // 1000, set()).add(texts)

    assert len(found) > 20
    assert [t_ms for t_ms, rows in found[1:] if tuple(rows) not in shown[t_ms]] == []
    assert any("buy walnuts" in row for _, rows in found for row in rows)


_TEXT = st.text(alphabet="ab漢é \n\r\x1b[;mHJK1234", max_size=40)


@given(st.lists(_TEXT, max_size=6), st.integers(1, 3))
def test_a_film_holds_the_last_screen_however_it_was_printed(
    texts: Sequence[str], height: int
) -> None:
    """The changes of rows, put together, are the rows of each screen that was added."""
    emulator = default_emulator(Size(rows=height, cols=9))
    made = film.Film()
    added: list[Screen] = []
    for number, text in enumerate(texts):
        emulator.feed(text.encode())
        made.add(number * film.STRETCH_US, emulator.snapshot())
        added.append(emulator.snapshot())
    classes = film.StyleClasses()
    found = screens_of(json.loads(json.dumps(film.film_object(made, classes))))

    assert [rows for _, rows in found[-1:]] == [
        [row.rstrip() for row in one.rows] for one in added[-1:]
    ]


def test_a_long_session_is_thinned_out(
    made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it fits; the last screen stays, and frames are evenly far apart."""
    monkeypatch.setattr(film, "MOST_FRAMES", 10)
    page = made(*(Output(n * 50_000, b"\r\n%d" % n) for n in range(100)))
    found = screens_of(film_of(page))
    times = [t_ms for t_ms, _ in found]

    assert 5 <= len(found) <= 10
    assert found[-1][1][-1] == "99"
    assert max(b - a for a, b in pairwise(times)) <= 1_300


def test_too_many_characters_are_thinned_out_too(
    made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows that are all different."""
    monkeypatch.setattr(film, "MOST_CHARACTERS", 5_000)
    page = made(*(Output(n * 50_000, b"\x1b[H%s" % (b"%d " % n * 700)) for n in range(40)))
    found = film_of(page)

    assert len(found["frames"]) < 20
    assert "39 39" in "".join(screens_of(found)[-1][1])


def test_what_is_typed_is_typed_at_the_screen_before_it(made: Callable[..., str]) -> None:
    """A frame is taken there, however soon more is printed."""
    page = made(Output(0, b"ready> "), Typed(1_000, b"x"), Output(2_000, b"x done"))
    found = screens_of(film_of(page))

    assert [rows[0] for _, rows in found] == ["", "ready>", "ready> x done"]


def test_the_list_has_turns_with_their_exchanges() -> None:
    """What was typed heads what came of it."""
    page = page_of(CODEX)
    listed = page[page.index('<nav class="beside"') :]
    heads = re.findall(r'<a class="input"[^>]*>.*?<b>(Exchange.*?)</b> <code>(.*?)</code>', listed)

    assert [(one, unescape(typed)) for one, typed in heads[:3]] == [
        ("Exchanges 1 to 3", "What does note.txt say?<enter>"),
        ("Exchange 4", "/status<enter>"),
        ("Exchange 5", "Count slowly to twenty.<enter>"),
    ]
    assert 'data-t="2005"><time>2.00</time> <span><b>resize</b> 70 x 24' in listed
    assert "<b>tool call</b> exec_command {&quot;cmd&quot;:&quot;cat note.txt&quot;}" in listed


def test_model_traffic_stands_in_the_list_with_its_bodies() -> None:
    """Once: the service events that tell the same are left out."""
    page = page_of(FIXTURES / "tapes" / "codex-tape")

    assert re.search(r"<b>model 3</b> message over 1, gpt-5.1-codex, 6437 \+ 10 tokens", page)
    assert "<summary>question</summary><pre>{\n" in page
    assert "model-request" not in page


def test_without_scripts_there_are_the_screens_and_the_text() -> None:
    """The screen at the end of each turn, to which the list leads; the player is hidden."""
    page = page_of(CODEX)
    targets = set(re.findall('href="#(s[0-9]+)"', page))
    stills = dict(re.findall(r'<figure id="(s[0-9]+)">.*?<pre class="screen[^>]*>(.*?)</pre>',
                             page, re.DOTALL))  # fmt: skip

    assert targets <= set(stills)
    assert "buy walnuts" in re.sub("<.*?>", "", stills["s1"])
    assert "To continue this session" in re.sub("<.*?>", "", stills["s5"])
    assert '<div class="player" hidden>' in page
    assert '<details class="stills" open>' in page


@given(st.integers(0, 1_000))
def test_every_turn_leads_to_a_still_screen(turns: int) -> None:
    """Its own, or the next one that there is; the last turn has one."""
    found = stills_of(turns)

    assert len(set(found.values())) <= MOST_STILLS
    assert all(one >= turn and found[one] == one for turn, one in found.items())
    assert not turns or found[turns - 1] == turns - 1


def test_what_was_typed_hidden_is_not_shown(made: Callable[..., str]) -> None:
    """Not even as masked bytes."""
    page = made(
        Output(0, b"Password: "), Typed(1_000, b"********", masked=True), Output(2_000, b"ok")
    )

    assert "<code>(masked)</code>" in page
    assert "********" not in page


def test_recording_and_scrub_report_are_told(made: Callable[..., str]) -> None:
    """As names and values, in folds."""
    page = made(Output(0, b"x"), Noted(1, {"type": "note", "a": [1]}))

    assert "<dt>program</dt><dd>sh</dd>" in page
    assert "<dt>status</dt><dd>clean</dd>" in page
    assert "<b>service event</b> note {&quot;a&quot;:[1]}" in page


def test_a_program_over_pipes_shows_its_text() -> None:
    """There is no screen and no player; every link of the list has a place."""
    page = page_of(FIXTURES / "pipes" / "sqlite3.cassette")

    assert "<p>stdout</p><pre>1|one\n2|two</pre>" in page
    assert "<p>stderr</p>" in page
    assert 'class="player"' not in page
    assert set(re.findall('href="#(s[0-9]+)"', page)) <= set(re.findall('id="(s[0-9]+)"', page))


def test_sizes_follow_the_terminal(made: Callable[..., str]) -> None:
    """A frame after a resize has its size."""
    page = made(Output(0, b"x"), Resized(50_000, Size(10, 20)), Output(100_000, b"y"))
    found = film_of(page)

    assert found["sizes"] == [[24, 80], [10, 20]]
    assert found["frames"][-1][2] == 1


@pytest.mark.parametrize(("theme", "color"), [("dark", "#14181d"), ("light", "#ffffff")])
def test_the_theme_is_that_of_the_screen(theme: str, color: str, made: Callable[..., str]) -> None:
    """The page itself follows the reader."""
    page = made(Output(0, b"x"), theme=theme)

    assert re.search(rf":root{{--fg:#\w+;--bg:{color}", page)
    assert "prefers-color-scheme:dark" in page


def test_still_is_one_screen_without_a_script() -> None:
    """The last one."""
    page = page_of(CODEX, still=True, title="a <b>")

    assert "<script" not in page
    assert "<title>a &lt;b&gt;</title>" in page
    assert "To continue this session" in re.sub("<.*?>", "", page)
