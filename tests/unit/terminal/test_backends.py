"""Other emulators behind the same port, and where they differ."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from itertools import product
from pathlib import Path

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Size
from ptycassette.terminal import emulator as backends
from ptycassette.terminal._pending import PendingCounter
from ptycassette.terminal.emulator import available_backends, backend, default_emulator
from ptycassette.terminal.query_profiles import DUMB, QueryProfile
from ptycassette.testing import CheckedScreen, cell_texts

CASES = json.loads((Path(__file__).parent / "data" / "xterm_cases.json").read_text())

AGREED = {
    "text": "hello\r\nworld",
    "wide": "漢字 ok",
    "clusters": "👩\u200d💻 ❤\ufe0f e\u0301",
    "colours": "\x1b[1;31mred\x1b[0;44m\x1b[K\r\n\x1b[38;2;1;2;3mx\x1b[4:3my",
    "cursor": "\x1b[2;3Hx\x1b[A\x1b[2Dy",
    "margins": "\x1b[2;3r\x1b[3;1Ha\nb\nc",
    "alternate": "main\x1b[?1049h\x1b[Halt",
    "wrap": "abcdefghijklmnopqrstuvwxyz",
    "line drawing": "\x1b(0lqqk\x1b(B",
    "erase": "abc\x1b[2D\x1b[K",
    "insert": "abc\x1b[1G\x1b[4hX\x1b[4l\x1b[2@",
    "tabs": "\ta\tb",
    "title": "\x1b]2;a title\x07x",
}


# Stock pyte agrees with nobody in these; tests/unit/terminal/test_stock_pyte.py says what it keeps.
@pytest.fixture(params=[name for name in available_backends() if name != "stock-pyte"])
def emulator(request: pytest.FixtureRequest) -> Emulator:
    """Each backend that can be loaded, at 5 rows of 20 columns."""
    try:
        return backend(request.param)(Size(5, 20))
    except UsageError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", AGREED)
def test_backends_agree_where_terminals_do(emulator: Emulator, name: str) -> None:
    """Rows, cursor, styles, title and screen are those of the default backend."""
    default = default_emulator(Size(5, 20))
    for each in (default, emulator):
        each.feed(AGREED[name].encode())
    expected, got = default.snapshot(), emulator.snapshot()

    assert (got.rows, got.cursor, got.styles) == (expected.rows, expected.cursor, expected.styles)
    assert (got.title, got.alt_screen, got.size) == (
        expected.title,
        expected.alt_screen,
        expected.size,
    )


def test_backends_take_output_in_any_pieces(emulator: Emulator) -> None:
    """Byte by byte gives the same screen, and the port's promises hold."""
    whole = type(emulator)(Size(5, 20))
    data = "".join(AGREED.values()).encode()
    whole.feed(data)
    for byte in data:
        emulator.feed(bytes([byte]))

    assert emulator.snapshot() == whole.snapshot()
    assert emulator.pending == 0
    assert isinstance(emulator, Emulator)
    assert emulator.identity.name in available_backends()
    assert "width=cluster" in emulator.identity.version


def test_backends_answer_and_resize(emulator: Emulator) -> None:
    """A cursor position report comes back once, and another size is taken."""
    emulator.feed(b"ab\x1b[6n")

    assert emulator.answers() == b"\x1b[1;3R"
    assert emulator.answers() == b""
    emulator.resize(Size(7, 30))
    assert emulator.size == emulator.snapshot().size == Size(7, 30)
    assert len(emulator.snapshot().rows) == 7


def test_backends_read_again_only_what_changed_and_miss_nothing(emulator: Emulator) -> None:
    """A snapshot after every step equals that of an emulator that is asked once."""
    steps = [
        *AGREED.values(),
        "\x1b[2J",
        "\x1b[H" + "x" * 30,
        "\r\n" * 7,
        "\x1b[?1049l",
        "\x1b[3;1Hy",
    ]
    for step in steps:
        emulator.feed(step.encode())
        emulator.snapshot()
    once = type(emulator)(Size(5, 20))
    once.feed("".join(steps).encode())

    assert emulator.snapshot() == once.snapshot()


