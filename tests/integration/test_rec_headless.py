"""``rec`` and ``recover`` as commands, without a user's terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ptycassette import open_cassette
from ptycassette.cli import main
from ptycassette.model.records import Harness, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.session.session import Session
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.testing import fixed_id

pytestmark = pytest.mark.integration

CLI = [sys.executable, "-c", "import sys; from ptycassette.cli import main; sys.exit(main())"]


def run(
    folder: Path, *words: str, typed: bytes | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A command in ``folder``; ``typed`` on its stdin, else nothing."""
    return subprocess.run(
        [*CLI, *words],
        cwd=folder,
        input=typed,
        stdin=subprocess.DEVNULL if typed is None else None,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=120,
        check=False,
    )


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A command in ``folder`` with nothing on its stdin; whoever calls waits for it."""
    return subprocess.Popen(
        [*CLI, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def shell(code: str) -> tuple[str, ...]:
    """Words that record a script."""
    return ("c", "--", "sh", "-c", code)


ENDS: dict[str, tuple[tuple[str, ...], int, bytes, bytes | None]] = {
    # Words of ``rec``; the status, which is the program's own, or 128 and the number of the
    # signal; what is on stdout; and what is said on stderr, None where nothing is.
    "a program that ends well": (shell("echo hi"), 0, b"hi\r\n", b"saved c"),
    "a program that fails": (shell("echo hi; exit 9"), 9, b"hi\r\n", b"saved c"),
    "a program that is killed": (shell("echo hi; kill -TERM $$"), 143, b"hi\r\n", b"saved c"),
    "a program without a word": (shell("exit 0"), 0, b"", b"saved c"),
    "a program that fails without a word": (shell("exit 3"), 3, b"", b"saved c"),
    "quiet": (("-q", "c", "--", "echo", "hi"), 0, b"", None),
    # What follows CASSETTE is the program's.
    "options of the program need no dashes": (
        ("c", "sh", "-c", "echo $1", "x", "--title"), 0, b"--title\r\n", b"saved c"),
    # ``-c`` is for one string.
    "a command line is split without a shell": (
        ("-c", "echo 'a b' $HOME", "c"), 0, b"a b $HOME\r\n", b"saved c"),
    "the user's shell is recorded without argv": (("c",), 0, b"my shell\r\n", b"saved c"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_it_prints_what_the_program_printed_and_ends_as_it_did(tmp_path: Path, case: str) -> None:
    """So that a job can go on with what the program said; the cassette is whole."""
    words, status, printed, said = ENDS[case]
    mine = tmp_path / "shell"
    mine.write_text("#!/bin/sh\necho my shell\n")
    mine.chmod(0o755)
    done = run(tmp_path, "rec", *words, env={"SHELL": str(mine)})

    assert (done.returncode, done.stdout) == (status, printed)
    assert (done.stderr == b"") if said is None else (said in done.stderr)
    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()).startswith(printed)


TAKING_TURNS = r"""
import sys, time
def tell(state): print(f"\x1b]7501;state={state}\x07", end="", flush=True)
tell("idle")
for line in sys.stdin:
    tell("working")
    print("thinking", flush=True)
    time.sleep(1.2)
    print("answer to", line.strip(), flush=True)
    tell("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("project", "named", "status"),
    [
        ("[scrub]\nknown_evn = ['A']\n", "", 2),
        ("[scrub]\n[[scrub.rules]]\nname = 'x'\npattern = '('\n", "", 2),
        ("", "ptycassette.toml", 0),
        ("[scrub]\nknown_evn = ['A']\n", "ptycassette.toml", 2),
        ("", "nosuch.toml", 3),
    ],
)
def test_rules_for_scrubbing_are_read_before_the_program_runs(
    project: str, named: str, status: int, tmp_path: Path
) -> None:
    """A session of an hour does not end with a typo in them."""
    (tmp_path / "ptycassette.toml").write_text(project)
    environment = {
        "PTYCASSETTE_SCRUB_CONFIG": named,
        "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"),
        "PTYCASSETTE_PROJECT": str(tmp_path / "none.toml") if named else "",
    }
    (tmp_path / "none.toml").touch()
    done = run(tmp_path, "rec", *shell("touch ran"), env=environment)

    assert done.returncode == status, done.stderr
    assert (tmp_path / "ran").exists() is (status == 0)
    assert not list(tmp_path.glob("state/journals/*.journal"))


