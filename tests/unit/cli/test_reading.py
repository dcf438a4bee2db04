"""The reading commands on cassettes: what they print, and what never reaches the terminal."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.model.records import Finished, Manifest, Output, ScrubReport
from ptycassette.testing import events_of, manifest_of, write_cassette
from tests.places import held

Run = Callable[..., Any]
Golden = Callable[[str, str], None]

VALID = ("minimal", "awkward", "empty-output", "go-spelling", "later", "microseconds", "unpinned")
COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info",),
    "verify": ("verify",),
    "events": ("events",),
    "frames": ("frames",),
    "frames-diff": ("frames", "--diff"),
    "frames-last": ("frames", "--last"),
    "frames-ansi": ("frames", "--last", "--format", "ansi"),
    "frames-html": ("frames", "--last", "--format", "html"),
    "frames-render": ("frames", "--render", "--at", "1"),
    "play": ("play",),
}
ACTIVE = re.compile("[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")
SGR = re.compile("\x1b\\[[0-9;]*m")


@pytest.mark.parametrize("name", VALID)
@pytest.mark.parametrize("command", ["info", "verify", "events", "frames"])
def test_what_is_printed_about_fixtures(
    command: str, name: str, run: Run, golden: Golden, in_fixtures: Path
) -> None:
    """Held by golden files."""
    ran = run(*COMMANDS[command], f"v1/{name}")

    assert ran.status == 0
    golden(f"{command}-{name}.txt", ran.text)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_what_is_printed_about_a_session(
    command: str, run: Run, golden: Golden, cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held by golden files, for every form of output."""
    monkeypatch.chdir(cassette.parent)
    ran = run(*COMMANDS[command], cassette.name)

    assert ran.status == 0
    golden(f"session-{command}.txt", ran.text)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_nothing_from_a_cassette_acts_on_the_terminal(
    command: str, run: Run, hostile: Path
) -> None:
    """Names, titles, argv, output, notes: all of it is escaped; colours are ours alone."""
    ran = run(*COMMANDS[command], hostile)
    text = SGR.sub("", ran.text) if command == "frames-ansi" else ran.text

    assert ran.status == 0
    assert ACTIVE.search(text) is None
    assert "\x1b" not in text


@pytest.mark.parametrize("command", ["info", "verify", "events", "frames"])
def test_json_of_hostile_cassettes_is_plain_ascii(command: str, run: Run, hostile: Path) -> None:
    """Every line is an object, and none acts."""
    ran = run(command, "--json", hostile)

    assert ran.text.isascii()
    assert "\x1b" not in ran.text
    assert all(isinstance(json.loads(line), dict) for line in ran.text.splitlines())


def test_errors_about_hostile_names_are_escaped(run: Run, tmp_path: Path) -> None:
    """A path is somebody's text, too."""
    ran = run("info", tmp_path / "no\x1b[2Jsuch\u202e")

    assert ran.status == 3
    assert ACTIVE.search(ran.err) is None
    assert "\x1b" not in ran.err


def test_html_escapes_markup(run: Run, hostile: Path) -> None:
    """No tag of a recording becomes one of the page."""
    ran = run("frames", "--last", "-f", "html", hostile)

    assert "<script" not in ran.text.lower()


@pytest.mark.parametrize("words", [("cat",), ("play", "--raw")])
def test_the_bytes_are_written_and_nothing_else(
    words: tuple[str, ...], run: Run, cassette: Path
) -> None:
    """Byte for byte, invalid UTF-8 included, and not a word on stderr."""
    ran = run(*words, cassette)

    assert ran.out == (cassette / "output.raw").read_bytes()
    assert ran.err == ""


@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        ((), [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (("--kind", "input"), [3]),
        (("-k", "resize", "-k", "final"), [7, 9]),
        (("--kind", "frame", "--limit", "1"), [2]),
        (("--from", "1.2", "--to", "1400ms"), [4, 5, 6]),
        (("--source", "user"), [3]),
        (("--source", "terminal"), []),
        (("--signals",), [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9]),
        (("--signals", "-k", "final"), [8, 8, 9]),
        (("--kind", "terminal-signal"), [8, 8]),
        (("--signals", "--to", "2"), [1, 2, 3, 4, 5, 6, 7]),
        (("--signals", "--source", "user"), [3]),
    ],
)
def test_events_are_chosen(
    options: tuple[str, ...], seqs: list[int], run: Run, cassette: Path
) -> None:
    """By kind, time and source."""
    ran = run("events", cassette, "--json", *options)

    assert [json.loads(line)["seq"] for line in ran.text.splitlines()] == seqs


