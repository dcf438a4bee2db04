"""The page with every variable, file and exit status, the manual page, and completion scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import errors
from ptycassette.cli.entry import COMMANDS, MOVED
from ptycassette.cli.man import EXIT_STATUSES, FILES, VARIABLES
from ptycassette.system.files.project_file import KEYS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference.md"
SOURCES = (ROOT / "ptycassette", ROOT / "viewer" / "ptycassette_viewer")
MAN = shutil.which("man")
Run = Callable[..., Any]


def _section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("Exit statuses", EXIT_STATUSES),
        ("Variables of the environment", VARIABLES),
        ("Files", FILES),
    ],
)
def test_the_page_says_what_the_manual_says(title: str, rows: tuple[tuple[str, str], ...]) -> None:
    """Row by row."""
    shown = re.findall(r"^\| `([^`]+)` \| (.*) \|$", _section(title), re.MULTILINE)

    assert shown == list(rows)


READ = re.compile(r"""(?:env|environ|environment)(?:\.get\(|\[)["']([A-Z][A-Z_]+)["']""")
OURS = re.compile(r"\bPTYCASSETTE_[A-Z_]+[A-Z]\b")
# textual-serve sets the first for the app that it starts; blame's own agents read the second;
# pytest sets the third while a test runs.
NOT_OURS = {"TEXTUAL_DRIVER", "OPENAI_BASE_URL", "PYTEST_CURRENT_TEST"}
BY_LIBRARIES = {"COLUMNS"}  # shutil and click read it


def test_every_variable_of_the_source_is_there() -> None:
    """All that it reads, and all that have our name; and none that it does not know."""
    found = {
        name
        for place in SOURCES
        for path in place.rglob("*.py")
        if path.name != "reference.py"
        for pattern in (READ, OURS)
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }
    ours = {name for names, _ in VARIABLES for name in names.split(", ")}

    assert found - NOT_OURS == ours - BY_LIBRARIES


def test_every_status_of_an_error_is_there() -> None:
    """Also those of the errors of commands."""
    known = {status for status, _ in EXIT_STATUSES}
    classes = [one for one in vars(errors).values() if isinstance(one, type)]
    raised = {str(one.exit_status) for one in classes if issubclass(one, errors.CassetteError)}

    assert raised <= known
    assert {"0", "5", "126", "127"} <= known


def test_every_key_of_the_project_file_is_there() -> None:
    """With what is allowed."""
    shown = re.findall(r"^\| `(\w+)` \| ", _section("The project file"), re.MULTILINE)

    assert shown == list(KEYS)


def test_the_manual_page_has_all_commands(run: Run) -> None:
    """With their options, and no line that roff takes for a request of its own."""
    text = run("man").text
    lines = text.splitlines()

    assert [
        name
        for name in (*COMMANDS, *(f"edit {one}" for one in MOVED))
        if f".SS ptycassette {name}".replace("-", "\\-") not in lines
    ] == []
    assert "\\-\\-idle\\-limit" in text
    assert ".SH ENVIRONMENT" in lines
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".B", ".PP", ".TP", ".nf", ".fi"}


@pytest.mark.skipif(MAN is None, reason="there is no man here")
def test_man_reads_the_manual_page(run: Run, tmp_path: Path) -> None:
    """Without a complaint."""
    page = tmp_path / "ptycassette.1"
    page.write_bytes(run("man").out)
    shown = subprocess.run(
        [str(MAN), "--warnings", "-l", str(page)],
        capture_output=True,
        text=True,
        check=False,
        env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LANG": "C.UTF-8"},
    )

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "--idle-limit" in shown.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_clicks_own(shell: str, run: Run) -> None:
    """With the name of our command; a shell that is not known is a usage error."""
    ran = run("completion", shell)

    assert (ran.status, f"{shell}_complete" in ran.text) == (0, True)
    assert run("completion", "tcsh").status == 2