@pytest.mark.sampled(2)
def test_where_backends_differ_on_random_cases_is_printed(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most screens agree with the default backend's, which are held to xterm.js elsewhere."""
    differing = []
    for number, case in enumerate(CASES):
        size = Size(*case["size"])
        fresh, default = type(emulator)(size), default_emulator(size)
        for step, each in product(case["steps"], (fresh, default)):
            if isinstance(step, str):
                each.feed(step.encode())
            else:
                each.resize(Size(*step))
        if fresh.snapshot().rows != default.snapshot().rows:
            differing.append(f"{number}: {case['steps']!r}")
    with capsys.disabled():
        if differing:
            print(  # noqa: T201 - the table is what the test is for
                f"\n{emulator.identity.name} differs in {len(differing)} of {len(CASES)} cases:",
                *(one[:120] for one in differing[:5]),
                sep="\n  ",
            )

    assert len(differing) <= (0 if emulator.identity.name == "pyte" else len(CASES) // 3)


def test_an_unknown_backend_is_refused() -> None:
    """The hint names those that there are."""
    with pytest.raises(UsageError, match="no emulator named 'vt52'") as caught:
        backend("vt52")

    assert "pyte" in str(caught.value.hint)


def test_a_backend_whose_library_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cause is named."""
    entry = EntryPoint("ghost", "no_such_module_at_all:create", "ptycassette.emulators")
    monkeypatch.setattr(backends, "_found", lambda: {"ghost": entry})

    with pytest.raises(UsageError, match="cannot be loaded") as caught:
        backend("ghost")
    assert "ptycassette[ghost]" in str(caught.value.hint)


def test_any_emulator_can_be_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of another package is as good as ours."""
    entry = EntryPoint(
        "mine", "ptycassette.terminal.emulator:PyteEmulator", "ptycassette.emulators"
    )
    monkeypatch.setattr(backends, "_found", lambda: {"mine": entry})

    assert available_backends() == ("pyte", "mine")
    assert backend("mine")(Size(2, 2)).size == Size(2, 2)


def test_a_backend_without_cells_cannot_be_checked_by_cell() -> None:
    """The error says whose fault it is."""
    with pytest.raises(TypeError, match="does not show its cells"):
        cell_texts(object())  # type: ignore[arg-type]


def test_a_checked_screen_shows_cells_as_a_reference_check_wants_them() -> None:
    """Text, colours and attribute letters; the right half of a wide character is empty."""
    checked = CheckedScreen(default_emulator(Size(1, 4)))
    checked.feed("\x1b[1;3;4;7;9;31;48;2;1;2;3m漢".encode())
    checked.resize(1, 3)

    assert checked.cells()[0] == [
        ("漢", "p1", "#010203", "biurs"),
        ("", "p1", "#010203", "biurs"),
        (" ", None, None, ""),
    ]
    assert checked.rows() == ["漢"]
    assert checked.cursor() == (2, 0)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"abc", b"\xe6", b"\xbc"],
        [b"\x1b[3", b"1", b"m", b"\x1b"],
        [b"\xc2", b"\x9b1"],
        [b"\x1b]0;" + b"x" * 70_000, b"y" * 70_000, b"\x07\xe6"],
        [b"a" * 70_000, b"\x1b[1"],
        ["é\u009dt".encode(), b"", b"\x1b\\"],
    ],
)
def test_counting_pending_bytes_apart_gives_the_same_count(chunks: list[bytes]) -> None:
    """After every chunk, whether it was asked before or not."""
    asked, late, default = PendingCounter(), PendingCounter(), default_emulator(Size(2, 5))
    for chunk in chunks:
        for each in (asked, late, default):
            each.feed(chunk)

        assert asked.count() == default.pending
    assert late.count() == default.pending