@pytest.mark.parametrize("variable", ["PYTHONFAULTHANDLER", "PYTHONDEVMODE"])
@pytest.mark.parametrize("way", ["--headless", "--pipes", "--as-given", "terminal"])
def test_handlers_of_signals_that_are_not_of_python_do_no_harm(
    way: str, variable: str, tmp_path: Path
) -> None:
    """Images of containers often set PYTHONFAULTHANDLER."""
    words = [*CLI, "rec", *([] if way == "terminal" else [way]), *shell("echo hi; exit 9")]
    environment = {**os.environ, variable: "1", "PYTHONWARNINGS": "ignore"}
    if way == "terminal":
        with Session(words, base_env=environment, cwd=tmp_path, clean_env=False) as session:
            status = session.wait_exit(timeout_s=60)
        assert status is not None
        assert status.code == 9
    else:
        done = run(tmp_path, *words[len(CLI) :], env=environment)
        assert (done.returncode, b"internal error" in done.stderr) == (9, False)
    assert (tmp_path / "c" / "manifest.json").exists()


def test_a_script_waits_for_its_turn(tmp_path: Path) -> None:
    """Through a silence in which the screen looks settled, and no longer than it has to."""
    (tmp_path / "turns.py").write_text(TAKING_TURNS)
    (tmp_path / "script").write_text(
        'wait-idle\ntype "one\\n"\nwait-idle 100ms\ntype "two\\n"\nwait-idle 600s\nkey ctrl-d\n'
    )
    began = time.monotonic()
    done = run(
        tmp_path, "rec", "c", "--headless", "--input", "script", "--", sys.executable, "turns.py"
    )
    with open_cassette(tmp_path / "c") as cassette:
        text = [row for row in list(cassette.frames())[-1].text if row]

    assert done.returncode == 0, done.stderr
    assert text.index("answer to one") < text.index("two")
    assert time.monotonic() - began < 300


ASKING = r"""
import os, select, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\x1b[c\x1b[6n")
got = b""
while select.select([0], [], [], 1.0)[0]:
    got += os.read(0, 1000)
termios.tcsetattr(0, termios.TCSANOW, old)
print("got", repr(got))
"""
PROFILE = """
name = "mine"
unanswered = ["cpr"]
extends = "xterm"
[answers]
da1 = "\\u001b[?1;2c"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ((), b"\x1b[?62;22c\x1b[1;1R"),
        (("--answers", "dumb"), b""),
        (("--answers", "mine.toml"), b"\x1b[?1;2c"),
        (("--emulator", "pyte", "--answers", "./mine.toml"), b"\x1b[?1;2c"),
    ],
)
def test_questions_to_the_terminal_are_answered_by_a_profile(
    tmp_path: Path, options: tuple[str, ...], answers: bytes
) -> None:
    """And what was answered is on the record."""
    (tmp_path / "ask.py").write_text(ASKING)
    (tmp_path / "mine.toml").write_text(PROFILE)
    (tmp_path / "wait").write_text("wait-exit\n")
    options = ("--input", "wait", *options)
    done = run(tmp_path, "rec", *options, "c", "--", sys.executable, "ask.py")
    with open_cassette(tmp_path / "c") as cassette:
        events = list(cassette.events())
    typed = b"".join(
        event.data for event in events if getattr(event.record, "source", None) == "terminal"
    )

    assert f"got {answers!r}".encode() in done.stdout
    assert typed == answers


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--answers", "vt52"), b"there are: xterm, dumb"),
        (("--answers", "no/such"), b"there is no such file"),
        (("--answers", "bad.toml"), b"no profile of answers"),
        (("--emulator", "vt52"), b"there are: pyte"),
    ],
)
def test_an_unknown_terminal_is_refused_before_anything_starts(
    tmp_path: Path, options: tuple[str, ...], said: bytes
) -> None:
    """With what there is."""
    (tmp_path / "bad.toml").write_text("name = 1")
    done = run(tmp_path, "rec", *options, "c", "--", "touch", "started")

    assert said in done.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.slow
def test_piped_input_reaches_the_program_up_to_its_end(tmp_path: Path) -> None:
    """The end is ctrl-d, as at a terminal, and all of it is on the record as the user's."""
    done = run(tmp_path, "rec", "c", "--", "sh", "-c", "cat; echo over", typed=b"one\ntwo\n")

    with open_cassette(tmp_path / "c") as cassette:
        inputs = [(record.bytes, record.source, record.key) for record in cassette.inputs()]
    assert done.returncode == 0
    assert inputs == [(b"one\ntwo\n", "user", None), (b"\x04", "user", "ctrl-d")]


