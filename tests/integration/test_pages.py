"""Every snippet of every page does what the page says.

In bash and in zsh, as whoever runs the tests and as an ordinary user.
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

from tests import snippets
from tests.snippets import PAGES, ROOT

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
    status, printed = _run(_as_user(argv, place) if ordinary else argv, place)

    assert status == 0, printed
    assert snippets.not_printed(page, printed) == []


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


def _script(page: Path, shell: str, place: Path) -> Path:
    """The script of a page, in a folder that holds nothing else."""
    for folder in ("story", "home", "work"):
        (place / folder).mkdir()
    path = place / "story" / "script"
    path.write_text(snippets.script(page, shell), encoding="utf-8")
    return path


def _run(argv: list[str], place: Path) -> tuple[int, str]:
    """Run in an environment of nothing but what each login has; status and all output."""
    environment = {
        "PATH": ":".join(
            [
                str(ROOT / "tests" / "programs"),
                str(Path(sys.executable).parent),
                "/usr/local/bin:/usr/bin:/bin",
            ]
        ),
        "HOME": str(place / "home"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "STORY": str(place / "story"),
        "REPOSITORY": str(ROOT),
    }
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
