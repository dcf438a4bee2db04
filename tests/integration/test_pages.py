"""Every snippet of every page does what the page says.

In bash and in zsh, as the user who runs the tests and as an ordinary user. The first pages are also
typed key by key into a shell, in a fresh clone, with the system's Python and in an environment.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette import Screen, Session, Size
from ptycassette.errors import WaitTimeoutError
from tests import snippets
from tests.snippets import FIRST, PAGES, ROOT

pytestmark = pytest.mark.integration
SHELLS = {"bash": ["--noprofile", "--norc"], "zsh": ["--no-rcs"]}
USER_ID = 54321  # nobody's
RUNNING = [page for page in PAGES if any(not block.skip for block in snippets.blocks(page))]
# Pages of a few seconds, which run with the fast tests in one shell.
SECONDS = {"README.md", "driving.md", "replaying.md", "reference.md", "FORMAT.md"}


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _cases() -> Iterator[object]:
    """Page, shell, whether as an ordinary user. All but a few are slow."""
    for page in RUNNING:
        for shell in SHELLS:
            for ordinary in (False, True):
                fast = page.name in SECONDS and shell == "bash" and not ordinary
                yield pytest.param(
                    page,
                    shell,
                    ordinary,
                    id=f"{_name(page)}-{shell}-{'user' if ordinary else 'self'}",
                    marks=() if fast else pytest.mark.slow,
                )


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that an ordinary user can reach, as pytest's own is not."""
    path = Path(tempfile.mkdtemp(prefix="ptycassette-page-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_blocks_of_a_page_can_run_or_say_why_not(page: Path) -> None:
    """Each has a language that is run; data has the name of its file; commands have a prompt."""
    blocks = [block for block in snippets.blocks(page) if not block.skip]

    assert {block.language for block in blocks} <= snippets.LANGUAGES
    data = {"toml", "yaml", "json"}
    assert [block.line for block in blocks if block.language in data and not block.file] == []
    assert [
        block.line
        for block in blocks
        if block.language == "console" and not block.source.startswith("$ ")
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_can_be_pasted_into_zsh(page: Path) -> None:
    """At a prompt of zsh a comment behind a command is its arguments."""
    commands = [c for block in snippets.blocks(page) for c in block.commands()]

    assert [c for c in commands if re.search(r"\s#", c.partition("\n")[0])] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("page", "shell", "ordinary"), _cases())
def test_a_page_does_what_it_says(
    page: Path, shell: str, ordinary: bool, place: Path, program: Callable[[str], str]
) -> None:
    """Its commands end with 0, its Python raises nothing, and what it shows is printed."""
    path = program(shell)
    argv = [path, *SHELLS[shell], "-e", str(_script(page, path, place))]
    folders = [str(ROOT / "tests" / "programs"), str(Path(sys.executable).parent)]
    environment = {
        **_environment(place, ":".join([*folders, "/usr/local/bin:/usr/bin:/bin"])),
        "STORY": str(place / "story"),
        "REPOSITORY": str(ROOT),
    }
    status, printed = _run(_as_user(argv, place) if ordinary else argv, place, environment)

    assert status == 0, printed
    assert snippets.not_printed(page, printed) == []


@pytest.mark.parametrize("page", FIRST, ids=_name)
def test_the_first_pages_hide_nothing(page: Path) -> None:
    """A reader types what is shown, so that must be enough."""
    assert [block.line for block in snippets.blocks(page) if block.hidden] == []


@pytest.mark.slow
@pytest.mark.parametrize("ordinary", [False, True], ids=["self", "user"])
@pytest.mark.parametrize("python", ["system", "environment"])
def test_the_first_pages_work_as_typed(
    python: str, ordinary: bool, place: Path, program: Callable[[str], str]
) -> None:
    """Each command ends with 0: one page after the other, each in a new shell in a fresh clone."""
    clone = _fresh_clone(place)
    path = os.pathsep.join([*_folders_of_python(python, place), "/usr/local/bin:/usr/bin:/bin"])
    environment = _environment(place, path)
    shell = [program("bash"), "--noprofile", "--norc", "-i"]
    argv = _as_user(shell, place) if ordinary else shell
    # With an environment the tutorial comes first: neither page needs the other.
    for page in FIRST if python == "system" else reversed(FIRST):
        _type_page(page, argv, clone, environment)


def test_a_changed_output_is_seen(tmp_path: Path) -> None:
    """What a page shows is looked for in what its block printed, whatever the numbers."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 1\nsaved in 1.5 s\nnever ... printed\n```\n")

    assert snippets.not_printed(page, "@@ block of line 1\nsaved in 22 s\n") == [
        "page.md:1: never ... printed"
    ]


def test_every_target_of_make_that_a_page_names_exists() -> None:
    """Blocks of ``make`` are not run: CI runs them."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for block in snippets.blocks(page)
        for target in re.findall(r"^\$ make ([a-z-]+)", block.source, re.MULTILINE)
    }

    assert named
    assert named <= targets | {"test", "test-all"}


_PROMPT = r"@@\#:$?@@ "  # of bash: the number of the command, the status of the one before


def _type_page(page: Path, argv: list[str], clone: Path, environment: dict[str, str]) -> None:
    """Type what the page shows into a shell; each command must end with 0."""
    with Session(
        argv, size=Size(50, 120), cwd=clone, clean_env=False, base_env=environment
    ) as session:
        number = 1
        session.wait_for_regex(rf"@@{number}:0@@$")
        for block in snippets.blocks(page):
            if block.file:
                cwd = Path(f"/proc/{_shell_of(session.pid)}/cwd").readlink()
                (cwd / block.file).write_text(block.source, encoding="utf-8")
            for command in block.commands():
                for key in f"{command}\n":
                    session.type(key)
                for line in (block.keys or "").splitlines():
                    _press(session, number, *line.split(" ", 1))
                number += 1
                try:
                    ended = session.wait_for_regex(rf"@@{number}:(\d+)@@$", timeout_s=600)
                except WaitTimeoutError as error:
                    raise AssertionError(f"{page.name}:{block.line}: {command}\n{error}") from error
                status = re.findall(rf"@@{number}:(\d+)@@", "\n".join(ended.rows))[-1]
                shown = "\n".join(row for row in ended.rows if row)
                assert status == "0", f"{page.name}:{block.line}: {command}\n{shown}"


def _shell_of(pid: int) -> int:
    """The shell below a process that only changes users, or that process itself."""
    while Path(f"/proc/{pid}/comm").read_text().strip() != "bash":
        (pid,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return pid


def _press(session: Session, number: int, verb: str, what: str = "") -> None:
    """A line of a ``keys`` comment, while the command of this number runs."""
    match verb:
        case "wait-text":
            session.wait_for_predicate(lambda now: what in _shown_by(number, now), what=what)
        case "submit":
            session.submit(what)
        case "key":
            session.send_key(what)
        case "wait-exit":  # the prompt is waited for
            pass
        case _:
            raise ValueError(f"no key of a typist: {verb}")


def _shown_by(number: int, screen: Screen) -> str:
    """What a command shows, below its prompt or on a screen without any.

    What was typed above may have the same text in it.
    """
    shown = "\n".join(screen.rows)
    return shown.partition(f"@@{number}:")[2].partition("\n")[2] if "@@" in shown else shown


def _fresh_clone(place: Path) -> Path:
    """A clone of what is here now, committed or not."""
    git = ["git", "-C", str(ROOT)]
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("this is no clone, or git is not installed")
    clone = place / "ptycassette"
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    return clone


def _folders_of_python(python: str, place: Path) -> list[str]:
    """What of a Python comes first on PATH; skips where it cannot install packages."""
    asked = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"
    if python == "system":
        found, folders = "/usr/bin/python3", []
    else:
        found, folders = sys.executable, [str(place / "env" / "bin")]
    if subprocess.run([found, "-c", asked], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{found} is not Python 3.11 or newer with venv")
    subprocess.run([found, "-m", "venv", place / "env"], check=True)
    pip = [place / "env" / "bin" / "python", "-m", "pip", "download", "--no-deps", "hatchling"]
    if (
        subprocess.run([*pip, "-d", place / "pip"], capture_output=True, check=False).returncode
        != 0
    ):
        pytest.skip("no packages can be downloaded here")
    return folders


def _script(page: Path, shell: str, place: Path) -> Path:
    """The script of a page, in a folder that holds nothing else."""
    for folder in ("story", "work"):
        (place / folder).mkdir()
    path = place / "story" / "script"
    path.write_text(snippets.script(page, shell), encoding="utf-8")
    return path


def _run(argv: list[str], place: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run it in its folder; status and all output."""
    with (place / "output").open("w+b") as output:
        process = subprocess.Popen(
            argv,
            cwd=place / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=240)
        finally:
            os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
            process.wait()
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


def _environment(place: Path, path: str) -> dict[str, str]:
    """What each login has, and how packages are found on this machine."""
    (place / "home").mkdir(exist_ok=True)
    machine = re.compile(r"PIP_|(https?|no)_proxy$|SSL_CERT_", re.IGNORECASE)
    return {
        **{name: value for name, value in os.environ.items() if machine.match(name)},
        "PATH": path,
        "HOME": str(place / "home"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PS1": _PROMPT,
    }


def _as_user(argv: list[str], place: Path) -> list[str]:
    """The same command as an ordinary user.

    Where our files are below a private folder (``/root``), the user gets a view of the file system
    in which that folder is open, and has nothing else in it.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can run as another user")
    for path in place.rglob("*"):
        os.chown(path, USER_ID, USER_ID)
    needed = [ROOT, Path(sys.prefix), Path(sys.base_prefix)]
    private = {folder for path in needed if (folder := _private(path)) is not None}
    lines = ["set -e", "stage=$(mktemp -d)", 'mount -t tmpfs none "$stage"']
    for number, path in enumerate(needed):
        lines += [
            f'mkdir "$stage/{number}"',
            f'mount --bind {shlex.quote(str(path))} "$stage/{number}"',
        ]
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(folder))}" for folder in private]
    for number, path in enumerate(needed):
        if _private(path) is not None:
            quoted = shlex.quote(str(path))
            lines += [f"mkdir -p {quoted}", f'mount --bind "$stage/{number}" {quoted}']
    ids = [f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    lines += [
        shlex.join(["exec", "setpriv", *ids, "--bounding-set=-all", "--inh-caps=-all", *argv])
    ]
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    for tool in ("unshare", "setpriv"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file systems can be mounted here")
    return [*unshare, "\n".join(lines)]


def _private(path: Path) -> Path | None:
    """The first folder on the way to a path that others may not enter."""
    for folder in [*reversed(path.parents), path]:
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None