@pytest.mark.parametrize("typed", [b"say hi", b"z" * 5000 + b"\n", b"z" * 20000])
def test_piped_input_is_no_line_of_a_terminal(tmp_path: Path, typed: bytes) -> None:
    """It needs no newline at its end, and may be longer than a terminal's line."""
    done = run(tmp_path, "rec", "-q", "c", "--", "wc", "-c", typed=typed)

    with open_cassette(tmp_path / "c") as cassette:
        output = b"".join(cassette.raw())
    assert done.returncode == 0
    assert output.endswith(b"%d\r\n" % len(typed))


@pytest.mark.slow
def test_end_of_a_pipe_is_each_ctrl_d_at_the_end(tmp_path: Path) -> None:
    """A stand-in whose stdin is the same pipe plays such a recording to its end."""
    run(tmp_path, "rec", "-q", "c", "--", "cat", typed=b"say hi")
    played = run(tmp_path, "stand-in", "c", typed=b"say hi")

    assert played.returncode == 0


@pytest.mark.slow
def test_a_program_that_waits_for_input_ends_where_there_is_none(tmp_path: Path) -> None:
    """In a job with /dev/null as stdin nothing hangs for ever."""
    done = run(tmp_path, "rec", "c", "--", "sh", "-c", "cat; echo over")

    assert done.returncode == 0
    assert b"over" in done.stdout


@pytest.mark.slow
def test_options_may_follow_the_cassette_before_the_dashes(tmp_path: Path) -> None:
    """As asciinema users write it."""
    run(tmp_path, "rec", "c", "--title", "late", "--", "echo", "hi")

    with open_cassette(tmp_path / "c") as cassette:
        assert (cassette.manifest.optional or {})["title"] == "late"


@pytest.mark.slow
def test_everything_that_can_be_said_is_in_the_manifest(tmp_path: Path) -> None:
    """Title, size, resolution, idle limit, id, harness, meta; of the environment names only."""
    value = "Zq8vT1" + "4Lx9Rw"[::-1] + "mKp2"
    done = run(
        tmp_path, "rec", "--title", "T", "--size", "100x30", "--resolution-ms", "100",
        "--idle-limit", "2", "--id", fixed_id(9), "--harness", "agent", "--account-class", "pro",
        "--freshness", "24h", "--permission-mode", "ask", "--meta", "n=1", "--meta", "s=x y",
        "--env", f"API_TOKEN={value}", "--clean-env", "--frame-policy", "final", "--timeout", "30",
        "--service-event", '{"at": "start"}', "--account", "me", "--require", "true",
        "--durability", "disk", "--cwd", "/", "c", "--",
        "sh", "-c", "stty size; pwd; echo $API_TOKEN",
    )  # fmt: skip

    with open_cassette(tmp_path / "c") as cassette:
        manifest = cassette.manifest
        (frame,) = cassette.frames()
        notes = [record.payload for record in cassette.service_events()]
    everything = b"".join(path.read_bytes() for path in (tmp_path / "c").iterdir())
    optional = manifest.optional or {}
    assert done.stdout.startswith(b"30 100\r\n/\r\n")
    assert manifest.id == fixed_id(9)
    assert (manifest.terminal.initial_cols, manifest.timing.resolution_ms) == (100, 100)
    assert (manifest.harness.name, manifest.harness.account_class) == ("agent", "pro")
    assert (manifest.harness.freshness_window, manifest.command.permission_mode) == ("24h", "ask")
    assert (optional["title"], optional["idle_limit_ms"]) == ("T", 2000)
    assert (optional["meta"], notes) == ({"n": 1, "s": "x y"}, [{"at": "start"}])
    assert frame.t_ms % 100 == 0
    assert value.encode() not in everything


def test_unscrubbed_is_only_on_demand_and_says_so(tmp_path: Path) -> None:
    """Readers refuse it unless they are told."""
    value = "Zq8vT1" + "xLp4Km" + "9Rw2"
    words = ("sh", "-c", "echo $TOKEN")
    run(tmp_path, "rec", "--env", f"TOKEN={value}", "--no-scrub", "c", "--", *words)

    assert value.encode() in (tmp_path / "c" / "output.raw").read_bytes()
    assert run(tmp_path, "cat", "c").returncode == 4
    assert json.loads((tmp_path / "c" / "scrub-report.json").read_bytes())["status"] == "unscrubbed"


@pytest.mark.slow
def test_a_script_types_and_waits(tmp_path: Path) -> None:
    """Without a single sleep."""
    (tmp_path / "steps").write_text(
        "timeout 60s\nwait-regex bash.*[$#]\nsubmit echo sum $((40+2))\nwait-text sum 42\n"
        "resize 90x20\n"
        'submit stty size\nwait-regex 20 90\\s+bash.*[$#]\nnote {"n": 1}\nkey ctrl-d\nwait-exit\n'
    )
    done = run(tmp_path, "rec", "--input", "steps", "c", "--", "bash", "--norc")
    assert done.returncode == 0, done.stderr

    with open_cassette(tmp_path / "c") as cassette:
        keys = [record.key for record in cassette.inputs() if record.key]
    assert keys == ["enter", "enter", "ctrl-d"]


