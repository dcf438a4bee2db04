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
from ptycassette.model import Finished, Manifest, Output, ScrubReport
from ptycassette.testing import events_of, manifest_of, write_cassette

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


def test_cat_writes_the_bytes_and_nothing_else(run: Run, cassette: Path) -> None:
    """Byte for byte, invalid UTF-8 included, and not a word on stderr."""
    ran = run("cat", cassette)

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


def test_what_the_terminal_was_told_is_printed(run: Run, cassette: Path) -> None:
    """With the place of its output, for people and for programs."""
    text = run("events", cassette, "--kind", "terminal-signal", "-n", "1").text
    line = json.loads(
        run("events", cassette, "--kind", "terminal-signal", "-n", "1", "--json").text
    )

    assert text == "      8      2.100000 terminal-signal title  text=title\n"
    assert line == {
        "seq": 8,
        "t_us": 2_100_000,
        "t_ms": 2_100,
        "kind": "terminal-signal",
        "name": "title",
        "told": {"text": "title"},
    }


def test_what_a_hostile_program_tells_its_terminal_is_shown_escaped(
    run: Run, hostile: Path
) -> None:
    """A clipboard, a title: no byte of them acts."""
    ran = run("events", "--signals", hostile)

    assert "clipboard  selection=c  payload=ZXZpbA==" in ran.text
    assert ACTIVE.search(ran.text) is None


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


def test_a_frame_before_all_frames_is_not_found(run: Run, cassette: Path) -> None:
    """The message says how many there are and what to do."""
    ran = run("frames", cassette, "--at", "0.1")

    assert ran.status == 3
    assert "no frame at or before that moment" in ran.err


def test_one_frame_as_json_is_the_stored_record(run: Run, cassette: Path) -> None:
    """With all of its fields as the format spells them."""
    document = json.loads(run("frames", cassette, "--last", "--format", "json").text)

    assert document["frame"]["text"] == ["$ ls", "dir", "", ""]
    assert document["frame"]["cursor"] == {"Row": 2, "Col": 0, "Visible": True}


def test_differences_as_json(run: Run, cassette: Path) -> None:
    """Of one frame to the one before it, or of all."""
    one = json.loads(run("frames", cassette, "--last", "--diff", "--json").text)
    all_of_them = json.loads(run("frames", cassette, "--diff", "--json").text)

    assert one["diffs"] == all_of_them["diffs"][1:]
    assert one["diffs"][0]["rows"] == [
        {"row": 0, "before": "$", "after": "$ ls"},
        {"row": 1, "before": "", "after": "dir"},
    ]
    assert one["diffs"][0]["styles_changed"] == [1]


@pytest.mark.parametrize(
    "args",
    [
        ("events", "--from", "2", "--to", "1"),
        ("frames", "--at", "1", "--last"),
        ("frames", "--render"),
        ("frames", "--last", "--render"),
        ("frames", "--at", "1", "--render", "--diff"),
        ("frames", "--format", "ansi"),
        ("play", "--start", "2", "--end", "1"),
        ("play", "--speed", "2", "--mode", "collapsed"),
        ("play", "--speed", "0"),
        ("play", "--loop"),
    ],
)
def test_options_that_contradict_are_a_usage_error(
    args: tuple[str, ...], run: Run, cassette: Path
) -> None:
    """Status 2, and nothing on stdout."""
    ran = run(*args, cassette)

    assert (ran.status, ran.out) == (2, b"")


def test_play_elsewhere_can_write_the_bytes(run: Run, cassette: Path) -> None:
    """With --raw, stdout gets what the program wrote."""
    assert run("play", "--raw", cassette).out == (cassette / "output.raw").read_bytes()


def test_play_elsewhere_takes_a_slice(run: Run, cassette: Path) -> None:
    """Of time, as on a terminal."""
    assert run("play", "--start", "2", "--end", "2.5", cassette).text == "café\ufffd\n"


@pytest.mark.parametrize("command", ["cat", "events", "frames", "play", "verify"])
def test_what_was_never_scrubbed_is_refused(command: str, run: Run, tmp_path: Path) -> None:
    """Unless it is allowed on purpose."""
    path = _unscrubbed(tmp_path)

    assert run(command, path).status == 4
    assert run(command, path, "--allow-unscrubbed").status == 0


def test_info_describes_what_was_never_scrubbed_and_says_so(run: Run, tmp_path: Path) -> None:
    """It shows no content, and warns."""
    ran = run("info", _unscrubbed(tmp_path))

    assert ran.status == 0
    assert "NO: it was recorded without scrubbing" in ran.text


def _unscrubbed(tmp_path: Path) -> Path:
    path = tmp_path / "unscrubbed"
    with CassetteWriter(path) as writer:
        for event in events_of(Output(0, b"x\r\n"), Finished(t_us=1)):
            writer.add(event.record, event.data)
        writer.put(ScrubReport(status="unscrubbed"))
        writer.publish(manifest_of())
    return path


def test_verify_names_the_rule_that_is_broken(run: Run, in_fixtures: Path) -> None:
    """The error's class, where, and what it says."""
    ran = run("verify", "corrupt/chunk-digest", "v1/minimal")

    assert ran.status == 4
    assert "corrupt/chunk-digest: NOT VALID, ChunkError" in ran.text
    assert "v1/minimal: valid" in ran.text


def test_verify_as_json_reports_every_cassette(run: Run, in_fixtures: Path) -> None:
    """The status is that of the first that is not valid."""
    ran = run("verify", "--json", "v1/minimal", "/nonexistent", "corrupt/seq-gap")
    document = json.loads(ran.text)

    assert ran.status == 3
    assert [one["ok"] for one in document["cassettes"]] == [True, False, False]
    assert document["cassettes"][1]["error"]["type"] == "NotFoundError"


def test_verify_refuses_to_compare_frames_of_another_emulator(run: Run, in_fixtures: Path) -> None:
    """Differences would say nothing about the cassette."""
    ran = run("verify", "--rederive", "v1/awkward")

    assert ran.status == 4
    assert "the frames were made by synthetic 1" in ran.text


def test_verify_finds_a_flipped_byte(run: Run, cassette: Path, tmp_path: Path) -> None:
    """Anywhere in any file."""
    broken = tmp_path / "broken"
    shutil.copytree(cassette, broken)
    raw = broken / "output.raw"
    data = bytearray(raw.read_bytes())
    data[3] ^= 1
    raw.write_bytes(data)

    assert run("verify", broken).status == 4


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
    monkeypatch.setattr("ptycassette.replaying.io.replay", replay)
    monkeypatch.setattr(
        "ptycassette.cli.play.opened", lambda *_, **__: contextlib.nullcontext(_Source(manifest))
    )
    run("play", *options, cassette)

    assert taken == [limit]


class _Source:
    """As much of a cassette as an option needs."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
