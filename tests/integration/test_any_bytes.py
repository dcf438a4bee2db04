"""Names, arguments, variables and folders that are not UTF-8, however recorded and replayed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette import open_cassette, record, use
from ptycassette.errors import DivergenceError
from ptycassette.model.records import native_text
from ptycassette.replaying.io.shims import ShimConfig, make_shims
from tests.commands import COMMAND, ptycassette, taped

pytestmark = [pytest.mark.integration]

ODD = b"caf\xe9 \xff\xc3"  # Latin-1, and the beginning of a character
WORD = os.fsdecode(ODD)
ECHO = '#!/bin/sh\nprintf "%s\\n" "$@"\nprintf "%s|\\n" "$ODD"\nread -r line\necho "got $line"\n'
TYPED = "timeout 60s\nwait-text |\nsubmit Ada\nwait-exit\n"

Run = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with such a name, which is home, state directory and working directory."""
    folder = tmp_path / WORD
    folder.mkdir()
    program = folder / os.fsdecode(b"prog\xe9")
    program.write_text(ECHO)
    program.chmod(0o755)
    (folder / "in").write_text(TYPED)
    monkeypatch.chdir(folder)
    for name in ("HOME", "PWD", "TMPDIR", "ODD", "LC_ODD"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(folder / "state"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def run(place: Path) -> Run:
    """Run the command there; returns what it printed to both."""

    def ran(*words: str, status: int = 0, **more: Any) -> bytes:
        done = subprocess.run(
            [COMMAND, *words],
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
            **more,
        )
        assert done.returncode == status, done.stdout.decode("utf-8", "backslashreplace")
        return done.stdout

    return ran


def recorded(path: Path) -> tuple[list[bytes], bytes]:
    """The arguments and the output of a cassette."""
    with open_cassette(path) as cassette:
        argv = [os.fsencode(native_text(word)) for word in cassette.manifest.command.argv or ()]
        output = b"".join(event.data for event in cassette.events() if event.kind == "output")
    return argv, output


@pytest.fixture
def cassette(place: Path, run: Run) -> Path:
    """A recording of a program, folder, argument and name like that."""
    program = os.fsdecode(b"prog\xe9")
    run("rec", "-q", "--input", "in", "-e", f"MORE={WORD}", f"{WORD}.cassette", "--", program, WORD)
    return place / f"{WORD}.cassette"


def test_the_program_gets_the_same_bytes(cassette: Path) -> None:
    """Argument and variable, and the cassette has them."""
    argv, output = recorded(cassette)

    assert argv == [b"prog\xe9", ODD]
    assert output.startswith(ODD + b"\r\n")
    for file in cassette.glob("*.json*"):
        for line in file.read_bytes().splitlines() if file.suffix == ".jsonl" else ():
            msgspec.json.decode(line)
        file.read_bytes().decode()


@pytest.mark.parametrize("way", ["--headless", "--pipes", "terminal", "no name"])
def test_every_way_of_recording_takes_them(way: str, place: Path, run: Run) -> None:
    """At a terminal, without one, over pipes; and a made-up name is a good one."""
    words = ["rec", "-q", *([way] if way[0] == "-" else ["--headless"] * (way != "terminal"))]
    words += ([] if way == "no name" else ["x.cassette"]) + ["--", "printf", "%s", WORD]
    if way == "terminal":
        script = [sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"]
        done = subprocess.run(
            [*script, COMMAND, *words], stdin=subprocess.DEVNULL, check=False, timeout=120
        )
        assert done.returncode == 0
    else:
        run(*words)
    (path,) = (found.parent for found in place.glob("*.cassette/manifest.json"))

    argv, output = recorded(path)
    assert argv == [b"printf", b"%s", ODD]
    assert output == ODD


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("verify", "C"), ("verify", "--json", "C"), ("verify", "--rederive", "C"),
    ("verify-scrub", "C"),
    ("info", "C"), ("info", "--json", "C"), ("events", "C"), ("events", "--json", "C"),
    ("frames", "C"), ("play", "--speed", "100", "C"), ("ls",), ("ls", "--json"),
    ("diff", "C", "C"), ("diff", "--json", "C", "C"), ("textconv", "C/manifest.json"),
    ("edit", "annotate", "C", "W", "--at", "0s", "-o", "W.new"),
    ("edit", "join", "C", "C", "-o", "W.new"),
    ("scrub", "C"), ("fork", "--places", "C"), ("lineage", "."), ("recover",), ("doctor", "--json"),
    ("seal", "--new-key", "W"), ("migrate", "C", "--to", "reference"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.sampled(3)
def test_every_command_takes_such_a_cassette(
    words: tuple[str, ...], cassette: Path, run: Run
) -> None:
    """What they print is UTF-8, and JSON that strict parsers read."""
    names = {"C": cassette.name, "W": WORD, "W.new": f"{WORD}.new", "C/manifest.json": ""}
    names["C/manifest.json"] = f"{cassette.name}/manifest.json"
    printed = run(*(names.get(word, word) for word in words))

    printed.decode()
    for line in printed.splitlines() if "--json" in words else ():
        msgspec.json.decode(line)


@pytest.mark.parametrize(
    "ending", ["svg", "html", "txt", "cast", "md", "jsonl", "py", "typescript"]
)
@pytest.mark.sampled(3)
def test_exports_are_written_under_such_names(ending: str, cassette: Path, run: Run) -> None:
    """Their text is UTF-8, but for a typescript, which holds the output as it was."""
    run("export", cassette.name, f"{WORD}.{ending}")
    data = cassette.with_name(f"{WORD}.{ending}").read_bytes()
    if ending == "typescript":
        assert ODD in data
    else:
        data.decode()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("verify", f"no{WORD}"), 3),
        (("info", "--json", f"no{WORD}"), 3),
        ((f"no{WORD}",), 2),
        (("verify", f"--{WORD}"), 2),
        (("rec", "--size", WORD, "x", "--", "true"), 2),
        (("rec", "x", "--", f"no{WORD}"), 127),
    ],
)
def test_errors_name_it_in_utf8(words: tuple[str, ...], status: int, run: Run) -> None:
    """With the bytes as escapes: ours, or those of click."""
    assert re.search(r"\\(xe9|udce9)", run(*words, status=status).decode())


def test_use_and_record_take_them(place: Path) -> None:
    """In a test: record, replay, and compare with the program as it is now."""
    name = f"{WORD}-u.cassette"
    with record(["printf", "%s", WORD], name, title=WORD, env={"X": WORD}) as session:
        session.note({"path": WORD})
        session.set_final(session_log_path=str(place), final_text=WORD)
        session.wait_exit()
    assert recorded(place / name) == ([b"printf", b"%s", ODD], ODD)
    with use(name) as replayed:
        replayed.wait_exit()
    with use(name, mode="rerecord") as live:  # the program and its arguments are in the cassette
        live.wait_exit()


def test_a_difference_in_such_bytes_is_one(cassette: Path) -> None:
    """And its message is UTF-8."""
    with pytest.raises(DivergenceError) as caught, use(cassette) as session:  # noqa: PT012
        session.wait_for_text("|")
        session.submit("Ad\udce9")
        session.wait_exit()
    str(caught.value).encode()


@pytest.fixture(params=[False, True], ids=["one-cassette", "a-cassette-for-each-start"])
def shims(place: Path, request: pytest.FixtureRequest) -> Path:
    """A library and shims for ``printf``, in such folders; the plugin's record each start."""
    library = place / "library"
    library.mkdir()
    config = ShimConfig(library=str(library), state=str(place / "counts"), each=request.param)
    make_shims(place / f"shims{WORD}", ["printf"], config)
    return library


def test_shims_record_and_replay_them(shims: Path, place: Path) -> None:
    """Mode ``auto``: the first start records, the second plays; another argument is another one."""
    path = f"{place / f'shims{WORD}'}:{os.environ['PATH']}"
    report = place / f"{WORD}.json"
    program = str(place / f"shims{WORD}" / "printf")

    def started(word: bytes, mode: str) -> bytes:
        env = {**os.environ, "PATH": path, "PTYCASSETTE_MODE": mode}
        env["PTYCASSETTE_REPORT"] = str(report)
        done = subprocess.run(
            [program, "%s", word], env=env, capture_output=True, check=False, timeout=120
        )
        return done.stdout if done.returncode == 0 else done.stderr

    assert started(ODD, "auto") == ODD
    msgspec.json.decode(report.read_bytes())
    assert started(ODD, "replay") == ODD
    assert json.loads(report.read_bytes())["result"] == "passed"
    assert b"no cassette was recorded" in started(b"other\xe9", "replay")
    assert len(list(shims.glob("*/manifest.json"))) == 1


@pytest.mark.parametrize("how", ["argument", "-e", "inherited"])
def test_a_secret_that_is_not_utf8_is_masked_whole(how: str, place: Path, run: Run) -> None:
    """No byte of it is in the cassette, nor in the arguments."""
    secret = b"\xe9\xe8\xe0\xf9" + os.urandom(9).hex().encode() + b"\xff\xc3\xa9"
    words = ["rec", "-q", "--headless"]
    env = dict(os.environ)
    if how == "-e":
        words += ["-e", f"DB_PASSWORD={os.fsdecode(secret)}"]
    elif how == "inherited":
        env["API_TOKEN"] = os.fsdecode(secret)
    argv = ["sh", "-c", 'printf "%s\\n" "$DB_PASSWORD$API_TOKEN"']
    if how == "argument":
        argv = ["printf", "%s\\n", "--password", os.fsdecode(secret)]
    run(*words, "s.cassette", "--", *argv, env=env)

    kept = b"".join(path.read_bytes() for path in (place / "s.cassette").iterdir())
    assert secret[4:-3] not in kept
    assert secret[:4] not in kept
    assert (
        native_text(kept.decode("utf-8", "surrogateescape"))
        .encode("utf-8", "surrogateescape")
        .count(secret[:4])
        == 0
    )


ASCII = ({"PYTHONUTF8": "0"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {})


@pytest.mark.parametrize("more", ASCII, ids=str)
@pytest.mark.parametrize("coding", ["", "ascii", "latin-1"])
@pytest.mark.sampled(3)
def test_nothing_that_is_printed_fails_in_the_c_locale(
    more: dict[str, str], coding: str, place: Path, run: Run
) -> None:
    """Names and text that its encoding lacks are printed as escapes, and recorded as they are."""
    env = {**os.environ, "LC_ALL": "C", **more}
    if coding:
        env["PYTHONIOENCODING"] = coding
    name = "é✓.cassette"
    run("rec", "--headless", "--title", "✓", name, "--", "printf", "%s", "✓é", env=env)

    assert recorded(place / name)[0] == [b"printf", b"%s", "✓é".encode()]
    for words in (["verify", name], ["info", name], ["ls"], ["frames", name], ["events", name]):
        run(*words, env=env)
    run("export", name, "é✓.html", env=env)
    run("verify", "é✗", env=env, status=3)


SCRIPT = """
version = 1
[[replies]]
times = 0
text = "well"
"""
AGENT = """
import http.client, json, os, sys
from urllib.parse import urlsplit
where = urlsplit(os.environ["OPENAI_BASE_URL"])
asked = http.client.HTTPConnection(where.netloc, timeout=120)
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "how are you"}]})
asked.request("POST", where.path + "/chat/completions", body, {"authorization": "Bearer x"})
print(json.load(asked.getresponse())["choices"][0]["message"]["content"])
sys.stdout.buffer.write(os.fsencode(sys.argv[1]) + open(sys.argv[2], "rb").read())
"""


def test_a_rerun_and_a_fork_start_the_program_with_the_same_bytes(place: Path) -> None:
    """Its file, its arguments and the folder; the output is compared byte for byte."""
    pytest.importorskip("aiohttp", reason="a rerun needs the extra `provider`")
    (place / "agent.py").write_text(AGENT)
    (place / WORD).write_bytes(ODD)
    name = f"{WORD}-tape.cassette"
    argv = ("python3", "-I", "agent.py", WORD, f"{place}/{WORD}")
    taped(place, SCRIPT, name, *argv)
    assert recorded(place / name)[1] == b"well\r\n" + ODD + ODD

    given = ("--trust", "--cwd", str(place), name)
    ran = ptycassette("rerun", *given, cwd=place)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    change = ("--at", "tape:1", "--change", "response=other", "-o", "f.cassette")
    ran = ptycassette("fork", *given, *change, cwd=place)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert recorded(place / "f.cassette")[1] == b"other\r\n" + ODD + ODD