@pytest.mark.slow
def test_a_script_that_waits_in_vain_leaves_a_diagnostic(tmp_path: Path) -> None:
    """The message names the line and shows the screen."""
    (tmp_path / "steps").write_text("timeout 500ms\nwait-text never\n")
    done = run(tmp_path, "rec", "--input", "steps", "c", "--", "sh", "-c", "echo here; cat")

    assert done.returncode == 125
    assert b"script line 2" in done.stderr
    assert b"| here" in done.stderr
    assert (tmp_path / "c.diagnostic" / "output.raw").read_bytes() == b"here\r\n"
    assert not (tmp_path / "c").exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("rec", "c", "--", "nosuch"), 127, b"no such program"),
        (("rec", "c", "--", "/etc/passwd"), 126, b"not executable"),
        (("rec", "no/c", "--", "true"), 6, b"mkdir -p"),
        (("rec", "--require", "false", "c", "--", "true"), 6, b"requirement false failed"),
        (("rec", "c", "--", "echo a"), 127, b"words of their own: -- echo a"),
        (("rec", "--timeout", "0.3", "c", "--", "sleep", "9"), 125, b"timeout"),
    ],
)
def test_what_goes_wrong_is_told(
    tmp_path: Path, words: tuple[str, ...], status: int, said: bytes
) -> None:
    """With a status of its own kind, and no cassette."""
    done = run(tmp_path, *words)

    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "case",
    [
        (("rec", "--size", "big", "c"), 2, "is not a size"),
        (("rec", "--id", "x", "c"), 2, "not a UUID"),
        (("rec", "--env", "x", "c"), 2, "NAME=VALUE"),
        (("rec", "--service-event", "{", "c"), 2, "takes JSON"),
        (("rec", "-c", "x", "c", "y"), 2, "not both"),
        (("rec", "-c", "'", "c"), 2, "No closing"),
        (("rec", "-c", "", "c"), 2, "empty"),
        (("rec", "-c", "a | b", "c"), 2, "| needs a shell"),
        (("rec", "-c", "a 2>&1", "c"), 2, "sh -c 'a 2>&1'"),
        (("rec", "--input", "none", "c"), 3, "there is no such file"),
        (("recover", "none"), 3, "no such journal"),
        (("recover", "--all", "x"), 2, "not both"),
        (("recover", "--list", "x"), 2, "neither JOURNAL nor --all"),
        (("recover", "--all", "-o", "x"), 2, "one JOURNAL"),
    ],
)
def test_misuse_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    case: tuple[tuple[str, ...], int, str],
) -> None:
    """Before a program is started."""
    words, status, said = case
    monkeypatch.chdir(tmp_path)

    assert main(words) == status
    assert said in capfd.readouterr().err
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("script", [None, "wait-text never\n"])
def test_a_job_that_is_cancelled_saves_what_it_recorded(
    tmp_path: Path, number: int, script: str | None
) -> None:
    """The program is ended, the recording saved, and the status is that of the signal."""
    words = ["rec", "c", "--", "sh", "-c", "echo before; sleep 60"]
    if script is not None:
        (tmp_path / "script").write_text(script)
        words[1:1] = ["--input", "script"]
    job = start(tmp_path, *words)
    assert job.stdout is not None
    shown = job.stdout.readline()
    job.send_signal(number)
    job.communicate(timeout=120)

    assert (shown.rstrip(), job.returncode) == (b"before", 128 + number)
    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()) == b"before\r\n"


def test_overwrite_replaces_what_is_there(tmp_path: Path) -> None:
    """And without it nothing is started."""
    run(tmp_path, "rec", "c", "--", "echo", "one")
    refused = run(tmp_path, "rec", "c", "--", "touch", "ran")
    run(tmp_path, "rec", "--overwrite", "c", "--", "echo", "two")

    assert (refused.returncode, (tmp_path / "ran").exists()) == (6, False)
    assert run(tmp_path, "cat", "c").stdout == b"two\r\n"


def test_queries_of_the_program_are_answered_and_recorded(tmp_path: Path) -> None:
    """Without a terminal the recorder stands in for one."""
    code = (
        "import sys, tty; tty.setraw(0); sys.stdout.write('\\x1b[6n'); sys.stdout.flush();"
        "print(repr(sys.stdin.read(6)))"
    )
    done = run(tmp_path, "rec", "c", "--", sys.executable, "-c", code)

    with open_cassette(tmp_path / "c") as cassette:
        (answer,) = [record for record in cassette.inputs() if record.source == "terminal"]
    assert done.returncode == 0
    assert answer.bytes == b"\x1b[1;1R"


