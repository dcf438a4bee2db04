"""Every command that shows a recording, fed with every escape vector in every field of it."""

from __future__ import annotations

import json
import os
import pty
import re
import runpy
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from ptycassette.cli import main
from ptycassette.model.records import FrameRecord, Harness, Manifest, Noted, Output, Typed
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.testing import manifest_of, write_cassette
from tests.tampering import TamperedTape

pytestmark = pytest.mark.integration

TESTS = Path(__file__).resolve().parents[1]
FIXTURES = TESTS.parent / "fixtures"
VECTORS: dict[str, bytes] = runpy.run_path(str(TESTS / "unit" / "safety" / "escape_vectors.py"))[
    "VECTORS"
]
SIZE = Size(rows=12, cols=60)
GROUP = 40
GROUPS = [list(VECTORS)[at : at + GROUP] for at in range(0, len(VECTORS), GROUP)]
HIDDEN = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
PLAIN = re.compile(f"[^\x00-\x09\x0b-\x1f\x7f-\x9f{HIDDEN}]*")
SGR = re.compile(f"(?:\x1b\\[0[\\d;]*m|[^\x00-\x09\x0b-\x1f\x7f-\x9f{HIDDEN}])*")
PAINT = re.compile(
    r"(?:\x1b\[(?:0[\d;]*m|2J|H|K|\d+;\d+H|\d+G|\?25[hl]|\?1049[hl])"
    f"|[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f{HIDDEN}])*"
)


def _manifest(text: str) -> Manifest:
    """A manifest with ``text`` in every field that may hold some."""
    made = manifest_of(size=SIZE, argv=("sh", text))
    return msgspec.structs.replace(
        made,
        harness=Harness(name=text, binary_version=text, account_class=text),
        command=msgspec.structs.replace(made.command, permission_mode=text, env_allowlist=(text,)),
        terminal=msgspec.structs.replace(made.terminal, term=text, locale=text),
        provenance=msgspec.structs.replace(
            made.provenance, os=text, arch=text, recorder_version=text
        ),
        optional={"title": text, text: {text: text}},
    )


def _cassette(path: Path, names: list[str]) -> None:
    """A recording that does all of it: as output, as frames, titles, keys, payloads and facts."""
    items: list[Output | Typed | Noted | FrameRecord] = []
    for number, name in enumerate(names):
        vector = VECTORS[name]
        text = vector.decode("utf-8", "replace")[:200]
        row = text.replace("\n", " ")
        style = Style(fg="#12\x1b[", link=text, underline=row)
        items += [
            Output(number * 1000, b"before " + vector + b"\x1b\\\x18 after\r\n"),
            Typed(number * 1000, vector, key=text, source=text),
            Noted(number * 1000, {text: [text, {"type": text}]}),
            FrameRecord(
                seq=1,
                t_ms=number,
                t_us=number * 1000,
                size=SIZE,
                text=(row, text),
                cursor=Cursor(0, 0, visible=True),
                title=text,
                raw_start=0,
                raw_end=0,
                parser_offset=0,
                styles=((StyleRun(0, 9, style),),),
            ),
        ]
    text = " ".join(VECTORS[name].decode("utf-8", "replace")[:100] for name in names)
    write_cassette(path, *items, manifest=_manifest(text))