def test_a_synchronised_update_is_seen_by_every_backend(emulator: Emulator) -> None:
    """Policies ask each of them."""
    emulator.feed(b"\x1b[?2026h")

    assert emulator.synchronized  # type: ignore[attr-defined]
    emulator.feed(b"\x1b[?2026l")
    assert not emulator.synchronized  # type: ignore[attr-defined]


def test_erased_cells_keep_true_colour_in_every_backend(emulator: Emulator) -> None:
    """A background of 24 bits, and line feeds enough to scroll."""
    emulator.feed(b"\x1b[48;2;9;8;7m\x1b[K" + b"\n" * 9 + b"\x1b[0mx")

    assert emulator.snapshot().styles[-1][0].style.bg == "#090807"
    assert emulator.snapshot().rows[-1] == "x"


QUESTIONS = [
    b"\x1b[c",
    b"\x1b[>c",
    b"\x1b[=c",
    b"\x1b[>q",
    b"\x1b[5n",
    b"ab\x1b[6n",
    b"\r\ncd\x1b[?6n\x1b[6n",
    b"\x1b[?2026h\x1b[?2026$p",
    b"\x1b[?2027$p",
    b"\x1b]4;1;?\x1b\\\x1b]10;?\x07\x1b]11;?\x07",
    b"\x1b[>5u\x1b[?u\x1b[<u\x1b[?u",
    b"\x1bP+q544e;5a5a\x1b\\",
    b"\x1b[2;4r\x1bP$qr\x1b\\",
    b"\x1b[14t\x1b[16t\x1b[18t",
    b"\x1b[?996n",
    b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
]


@pytest.mark.parametrize("whole", [True, False])
def test_every_backend_answers_and_tells_the_same(emulator: Emulator, *, whole: bool) -> None:
    """Word for word and in order, in one piece and byte by byte, at another size, too."""
    default = default_emulator(Size(5, 20))
    for question in [*QUESTIONS, *(text.encode() for text in AGREED.values())]:
        for each in (default, emulator):
            each.resize(Size(6, 21))
            for piece in [question] if whole else [bytes([byte]) for byte in question]:
                each.feed(piece)

        assert emulator.answers() == default.answers()
        assert emulator.signals() == default.signals()  # type: ignore[attr-defined]


def test_the_fast_backend_answers_as_its_profile_says() -> None:
    """Nothing, or with words of its own."""
    ghostty = pytest.importorskip("ptycassette.terminal.ghostty")
    dumb = ghostty.GhosttyEmulator(Size(5, 20), profile=DUMB)
    own = ghostty.GhosttyEmulator(
        Size(5, 20), profile=QueryProfile(name="own", answers={"da1": "mine", "cpr": ""})
    )
    for each in (dumb, own):
        for question in QUESTIONS:
            each.feed(question)

    assert dumb.answers() == b""
    assert own.answers() == b"mine\x1b[1;3R\x1b[?2;3R\x1b[2;3R"


def test_a_backend_that_is_never_asked_does_not_keep_what_it_was_fed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It renders a recording; one that was asked goes on hearing everything."""
    ghostty = pytest.importorskip("ptycassette.terminal.ghostty")
    monkeypatch.setattr("ptycassette.terminal.signal_reader.HELD_BYTES", 50)
    unasked, asked = ghostty.create(Size(5, 20)), ghostty.create(Size(5, 20))
    asked.answers()
    for each in (unasked, asked):
        each.feed(b"x" * 60 + b"\x07")
        each.feed(b"\x07\x1b[c")

    assert (unasked.signals(), unasked.answers()) == ((), b"")
    assert [one.name for one in asked.signals()] == ["bell", "bell", "query"]
    assert asked.answers() == b"\x1b[?62;22c"
