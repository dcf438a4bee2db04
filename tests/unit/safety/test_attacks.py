"""Attacks that were tried from outside and got through once; each is held off here."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.timeline import match
from ptycassette.cassette.timeline import match as match_entries
from ptycassette.cassette.timeline.match import Entry, iter_entries, nearest_entry, read_entries
from ptycassette.errors import ExistsError, LimitError, NotFoundError, UsageError
from ptycassette.keys.names import PASTE_START
from ptycassette.keys.reader import KeyReader
from ptycassette.model.records import InputRecord
from ptycassette.profiles.session_log import check_regex
from ptycassette.recording.input_script import parse_script
from ptycassette.replaying.io.library import Library, ProgramStart
from ptycassette.replaying.scenario.evaluation import check_scenario, parse_scenario
from ptycassette.replaying.scenario.predicate import Evidence
from ptycassette.replaying.standin.comparison import StandinReport
from ptycassette.replaying.standin.io.process import write_report

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
ENDLESS = "(a|aa)+$"
VICTIM = "a" * 44 + "!"
REPORT = StandinReport(result="passed", cassette="c", pid=1)


def typed(*records: bytes) -> list[InputRecord]:
    """Input records with these bytes."""
    return [
        InputRecord(seq=n, t_ms=0, kind="input", bytes=data) for n, data in enumerate(records, 1)
    ]


@pytest.fixture
def shelf(tmp_path: Path) -> Library:
    """A library whose rule is an expression that never ends."""
    (tmp_path / "library.yaml").write_text(
        f"rules:\n- {{argv_regex: '{ENDLESS}', cassettes: [a]}}\n- {{cassettes: [a], repeat: true}}"
    )
    return Library(tmp_path, state=tmp_path / "state")


def start(*args: str) -> ProgramStart:
    """A program's start."""
    return ProgramStart(program="sh", args=args, cwd="/", env={})


# -- expressions of others --------------------------------------------------------------


def test_the_rule_of_a_library_cannot_stop_a_shim(shelf: Library) -> None:
    """Its arguments may come from anybody; the next rule holds where the first does not."""
    with pytest.raises(NotFoundError, match="rule 2"):
        shelf.choose(start(VICTIM))
    with pytest.raises(NotFoundError, match="rule 1"):
        shelf.choose(start("aaa"))


@pytest.mark.parametrize(
    "check",
    [
        f"{{type: title, regex: '{ENDLESS}'}}",
        f"{{type: frame_contains, regex: '{ENDLESS}'}}",
        f"{{type: frame_contains, regex: '{ENDLESS}', ignore_case: true}}",
    ],
)
def test_a_scenario_cannot_search_for_ever(check: str) -> None:
    """Whatever stands on the screen."""
    text = f"{{name: x, groups: {{a: [{check}]}}}}"
    scenario = parse_scenario(text.encode(), where="x", bound=False)
    with open_cassette(FIXTURES / "v1" / "minimal") as cassette:
        evidence = Evidence(cassette.manifest, cassette.events)
    evidence.frames[:] = [
        msgspec.structs.replace(frame, text=(VICTIM,), title=VICTIM) for frame in evidence.frames
    ]

    assert not check_scenario(scenario, evidence).passed


@pytest.mark.parametrize(
    "pattern",
    [
        *("(" * 6000 + ")" * 6000, "((a{1000}){1000}){1000}", "([(]x{0,3}){9000000}"),
        *("a{30000,}", "[" * 100_000),
    ],
    ids=range(5),
)
def test_an_expression_that_is_too_large_is_none(pattern: str, tmp_path: Path) -> None:
    """Found by fuzzing: compiling it ends in an error of its own kind."""
    scenario = f"{{name: x, groups: {{a: [{{type: title, regex: '{pattern}'}}]}}}}"
    (tmp_path / "library.yaml").write_text(f"rules: [{{argv_regex: '{pattern}', cassettes: [a]}}]")

    for read in (
        lambda: parse_scenario(scenario.encode(), where="x", bound=False),
        lambda: Library(tmp_path, state=tmp_path),
        lambda: parse_script(f"wait-regex {pattern}"),
    ):
        with pytest.raises(UsageError):
            read()
    with pytest.raises(ValueError, match=re.escape(pattern[:20])):
        check_regex(pattern)  # of probes and profiles


@pytest.mark.parametrize("line", ["timeout 25h", "wait-stable 90000s", "timeout " + "9" * 400])
def test_a_script_waits_no_longer_than_a_day(line: str) -> None:
    """Found by fuzzing: a number of four hundred digits was infinity."""
    with pytest.raises(UsageError):
        parse_script(line)