LAST_DIFF = {
    "diffs.0.rows": [
        {"row": 0, "before": "$", "after": "$ ls"}, {"row": 1, "before": "", "after": "dir"},
    ],
    "diffs.0.styles_changed": [1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        # With the place of its output, for people and for programs.
        ("events --kind terminal-signal -n 1", {
            "seq": 8, "t_us": 2_100_000, "t_ms": 2_100, "kind": "terminal-signal",
            "name": "title", "told": {"text": "title"},
        }),
        # With all of its fields as the format spells them.
        ("frames --last --format json", {
            "frame.text": ["$ ls", "dir", "", ""],
            "frame.cursor": {"Row": 2, "Col": 0, "Visible": True},
        }),
        # Of one frame to the one before it, or of all.
        ("frames --last --diff", LAST_DIFF),
        ("frames --diff", {place.replace("diffs.0", "diffs.1"): found
                           for place, found in LAST_DIFF.items()} | {"diffs.2": None}),
    ],
)  # fmt: skip
def test_what_is_printed_as_json(
    words: str, wanted: dict[str, Any], run: Run, cassette: Path
) -> None:
    """One object."""
    document = json.loads(run(*words.split(), *("--json",) * ("json" not in words), cassette).text)

    assert held(document, wanted) == wanted


def test_what_the_terminal_was_told_is_printed(run: Run, cassette: Path) -> None:
    """For people."""
    text = run("events", cassette, "--kind", "terminal-signal", "-n", "1").text

    assert text == "      8      2.100000 terminal-signal title  text=title\n"


def test_what_a_hostile_program_tells_its_terminal_is_shown_escaped(
    run: Run, hostile: Path
) -> None:
    """A clipboard, a title: no byte of them acts."""
    ran = run("events", "--signals", hostile)

    assert "clipboard  selection=c  payload=ZXZpbA==" in ran.text
    assert ACTIVE.search(ran.text) is None


@pytest.mark.parametrize("flood", [b"\x07", b"\x1b]2;a\x07", b"\x1b[?1049h\x1b[?1049l"])
@pytest.mark.parametrize("outputs", [1, 100])
def test_a_flood_of_signals_is_refused_unless_few_are_asked_for(
    flood: bytes, outputs: int, run: Run, tmp_path: Path
) -> None:
    """The lines that are printed grow with the output, at most by a line for twenty bytes."""
    path, size = tmp_path / "flood", 1_500_000
    one = flood * (size // outputs // len(flood))
    write_cassette(path, *(Output(n, one) for n in range(outputs)))

    ran = run("events", "--signals", path)

    assert ran.status == 4
    assert len(ran.text.splitlines()) <= 100_000 + size // 20 + outputs + 2
    assert "terminal signals in" in ran.err
    assert "--limit" in ran.err
    few = run("events", "--kind", "terminal-signal", "--limit", "3", path)
    assert (few.status, len(few.text.splitlines())) == (0, 3)


def test_long_data_is_shortened_unless_asked_for(run: Run, tmp_path: Path) -> None:
    """The cut is said."""
    path = tmp_path / "long"
    write_cassette(path, Output(0, b"x" * 5000))

    assert "4900 more bytes" in run("events", path).text
    assert "x" * 5000 in run("events", path, "--full").text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--at", "0.3"), "$\n\n\n\n"),
        (("--at", "1:00"), "$ ls\ndir\n\n\n"),
        (("--seq", "2"), "$\n\n\n\n"),
        (("--seq", "4", "--render"), "$ ls\ndir\n\n\n"),
        (("--at", "1", "--render"), "$\n\n\n\n"),
    ],
)
def test_one_frame_is_chosen(options: tuple[str, ...], text: str, run: Run, cassette: Path) -> None:
    """The last at or before a moment, or rendered for exactly that moment."""
    assert run("frames", cassette, *options).text == text


