"""Secrets that are typed, in every way of recording: nothing of them is left anywhere."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import signal
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

from ptycassette import Session, arecord, open_cassette, record, use
from ptycassette.errors import DivergenceError, WaitTimeoutError
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.system.pty.process import PURE_PYTHON

pytestmark = pytest.mark.integration

SECRET = "Zx4RkB9s" + "-p7"
WAIT_S = 120
MAIN = "import sys; from ptycassette.cli import main; sys.exit(main())"
REC = [sys.executable, "-c", MAIN, "rec"]

Way = Callable[[Path, list[str], str, str], Path]
"""Records a program into a folder: the text of its prompt, what is typed; where the cassette is."""


def python(code: str) -> list[str]:
    """A program in Python."""
    return [sys.executable, "-u", "-c", code]


# Prompts that name no secret, where the modes of the terminal must tell.
GETPASS = python("import getpass; p = getpass.getpass('Answer? '); print('you typed', p)")
READ_S = ["bash", "-c", "stty -echo; read -s -p 'Answer? ' p; echo; echo you typed $p"]
STARS = """
import sys, termios, tty
tty.setcbreak(0)
modes = termios.tcgetattr(0)
modes[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, modes)
print("{prompt}", end="", flush=True)
typed = ""
while (char := sys.stdin.read(1)) not in "\\r\\n":
    typed = typed[:-1] if char == "\\x7f" else typed + char
    print("\\b \\b" if char == "\\x7f" else "{sign}", end="", flush=True)
print("\\nyou typed", typed)
"""
UNNAMED = python(STARS.format(prompt="Answer? ", sign="•"))
NAMED = python(STARS.format(prompt="[sudo] password for me, Answer? ", sign=""))
PROGRAMS = {"getpass": GETPASS, "read -s": READ_S, "signs": UNNAMED, "named": NAMED}


# -- ways of recording -------------------------------------------------------------------


def by_script(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``rec --input``."""
    steps = f"timeout 60s\nwait-text {prompt}\ntype {json.dumps(keys)}\nwait-exit\n"
    (folder.parent / "steps").write_text(steps)
    words = ["--input", str(folder.parent / "steps"), str(folder / "c"), "--", *argv]
    subprocess.run([*REC, *words], check=True, capture_output=True, timeout=WAIT_S)
    return folder / "c"