# -- files that lie where ours should ------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_report_replaces_nothing_but_files(kind: str, tmp_path: Path) -> None:
    """As root it would have replaced ``/dev/null``."""
    target, victim = tmp_path / "r", tmp_path / "victim"
    victim.write_text("kept")
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "link":
        target.symlink_to(victim)
    else:
        (tmp_path / "r.json").mkdir()
        target = tmp_path / "r.json"
        (target / "c-1.json").symlink_to(victim)
    before = target.lstat().st_mode

    with pytest.raises(ExistsError):
        write_report(str(target), REPORT)
    assert target.lstat().st_mode == before
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("kind", ["pipe", "link", "open", "list", "text", "deep", "bytes"])
def test_what_lies_where_starts_are_counted_is_no_traceback(kind: str, shelf: Library) -> None:
    """And nothing is written through a link."""
    shelf.choose(start(), record=True)
    place, victim = shelf.place / "state" / "starts.json", shelf.place / "victim"
    victim.write_text("{}")
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(victim)
    else:
        data = {"open": b"{", "list": b"[]", "text": b'{"rule-2": "x"}', "deep": b"[" * 90_000}
        place.write_bytes(data.get(kind, b"\xff"))

    with pytest.raises(UsageError, match="number of the next session"):
        shelf.choose(start(), record=True)
    assert victim.read_text() == "{}"


# -- input of a cassette, which a replay reads ------------------------------------------------


def test_numbers_without_end_are_no_key_of_ours() -> None:
    """A driver could send them, too."""
    (key, enter) = KeyReader().feed(b"\x1b[1;" + b"9" * 3000 + b"A\r")
    longer = KeyReader().feed(b"\x1b[" + b"9" * 60_000 + b"~\r")

    assert (key.name[:6], enter.name) == ("csi-1;", "enter")
    assert (longer[0].name, longer[1].text, longer[-1].name) == ("escape", "[", "enter")


class Counting(bytearray):
    """A buffer that counts what is searched."""

    searched = 0

    def find(self, sub: object, start: int = 0, *rest: int) -> int:  # type: ignore[override]
        """As it is, counted."""
        found = super().find(sub, start, *rest)  # type: ignore[arg-type]
        Counting.searched += (len(self) if found < 0 else found) - start
        return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "chunks",
    [
        [b"\x1b]" * 20_000],
        [PASTE_START, *[b"ab"] * 20_000],
        [b"\x1b]0;", *[b"ab"] * 20_000],
        [b"\x1bP\x1b\\" * 10_000 + b"\x1b]" * 10_000],
    ],
)
def test_input_is_searched_once(chunks: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is cut, and whatever never ends in it."""
    monkeypatch.setattr(Counting, "searched", 0)
    reader = KeyReader()
    reader._buffer = Counting()
    for chunk in chunks:
        reader.feed(chunk)

    assert Counting.searched <= 5 * sum(map(len, chunks))


def test_lines_of_an_entry_take_bounded_memory() -> None:
    """A long paste and a thousand keys behind it made as many copies of the paste."""
    paste = PASTE_START + b"a" * 1_000_000 + b"\x1b[201~"
    entries = read_entries(typed(paste, *[b"x"] * 1000, b"\r"))
    held = [sum(len(step.line) for step in entry.steps) for entry in entries]

    assert max(held) <= 6_000_000
    assert b"".join(entry.raw for entry in entries) == paste + b"x" * 1000 + b"\r"


def test_more_keys_than_anybody_types_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one record or in many; while saving there is no limit."""
    monkeypatch.setattr(match_entries, "MOST_KEYS", 1000)

    for records in ([b"a" * 1001], [b"a"] * 1001):
        with pytest.raises(LimitError, match="1000 keys"):
            read_entries(typed(*records))
    assert sum(len(entry.steps) for entry in iter_entries(typed(b"a" * 3000))) == 3000


def test_the_nearest_input_is_looked_for_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a hundred entries, and in the beginning of each, around the one that diverged."""
    looked: list[int] = []

    def score(actual: str, expected: str) -> float:
        looked.append(max(len(actual), len(expected)))
        return float(actual == expected)

    monkeypatch.setattr(match, "lexical_score", score)
    entries: tuple[Entry, ...] = read_entries(
        typed(*[b"%d " % n + b"a" * 30 + b"\r" for n in range(500)])
    )
    monkeypatch.setattr(match, "_LONGEST_LOOKED_AT", 5)
    found = nearest_entry(entries, "490 a", number=480)

    assert found is not None
    assert found[0].number == 491
    assert len(looked) <= 100
    assert max(looked) <= 5