@pytest.fixture(scope="module")
def cassettes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One for each group of vectors."""
    top = tmp_path_factory.mktemp("vectors")
    for number, names in enumerate(GROUPS):
        _cassette(top / f"c{number}", names)
    return [top / f"c{number}" for number in range(len(GROUPS))]


COMMANDS: dict[str, tuple[list[str], re.Pattern[str]]] = {
    "info": (["info", "{c}"], PLAIN),
    "info --json": (["info", "--json", "{c}"], PLAIN),
    "events": (["events", "{c}"], PLAIN),
    "events --json": (["events", "--json", "{c}"], PLAIN),
    "frames": (["frames", "{c}"], PLAIN),
    "frames --diff": (["frames", "--diff", "{c}"], PLAIN),
    "frames --last": (["frames", "--last", "{c}"], PLAIN),
    "frames --last ansi": (["frames", "--last", "-f", "ansi", "{c}"], SGR),
    "frames --last json": (["frames", "--last", "-f", "json", "{c}"], PLAIN),
    "frames --last html": (["frames", "--last", "-f", "html", "{c}"], PLAIN),
    "frames --render": (["frames", "--render", "--at", "99", "-f", "ansi", "{c}"], SGR),
    "verify": (["verify", "{c}"], PLAIN),
    "verify --rederive": (["verify", "--rederive", "{c}"], PLAIN),
    "verify-scrub": (["verify-scrub", "{c}"], PLAIN),
    "play": (["play", "{c}"], PLAIN),
    "play --speed": (["play", "--speed", "100", "{c}"], PLAIN),
    "export text": (["export", "{c}", "-", "-f", "text"], PLAIN),
    "export svg": (["export", "{c}", "-", "-f", "svg"], PLAIN),
    "export asciicast": (["export", "{c}", "-", "-f", "asciicast"], PLAIN),
    "export asciicast-v3": (["export", "{c}", "-", "-f", "asciicast-v3", "--with-input"], PLAIN),
    "scrub --explain": (["scrub", "--explain", "--output", "{out}", "{c}"], PLAIN),
    "check --init": (["check", "--init", "{c}"], PLAIN),
    "check": (["check", "--cassette", "{c}", "{scenario}"], PLAIN),
    "check --json": (["check", "--json", "--cassette", "{c}", "{scenario}"], PLAIN),
}
SCENARIO = """
format: 1
name: "\\e]0;x\\a[red]"
cassette: {path: "c\\e[31m"}
checks:
  - screen: {contains: "\\e[6n <script> \\u202e"}
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_no_escape_of_a_recording(
    name: str, cassettes: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not on stdout, not on stderr, whatever it ends with; and it is no bug."""
    words, allowed = COMMANDS[name]
    scenario = tmp_path / "x.scenario.yaml"
    scenario.write_text(SCENARIO)
    for number, cassette in enumerate(cassettes):
        place = {"c": str(cassette), "out": str(tmp_path / f"{number}"), "scenario": str(scenario)}
        status = main([word.format(**place) for word in words])
        out, err = capfd.readouterr()

        assert status in {0, 1, 2, 4, 6}, err
        assert allowed.fullmatch(out.replace("\t", " ")), ascii(out)
        assert PLAIN.fullmatch(err), ascii(err)


def test_a_picture_holds_text_and_no_code(cassettes: list[Path], tmp_path: Path) -> None:
    """Well-formed, with shapes, text and styles alone; no address but that of SVG itself."""
    harmless = {"svg", "title", "desc", "style", "defs", "g", "rect", "text", "tspan", "use",
                "animate", "symbol", "path", "clipPath", "circle", "line", "set"}  # fmt: skip
    for cassette in cassettes:
        out = tmp_path / f"{cassette.name}.svg"
        assert main(["export", str(cassette), str(out), "--title", "</title><script>\x1b]0;"]) == 0
        root = ET.fromstring(out.read_text(encoding="utf-8"))
        elements = list(root.iter())

        assert {element.tag.rpartition("}")[2] for element in elements} <= harmless
        names = {key.rpartition("}")[2] for element in elements for key in element.attrib}
        assert not [key for key in names if key.startswith("on")]
        links = [element.attrib.get("href", "#") for element in elements]
        assert all(link.startswith("#") for link in links)


def test_errors_about_hostile_names_and_values_are_escaped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, keys, ids and whatever else an error quotes, on every command."""
    monkeypatch.chdir(tmp_path)
    for number, vector in enumerate(VECTORS.values()):
        text = vector.decode("utf-8", "surrogateescape").replace("/", "_").replace("\x00", "")
        name = text.encode("utf-8", "surrogateescape")[:100].decode("utf-8", "surrogateescape")
        place = tmp_path / f"{number}"
        place.mkdir()
        (place / "manifest.json").write_text(
            f'{{"version":1,"id":"x","{number}":' + ascii(name).replace("'", '"') + "}"
        )
        for words in (
            ["info", name],
            ["info", "x", name],
            ["verify", str(place)],
            ["play", str(place)],
        ):
            assert main(words) in {2, 3, 4}
        if number % 20 == 0:
            for command in ("recover", "check", "export", "stand-in", "probe"):
                main([command, name])
    out, err = capfd.readouterr()

    assert PLAIN.fullmatch(out), ascii(out)
    # The stand-in's terminal may be raw.
    assert PLAIN.fullmatch(err.replace("\r\n", "\n")), ascii(err)


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_listings_of_journals_are_escaped(
    state_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], step: int
) -> None:
    """``recover`` and ``doctor`` show what a journal says, and its name."""
    from ptycassette.model.records import SessionMeta  # noqa: PLC0415
    from ptycassette.recording.io.journal_file import JournalFile  # noqa: PLC0415
    from ptycassette.system.files.state_dirs import journal_dir  # noqa: PLC0415

    for number, vector in enumerate([*VECTORS.values()][::step]):
        text = vector.decode("utf-8", "replace")
        meta = SessionMeta(
            id=f"{number}",
            argv=(text, text),
            size=SIZE,
            recorded_at=text,
            harness=Harness(name=text),
            target=str(tmp_path / text.replace("/", "_").replace("\x00", "")[:60]),
        )
        JournalFile(meta, directory=journal_dir()).close()
    (journal_dir() / "\x1b]0;x\x07.journal").write_bytes(b"\x1b[21t")
    for words in (["recover"], ["recover", "--json"], ["doctor"], ["recover", "--all"]):
        main(words)
    out, err = capfd.readouterr()

    assert PLAIN.fullmatch(out), ascii(out)
    assert PLAIN.fullmatch(err), ascii(err)