SAID: dict[str, tuple[str, int, str]] = {
    # Words of a command, its status, and what it says.
    "a frame before all frames": (
        "frames CASSETTE --at 0.1", 3, "no frame at or before that moment"),
    "a slice of time": ("play --start 2 --end 2.5 CASSETTE", 0, "café\ufffd\n"),
    **{f"{command} of what was never scrubbed": (f"{command} UNSCRUBBED", 4, "scrub")
       for command in ("cat", "events", "frames", "play", "verify")},
    **{f"{command} of what was never scrubbed, on purpose":
       (f"{command} UNSCRUBBED --allow-unscrubbed", 0, "")
       for command in ("cat", "events", "frames", "play", "verify")},
    # It shows no content, and warns.
    "info of what was never scrubbed": (
        "info UNSCRUBBED", 0, "NO: it was recorded without scrubbing"),
    "the rule that is broken": (
        "verify corrupt/chunk-digest v1/minimal", 4,
        "corrupt/chunk-digest: NOT VALID, ChunkError"),
    "what is valid beside it": (
        "verify corrupt/chunk-digest v1/minimal", 4, "v1/minimal: valid"),
    # Differences would say nothing about the cassette.
    "frames of another emulator": (
        "verify --rederive v1/awkward", 4, "the frames were made by synthetic 1"),
    "a flipped byte": ("verify FLIPPED", 4, ""),
    **{f"contradictions: {words}": (f"{words} CASSETTE", 2, "") for words in (
        "events --from 2 --to 1", "frames --at 1 --last", "frames --render",
        "frames --last --render", "frames --at 1 --render --diff", "frames --format ansi",
        "play --start 2 --end 1", "play --speed 2 --mode collapsed", "play --speed 0",
        "play --loop")},
}  # fmt: skip


def _unscrubbed(path: Path) -> None:
    with CassetteWriter(path) as writer:
        for event in events_of(Output(0, b"x\r\n"), Finished(t_us=1)):
            writer.add(event.record, event.data)
        writer.put(ScrubReport(status="unscrubbed"))
        writer.publish(manifest_of())


def _flipped(path: Path) -> None:
    data = bytearray((path / "output.raw").read_bytes())
    data[3] ^= 1
    (path / "output.raw").write_bytes(data)


@pytest.mark.parametrize("case", SAID)
def test_a_command_has_its_status_and_its_words(
    case: str, run: Run, cassette: Path, in_fixtures: Path, tmp_path: Path
) -> None:
    """Wrong usage is 2 with nothing on stdout, what is not there 3, what is not valid 4."""
    words, status, says = SAID[case]
    places = {"CASSETTE": cassette, "UNSCRUBBED": tmp_path / "u", "FLIPPED": tmp_path / "f"}
    _unscrubbed(places["UNSCRUBBED"])
    shutil.copytree(cassette, places["FLIPPED"])
    _flipped(places["FLIPPED"])
    ran = run(*(places.get(word, word) for word in words.split()))

    assert ran.status == status, ran.err
    assert says in ran.out.decode("utf-8", "replace") + ran.err
    assert status != 2 or ran.out == b""
    assert ran.text == says or not says.endswith("\n")


def test_verify_as_json_reports_every_cassette(run: Run, in_fixtures: Path) -> None:
    """The status is that of the first that is not valid."""
    ran = run("verify", "--json", "v1/minimal", "no-such.cassette", "corrupt/seq-gap")
    document = json.loads(ran.text)

    assert ran.status == 3
    assert [one["ok"] for one in document["cassettes"]] == [True, False, False]
    assert document["cassettes"][1]["error"]["type"] == "NotFoundError"


def test_doctor_reports_what_it_looked_at(run: Run) -> None:
    """On a machine that runs the tests, everything needed is there."""
    document = json.loads(run("doctor", "--json").text)

    assert document["ok"] is True
    assert {"python", "pty", "journals", "locale"} <= {one["name"] for one in document["checks"]}


@pytest.mark.parametrize(
    ("suggested", "options", "limit"),
    [
        (1500, (), 1.5),
        (0, (), 0.0),
        (1500, ("--idle-limit", "0.3"), 0.3),
        (-1, (), None),
        (10**400, (), None),
        (True, (), None),
        ("1500", (), None),
    ],
)
def test_play_takes_the_idle_limit_that_the_recording_suggests(
    suggested: object,
    options: tuple[str, ...],
    *,
    limit: float | None,
    run: Run,
    cassette: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless it is told another one, or the suggestion is no length of time."""
    taken: list[float | None] = []

    def replay(source: object, *, idle_limit: float | None, **_: object) -> list[object]:
        taken.append(idle_limit)
        return []

    manifest = msgspec.structs.replace(manifest_of(), optional={"idle_limit_ms": suggested})
    monkeypatch.setattr("ptycassette.replaying.io.replayer.replay", replay)
    monkeypatch.setattr(
        "ptycassette.cli.play.opened", lambda *_, **__: contextlib.nullcontext(_Source(manifest))
    )
    run("play", *options, cassette)

    assert taken == [limit]


class _Source:
    """As much of a cassette as an option needs."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