def by_pipe(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """Standard input of ``rec`` is a pipe; typed when the prompt is there."""
    with subprocess.Popen(
        [*REC, str(folder / "c"), "--", *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        shown = b""
        while prompt.encode() not in shown:
            shown += os.read(process.stdout.fileno(), 4096)
        process.stdin.write(keys.encode())
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0
    return folder / "c"


def by_record(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``record()``."""
    with record(argv, folder / "c", clean_env=False) as session:
        session.wait_for_text(prompt, timeout_s=WAIT_S)
        session.type(keys)
        session.wait_exit(timeout_s=WAIT_S)
    return folder / "c"


def by_keys(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``record()``, key by key."""
    with record(argv, folder / "c", clean_env=False) as session:
        session.wait_for_text(prompt, timeout_s=WAIT_S)
        for char in keys:
            session.type(char)
        session.wait_exit(timeout_s=WAIT_S)
    return folder / "c"


def by_arecord(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``arecord()``."""

    async def perform() -> None:
        async with arecord(argv, folder / "c") as session:
            await session.wait_for_text(prompt, timeout_s=WAIT_S)
            await session.type(keys)
            await session.wait_exit(timeout_s=WAIT_S)

    asyncio.run(perform())
    return folder / "c"


def by_use(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``use()`` in mode record."""
    with use(folder / "c", argv, mode="record") as session:
        session.wait_for_text(prompt, timeout_s=WAIT_S)
        session.type(keys)
        session.wait_exit(timeout_s=WAIT_S)
    return folder / "c"


def in_terminal(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """``rec`` in a user's terminal."""
    with terminal(folder, argv) as user:
        user.expect_exact(prompt)
        user.send(keys)
        user.expect_exact("saved")
        user.expect(pexpect.EOF)
    return folder / "c"


def in_terminal_python(folder: Path, argv: list[str], prompt: str, keys: str) -> Path:
    """The same without the compiled loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE_PYTHON, "1")
        return in_terminal(folder, argv, prompt, keys)


WAYS: dict[str, Way] = {
    "--input": by_script, "pipe": by_pipe, "record": by_record, "keys": by_keys,
    "arecord": by_arecord, "use": by_use, "terminal": in_terminal,
    "terminal, python": in_terminal_python,
}  # fmt: skip


class Terminal(pexpect.spawn):  # type: ignore[misc, type-arg, unused-ignore]
    """A user's terminal in which ``rec`` runs; closed at the end of the block."""

    def __exit__(self, *_: object) -> None:
        self.close(force=True)


def terminal(folder: Path, argv: list[str], *options: str) -> Terminal:
    """Start ``rec`` in one."""
    words = [*REC[1:], *options, str(folder / "c"), "--", *argv]
    user = Terminal(sys.executable, words, timeout=WAIT_S, dimensions=(24, 80))
    user.delaybeforesend = None
    return user


# -- what is left ------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where everything goes that is looked through."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


OURS = re.compile(
    r'"(?:seq|t_ms|t_us|duration_ms|offset|length|bytes|raw_start|raw_end|parser_offset)":\s*\d+'
    r"|\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
"""Numbers, digests and ids of the recorder, and the commit of the repository.

Any of them may contain the digits of a PIN.
"""


def texts_in(folder: Path) -> Iterator[tuple[str, str]]:
    """What programs and people wrote into a folder, as text; what is in base64 decoded as well."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        whole = path.read_bytes().decode("utf-8", "replace")
        text = OURS.sub("", whole)
        yield path.name, text
        yield path.name, text.encode().decode("unicode_escape", "replace")
        if path.name == "input.jsonl":
            records = [json.loads(line) for line in whole.splitlines()]
            typed = b"".join(base64.b64decode(one.get("bytes", "")) for one in records)
            yield f"{path.name}, decoded", typed.decode("utf-8", "replace")


def leaks(folder: Path, *values: str) -> list[str]:
    """Where any of the values is left."""
    found = {name for name, text in texts_in(folder) if any(value in text for value in values)}
    return sorted(found)


# -- the tests ---------------------------------------------------------------------------


def test_a_leak_would_be_seen(folder: Path) -> None:
    """The search finds what is there."""
    by_record(folder, ["sh", "-c", "read line"], "", "\n")
    (folder / "input.jsonl").write_text(
        json.dumps({"bytes": base64.b64encode(SECRET.encode()).decode()})
    )
    (folder / "frames.jsonl").write_text(json.dumps(["p\u00e4ss"]))

    assert leaks(folder, SECRET, "p\u00e4ss") == ["frames.jsonl", "input.jsonl, decoded"]


def test_a_moment_that_contains_the_digits_of_a_pin_is_no_leak(folder: Path) -> None:
    """The recorder chose it; what somebody typed is still found."""
    (folder / "input.jsonl").write_text('{"seq":3,"t_ms":154,"bytes":"Kg==","t_us":154937}\n')
    (folder / "frames.jsonl").write_text('{"seq":4,"t_us":1,"text":["PIN 4937"]}\n')
    (folder / "manifest.json").write_text(json.dumps({"commit": "4937" * 10}))

    assert leaks(folder, "4937") == ["frames.jsonl"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_typed_secret_is_left_nowhere(folder: Path, way: str, name: str) -> None:
    """Whoever types it, and however the program reads it; the program shows it afterwards."""
    path = WAYS[way](folder, PROGRAMS[name], "Answer? ", SECRET + "\n")
    with open_cassette(path) as cassette:
        shown = b"".join(cassette.raw())
        typed = [(one.bytes, one.masked) for one in cassette.inputs() if one.source != "terminal"]

    assert leaks(folder, SECRET) == []
    assert b"you typed xxx" in shown
    assert b"".join(data or b"" for data, masked in typed if masked).rstrip() == b"*" * len(SECRET)


EDITED = {
    "rubout": ("4RkB9sX\x7fp1q", ["4RkB9s", "p1q"]),
    "ctrl-u": ("wrong-pw\x15right-pw9", ["wrong-pw", "right-pw9"]),
    "ctrl-w": ("first wrong\x17right-2", ["right-2", "wrong", "first right"]),
    "four characters": ("9f#K", ["9f#K"]),
    "a PIN": ("4937", ["4937"]),
    "other letters": ("pässwörd-ü", ["pässwörd"]),
    "wide letters": ("密码密码密码", ["密码密码"]),
    "several words": ("correct horse battery", ["correct horse", "horse battery"]),
    "a token": ("sk-ant-api03-" + "Q7x" * 10, ["Q7xQ7xQ7x"]),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", ["record", "keys", "terminal"])
@pytest.mark.parametrize("case", EDITED)
def test_an_edited_secret_is_left_nowhere(folder: Path, way: str, case: str) -> None:
    """As it was meant, and what was typed on the way there."""
    keys, values = EDITED[case]
    WAYS[way](folder, GETPASS, "Answer? ", keys + "\n")

    assert leaks(folder, *values) == []


@pytest.mark.parametrize("argv", [UNNAMED, NAMED])
def test_a_field_with_rubouts_is_left_nowhere(folder: Path, argv: list[str]) -> None:
    """The program paints signs, and takes some away again."""
    by_keys(folder, argv, "Answer? ", "4RkB9sX\x7f\x7fp1q\n")

    assert leaks(folder, "4RkB9", "4RkB9sX", "p1q") == []


def test_a_pasted_secret_is_left_nowhere(folder: Path) -> None:
    """Bracketed or not."""
    with record(GETPASS, folder / "c") as session:
        session.wait_for_text("Answer? ", timeout_s=WAIT_S)
        session.paste(SECRET)
        session.send_key("enter")
        session.wait_exit(timeout_s=WAIT_S)

    assert leaks(folder, SECRET) == []


@pytest.mark.parametrize("pause", ["", "sleep 0.5; "])
def test_a_secret_that_is_piped_in_at_once_is_left_nowhere(folder: Path, pause: str) -> None:
    """Before the prompt appears: it is echoed, and the prompt and the answer may come as one."""
    program = f'{pause}read -s -p "API token: " x; echo; echo "got $x"; sleep 0.1'
    subprocess.run(
        [*REC, str(folder / "c"), "--", "bash", "-c", program],
        input=f"{SECRET}\n".encode(),
        check=True,
        capture_output=True,
        timeout=WAIT_S,
    )

    assert leaks(folder / "c", SECRET) == []


def test_two_prompts_and_ordinary_input_between_are_told_apart(folder: Path) -> None:
    """What is not secret stays readable."""
    code = (
        "import getpass\na = getpass.getpass('First? ')\nb = input('Name? ')\n"
        "c = getpass.getpass('Second? ')\nprint(a, b, c)"
    )
    with record(python(code), folder / "c") as session:
        for prompt, text in (("First? ", SECRET), ("Name? ", "alice"), ("Second? ", "swordf1sh")):
            session.wait_for_text(prompt, timeout_s=WAIT_S)
            session.type(text + "\n")
        session.wait_exit(timeout_s=WAIT_S)

    assert leaks(folder, SECRET, "swordf1sh") == []
    assert "frames.jsonl" in leaks(folder, "alice")


def test_dialog_hides_what_is_typed(folder: Path, program: Callable[[str], str]) -> None:
    """A password box of curses, in which nothing appears."""
    box = f"{program('dialog')} --passwordbox 'Your passphrase' 9 40"
    code = f"exec 3>&1; p=$({box} 2>&1 1>&3); clear; echo you typed $p"
    by_record(folder, ["bash", "-c", code], "passphrase", SECRET + "\n")

    assert leaks(folder, SECRET) == []


@pytest.mark.parametrize("way", ["record", "keys", "--input"])
@pytest.mark.parametrize("name", ["dialog", "dialog --insecure", "whiptail"])
def test_a_box_without_a_telling_name_hides_what_is_typed(
    folder: Path, program: Callable[[str], str], name: str, way: str
) -> None:
    """Also where signs and screen are gone by the time the program has written its answer."""
    command = name.split()
    box = " ".join([program(command[0]), *command[1:], "--passwordbox 'Enter it' 9 40"])
    code = f"exec 3>&1; p=$({box} 2>&1 1>&3); clear; echo you typed $p"
    WAYS[way](folder, ["bash", "-c", code], "Enter it", SECRET + "\r")

    assert leaks(folder, SECRET) == []


def test_a_box_for_text_hides_nothing(folder: Path, program: Callable[[str], str]) -> None:
    """Its text is shown."""
    code = f"exec 3>&1; p=$({program('dialog')} --inputbox 'Enter it' 9 40 2>&1 1>&3)"
    by_record(folder, ["bash", "-c", code], "Enter it", "blue-green\r")

    assert "input.jsonl, decoded" in leaks(folder, "blue-green")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("message", ["Password: ", "unlock> ", "Enter your API key\n> "])
@pytest.mark.parametrize("keys", [SECRET, "ter-22x" + "\x1b[D" * 7 + "hun"])
def test_prompt_toolkit_hides_what_is_typed(folder: Path, message: str, keys: str) -> None:
    """Signs in raw mode, and cursor keys that the program obeys."""
    toolkit = pytest.importorskip("prompt_toolkit")
    where = str(Path(toolkit.__file__).parent.parent)
    code = (
        f"import sys; sys.path.append({where!r})\nfrom prompt_toolkit import prompt\n"
        f"print('you typed', prompt({message!r}, is_password=True))"
    )
    by_keys(folder, python(code), message.splitlines()[-1], keys + "\n")

    assert leaks(folder, SECRET, "hunter-22x", "ter-22xhun", "ter-22x") == []


# -- a crash, a failure ------------------------------------------------------------------


@pytest.mark.parametrize("kill", ["rec", "record"])
def test_recover_knows_what_was_typed(folder: Path, kill: str) -> None:
    """After kill -9 only the journal knows."""
    code = "import getpass; p = getpass.getpass('Answer? '); print('you typed', p); input('on> ')"
    if kill == "rec":
        user = terminal(folder, python(code))
    else:
        driver = (
            "import sys\nfrom ptycassette import record\n"
            f"with record({python(code)!r}, {str(folder / 'c')!r}) as session:\n"
            f"    session.wait_for_text('Answer? ')\n    session.type({SECRET!r} + '\\n')\n"
            "    session.wait_for_text('on> ')\n    print('on> ', flush=True)\n    input()\n"
        )
        user = Terminal(sys.executable, ["-c", driver], timeout=WAIT_S)
    with user:
        if kill == "rec":
            user.expect_exact("Answer? ")
            user.send(SECRET + "\r")
        user.expect_exact("on> ")
        assert user.pid is not None
        os.kill(user.pid, signal.SIGKILL)
        user.expect(pexpect.EOF)
    (left,) = [one for one in left_journals(journal_dir()) if one.state == "crashed"]
    told = recover(Path(left.path))

    assert (told.outcome, leaks(folder, SECRET)) == ("published", [])
    assert b"you typed xxx" in (folder / "c" / "output.raw").read_bytes()


def test_a_diagnostic_holds_no_typed_secret(folder: Path) -> None:
    """The driver fails after the program has shown it, and says it, too."""
    with suppress(WaitTimeoutError), record(GETPASS, folder / "c") as session:
        session.wait_for_text("Answer? ", timeout_s=WAIT_S)
        session.type(SECRET + "\n")
        session.wait_for_text("you typed", timeout_s=WAIT_S)
        raise WaitTimeoutError(f"it said {SECRET}")

    assert (folder / "c.diagnostic" / "diagnostic.json").exists()
    assert leaks(folder, SECRET) == []


@pytest.mark.slow
def test_a_timeout_leaves_no_typed_secret(folder: Path) -> None:
    """The run fails, and its diagnostic is written from the journal."""
    code = "import getpass; print('got', getpass.getpass('Answer? '), flush=True); input()"
    steps = f"wait-text Answer?\ntype {json.dumps(SECRET)}\nkey enter\nwait-text never\n"
    (folder.parent / "steps").write_text(f"timeout 2s\n{steps}")
    words = ["--input", str(folder.parent / "steps"), str(folder / "c"), "--", *python(code)]
    done = subprocess.run([*REC, *words], check=False, capture_output=True, timeout=WAIT_S)

    assert done.returncode == 125
    assert b"got xxx" in (folder / "c.diagnostic" / "output.raw").read_bytes()
    assert leaks(folder, SECRET) == []


def test_an_unscrubbed_recording_hides_what_was_typed_unseen(folder: Path) -> None:
    """Its output is as it was; its input is not what was typed."""
    with record(GETPASS, folder / "c", scrub=False) as session:
        session.wait_for_text("Answer? ", timeout_s=WAIT_S)
        session.type(SECRET + "\n")
        session.wait_exit(timeout_s=WAIT_S)

    assert "input.jsonl, decoded" not in leaks(folder, SECRET)


# -- saying it ---------------------------------------------------------------------------

PLAIN = python("p = input('What now> '); print('you typed', p)")


def test_a_driver_says_what_is_secret(folder: Path) -> None:
    """Where nothing gives it away."""
    with record(PLAIN, folder / "c") as session:
        session.wait_for_text("now> ", timeout_s=WAIT_S)
        session.submit_secret(SECRET)
        session.wait_exit(timeout_s=WAIT_S)

    assert leaks(folder, SECRET) == []


@pytest.mark.parametrize("step", ["secret: {}", "secret-env THE_ONE", "secret-file {}/one"])
def test_a_script_says_what_is_secret(
    folder: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Itself, or where it is kept."""
    (folder.parent / "one").write_text(SECRET + "\nmore\n")
    monkeypatch.setenv("THE_ONE", SECRET)
    step = step.format(folder.parent if "file" in step else SECRET)
    (folder.parent / "steps").write_text(f"timeout 60s\nwait-text now>\n{step}\nwait-exit\n")
    words = ["--clean-env", "--input", str(folder.parent / "steps"), str(folder / "c")]
    done = subprocess.run(
        [*REC, *words, "--", *PLAIN], check=False, capture_output=True, timeout=WAIT_S
    )

    assert done.returncode == 0, done.stderr
    assert b"you typed xxx" in (folder / "c" / "output.raw").read_bytes()
    assert leaks(folder, SECRET) == []


def test_a_script_that_names_no_variable_says_so(folder: Path) -> None:
    """With the line of the script, and before anything starts."""
    (folder.parent / "steps").write_text("secret-env NO_SUCH_VARIABLE\n")
    words = ["--input", str(folder.parent / "steps"), str(folder / "c"), "--", "cat"]
    done = subprocess.run([*REC, *words], check=False, capture_output=True, timeout=WAIT_S)

    assert (done.returncode, list(folder.iterdir())) == (2, [])
    assert b"script line 1" in done.stderr
    assert b"NO_SUCH_VARIABLE" in done.stderr


def test_the_end_of_a_recording_says_what_was_masked(folder: Path) -> None:
    """So that somebody notices if a prompt was taken for a password."""
    code = "import getpass; input('Who> '); getpass.getpass('What> '); print('done')"
    with terminal(folder, python(code)) as user:
        for prompt, line in (("Who> ", "alice"), ("What> ", SECRET)):
            user.expect_exact(prompt)
            user.send(f"{line}\r")
        user.expect(pexpect.EOF)
        said = (user.before or b"").decode()

    assert "1 typed secret was masked: input 2" in said
    assert leaks(folder, SECRET) == []


@pytest.mark.parametrize("strong", [True, False])
def test_a_masked_secret_is_compared_where_it_cannot_be_guessed(
    folder: Path, *, strong: bool
) -> None:
    """Another one is a divergence, or the report says that it was not compared."""
    letters = string.ascii_letters + string.digits
    one, other = ("".join(random.Random(seed).choices(letters, k=40)) for seed in (1, 2))
    one = one if strong else SECRET
    with record(GETPASS, folder / "c") as recording:
        recording.wait_for_text("Answer? ", timeout_s=WAIT_S)
        recording.type(one + "\n")
        recording.wait_exit(timeout_s=WAIT_S)

    def replayed(text: str) -> list[str]:
        """What is noted when this is sent."""
        using = use(folder / "c", mode="replay")
        with using as session:
            session.wait_for_text("Answer? ")
            session.type(text + "\n")
            session.wait_exit()
        return list(using.result.notes)

    assert leaks(folder, one) == []
    assert replayed("*" * len(one)) == []
    if not strong:
        assert "not compared" in replayed(other)[0]
        return
    assert replayed(one) == []
    with pytest.raises(DivergenceError, match="only in its secret") as caught:
        replayed(other)
    assert other not in str(caught.value)


def test_a_key_says_what_is_secret(folder: Path) -> None:
    """The program does not get it; the user sees it; Enter ends it."""
    code = "p = input('What now> '); q = input('Then> '); print('you typed', p, q)"
    with terminal(folder, python(code), "--secret-key", "ctrl-]") as user:
        user.expect_exact("now> ")
        user.send("\x1d")
        user.expect_exact("typing a secret")
        user.send(SECRET + "\r")
        user.expect_exact("\x1b[23;2t")
        user.expect_exact("Then> ")
        user.send("alice\r")
        user.expect(pexpect.EOF)
    with open_cassette(folder / "c") as cassette:
        typed = b"".join(one.bytes or b"" for one in cassette.inputs())
        shown = b"".join(cassette.raw())

    assert leaks(folder, SECRET) == []
    assert typed == b"*" * len(SECRET) + b"\ralice\r"
    assert b"alice" in shown
    assert b"typing a secret" not in shown


# -- replay ------------------------------------------------------------------------------


@pytest.fixture
def cassette(folder: Path) -> Path:
    """A recording in which a secret was sent, and then something else."""
    code = "p = input('What now> '); q = input('Then> '); print('you typed', q)"
    with record(python(code), folder / "c") as session:
        session.wait_for_text("now> ", timeout_s=WAIT_S)
        session.submit_secret(SECRET)
        session.wait_for_text("Then> ", timeout_s=WAIT_S)
        session.submit("alice")
        session.wait_exit(timeout_s=WAIT_S)
    return folder / "c"


@pytest.mark.parametrize("text", [SECRET, "x" * len(SECRET), "another one, longer than that"])
@pytest.mark.parametrize("how", ["submit_secret", "send_secret", "type"])
def test_any_secret_matches_what_was_recorded_masked(cassette: Path, how: str, text: str) -> None:
    """Nobody who replays needs to know it."""
    with use(cassette, mode="replay") as session:
        session.wait_for_text("now> ")
        if how == "submit_secret":
            session.submit_secret(text)
        else:
            getattr(session, how)(text)
            session.send_key("enter")
        session.wait_for_text("Then> ")
        session.submit("alice")
        session.wait_for_text("you typed alice")


def test_an_enter_of_its_own_is_replayed_with_the_secret(folder: Path) -> None:
    """The program is in raw mode, so nothing but the sender says what is secret."""
    argv = python(STARS.format(prompt="What now> ", sign=""))
    with record(argv, folder / "c") as recording:
        recording.wait_for_text("now> ", timeout_s=WAIT_S)
        recording.send_secret(SECRET)
        recording.send_key("enter")
        recording.wait_exit(timeout_s=WAIT_S)
    with use(folder / "c", mode="replay") as session:
        session.wait_for_text("now> ")
        session.send_secret("another one, longer\n")
        session.wait_for_text("you typed")

    assert leaks(folder, SECRET) == []


def test_a_secret_at_the_wrong_place_is_not_repeated(cassette: Path) -> None:
    """The divergence shows asterisks."""
    using = use(cassette, mode="replay")
    with pytest.raises(DivergenceError) as caught, using as session:  # noqa: PT012 - one dialogue
        session.wait_for_text("now> ")
        session.submit_secret(SECRET)
        session.wait_for_text("Then> ")
        session.submit_secret(SECRET)

    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "*" * len(SECRET) in told
    assert SECRET not in told


def test_a_tap_of_somebody_else_gets_asterisks() -> None:
    """Only a journal is told what was typed."""
    told: list[object] = []

    class Tap:
        def on_output(self, t_us: int, data: bytes) -> None:
            """Nothing."""

        def on_event(self, event: object) -> None:
            """Keep it."""
            told.append(event)

        def on_idle(self) -> None:
            """Nothing."""

    with Session(PLAIN, tap=Tap()) as session:
        session.wait_for_text("now> ", timeout_s=WAIT_S)
        session.send_secret(SECRET)

    assert SECRET not in repr(told)
    assert "*" * len(SECRET) in repr(told)