def _played(cassette: Path, *options: str) -> Iterator[bytes]:
    """What ``play`` writes to a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(  # noqa: S606 - no shell
            sys.executable, [sys.executable, "-m", "ptycassette", "play", *options, str(cassette)]
        )
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([fd], [], [], 1)[0]:
                continue
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            yield data
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
def test_nothing_but_paint_reaches_a_terminal_of_play(how: str, tmp_path: Path) -> None:
    """All vectors in one recording, as they are, and each byte as an event of its own."""
    data = b"".join(b"before " + vector + b" after\x1b\\\x18\r\n" for vector in VECTORS.values())
    step = len(data) if how == "whole" else 1
    outputs = [Output(at, data[at : at + step]) for at in range(0, len(data), step)]
    write_cassette(tmp_path / "c", *outputs, manifest=manifest_of(size=SIZE))
    said = b"".join(_played(tmp_path / "c", "--speed", "100"))

    assert PAINT.fullmatch(said.decode("utf-8")), said
    assert b"after" in said


def _taped(path: Path, names: list[str]) -> Path:
    """A tape with the vectors in every text of it, and a recording that was forked with them."""
    text = " ".join(VECTORS[name].decode("utf-8", "replace")[:60] for name in names)[:1500]
    call = {"index": 0, "id": text, "function": {"name": text, "arguments": text}}
    said = {"id": text, "model": text, "usage": {"prompt_tokens": 1}, text: text,
            "choices": [{"delta": {"content": text, "tool_calls": [call]},
                         "finish_reason": text}]}  # fmt: skip
    asked = {"model": text, text: text, "messages": [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "name": text, "id": text,
                                           "input": {text: text}}]},
        {"role": "tool", "tool_call_id": text, "content": text},
    ]}  # fmt: skip
    tape = TamperedTape(FIXTURES / "v1" / "tape", path)
    for entry in tape.entries:
        number, answer = entry["entry"], entry.get("answer")
        entry["method"], entry["target"] = text, f"/v1/{text}"
        if "detail" in entry:
            entry["detail"] = text
        entry.pop("tokens", None)
        tape.questions[number] = json.dumps(asked).encode()
        if entry["kind"] != "message":
            entry["headers"] = [["content-type", "application/json"], [text, text]]
        if answer is not None and answer.get("chunks"):
            body = tape.answers[number] = f"data: {json.dumps(said)}\n\n".encode()
            answer["chunks"] = [[answer["t_us"], len(body)]]
            answer["headers"] = [["content-type", "text/event-stream"], ["retry-after", text]]
    final = path / "final.json"
    done = json.loads(final.read_bytes())
    fork = {"parent": text, "sha256": "0" * 64, "place": text, "changes": [[text, text]]}
    done |= {"metadata": {"fork": fork, text: text}, "final_text": text, "session_log_path": text}
    final.write_text(json.dumps(done, indent=2) + "\n")
    return tape.publish()


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One for each group of vectors."""
    top = tmp_path_factory.mktemp("tapes")
    return [_taped(top / f"c{number}", names) for number, names in enumerate(GROUPS)]


OF_TAPES = [
    "info {c}", "info --json {c}", "tape {c}", "tape --json {c}", "tape --entry 1 --full {c}",
    "tape --entry 1 --json {c}", "tape --entry 2 {c}", "tape --entry 3 {c}", "lineage {c}",
    "lineage --json {c}", "ls {top}", "ls --json {top}", "rerun {c}", "rerun --json {c}",
    "fork {c} --at tape:1 --change response=x -o {out}", "verify {c}", "verify-scrub {c}",
    "blame {c} --oracle exit --budget 5", "promote {c} --reviewed-by x -o {out}",
    "bundle export {c} --entry 1 --key {key}", "diff {c} {plain}", "diff --json {c} {plain}",
    "doctor --drift {c}", "check --init {c}", "edit mask {c} --word hello -o {out}",
    "verify --sealed {c}", "import {c}/tape.jsonl -o {out}", "textconv {c}/tape.jsonl",
    "textconv {c}/manifest.json", "textconv {c}/final.json",
    *(f"export {{c}} - -f {name}" for name in (
        "markdown", "html", "har", "vcr", "atif", "otel", "inspect", "jsonl", "python", "text")),
]  # fmt: skip


@pytest.mark.parametrize("command", OF_TAPES)
def test_a_command_shows_no_escape_of_a_tape(
    command: str, tapes: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of requests, answers, models, tools and forks; and it ends as the documents say."""
    key = tmp_path / "key"
    main(["seal", "--new-key", str(key)])
    capfd.readouterr()
    for number, cassette in enumerate(tapes):
        place = {"c": cassette, "top": cassette.parent, "out": tmp_path / f"{number}", "key": key,
                 "plain": FIXTURES / "v1" / "minimal"}  # fmt: skip
        status = main([word.format(**place) for word in command.split()])
        out, err = capfd.readouterr()

        assert status in {0, 1, 3, 4, 6, 7}, err
        assert PLAIN.fullmatch(out.replace("\t", " ")), ascii(out)
        assert PLAIN.fullmatch(err), ascii(err)