def crash(folder: Path, *, target: str = "c", output: bytes = b"hello\r\n") -> Path:
    """A journal as a crash leaves it."""
    meta = SessionMeta(
        id=fixed_id(ord(target[0])),
        argv=("sh",),
        size=Size(5, 20),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        os="linux",
        arch="amd64",
        recorder_version="test",
        target=str(folder / target),
    )
    journal = JournalFile(meta, directory=journal_dir())
    journal.on_output(1_000, output)
    journal.close()
    return journal.path


@pytest.mark.slow
def test_recover_lists_and_recovers(tmp_path: Path) -> None:
    """List first, then all, then nothing is left."""
    path = crash(tmp_path)
    crash(tmp_path, target="d")
    listed = run(tmp_path, "recover")
    done = run(tmp_path, "recover", "--all")
    again = run(tmp_path, "recover", "--all")

    assert str(path).encode() in listed.stdout
    assert done.stdout.count(b"recovered, 7 B of output") == 2
    assert b"nothing to recover" in again.stdout
    assert run(tmp_path, "cat", "d").stdout == b"hello\r\n"


@pytest.mark.slow
def test_recover_speaks_json(tmp_path: Path) -> None:
    """One object for the list, one for what was done."""
    path = crash(tmp_path)
    listed = json.loads(run(tmp_path, "recover", "--json").stdout)
    done = json.loads(run(tmp_path, "recover", "--json", str(path), "none").stdout)

    assert [left["state"] for left in listed["journals"]] == ["crashed"]
    assert [one["outcome"] for one in done["recovered"]] == ["published"]
    assert [one["error"] for one in done["failed"]] == ["NotFoundError"]


def test_one_that_cannot_be_recovered_does_not_keep_the_others_from_it(tmp_path: Path) -> None:
    """The status tells that something failed."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine").touch()
    crash(tmp_path)
    crash(tmp_path, target="d")
    done = run(tmp_path, "recover", "--all")

    assert done.returncode == 6
    assert (tmp_path / "d" / "manifest.json").exists()


def test_recover_to_another_place(tmp_path: Path) -> None:
    """With ``--output``."""
    path = crash(tmp_path)
    run(tmp_path, "recover", str(path), "-o", "elsewhere")

    assert run(tmp_path, "cat", "elsewhere").stdout == b"hello\r\n"


@pytest.mark.slow
def test_a_recording_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    """It is listed as live, and ``--all`` does not touch it."""
    words = [*CLI, "rec", "-q", "c", "--", "sh", "-c", "echo up; sleep 60"]
    recorder = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.DEVNULL)
    try:
        while not any(b"up" in path.read_bytes() for path in journal_dir().glob("*.journal")):
            time.sleep(0.01)
        listed = json.loads(run(tmp_path, "recover", "--json").stdout)
        done = run(tmp_path, "recover", "--all")
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()

    assert [left["state"] for left in listed["journals"]] == ["live"]
    assert b"nothing to recover" in done.stdout


def test_a_journal_can_be_decoded_by_its_description(tmp_path: Path) -> None:
    """The head is msgpack, so that another program could read it."""
    path = crash(tmp_path)
    content = path.read_bytes()
    length = int.from_bytes(content[20:24], "little")
    head = msgspec.msgpack.decode(content[37 : 37 + length])

    assert head["argv"] == ["sh"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--harness", "codx", "c", "--", "true"), 3),
        (("--harness", "codx", "c", "-c", "true x"), 3),
        (("--harness", "mycli", "c"), 3),  # nothing says what to start, and a shell is not meant
        (("--harness", "./codx.toml", "c", "--", "true"), 3),
        (("--harness", "mycli", "c", "--", "echo", "x"), 0),
        (("--harness", "codx", "c", "--", "./codx", "x"), 0),
    ],
)
def test_a_harness_without_a_profile(words: tuple[str, ...], status: int, tmp_path: Path) -> None:
    """Is a name for the manifest; a mistyped name, or one without a program, is an error."""
    (tmp_path / "codx").symlink_to("/bin/echo")
    ran = run(tmp_path, "rec", "-q", "--headless", *words)

    assert ran.returncode == status, ran.stderr
    assert (tmp_path / "c").exists() == (status == 0)
    assert (b"did you mean codex?" in ran.stderr) == (status == 3 and words[1] == "codx")
