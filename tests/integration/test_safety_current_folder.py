"""No process that we start runs code of the folder in which it is started.

A cloned repository may hold ``json.py`` or ``ptycassette.py``. Python looks for modules in the
current folder where a program is given by ``-m`` or ``-c``.
"""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = ("-P", "-m", "ptycassette")
TAPED = ROOT / "fixtures" / "tapes" / "client-tape"
POISON = ("ptycassette", "ptycassette_viewer", "msgspec", "click", "readline", "rlcompleter")

pytestmark = pytest.mark.integration


def displays() -> Iterator[tuple[str, ast.List | ast.Tuple]]:
    """Each list and tuple of the product in which the interpreter is."""
    folders = (ROOT / "ptycassette", ROOT / "viewer" / "ptycassette_viewer")
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "sys.executable" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.List | ast.Tuple) and any(
                ast.unparse(one) == "sys.executable" for one in node.elts
            ):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_each_python_of_ours_is_started_with_a_safe_path() -> None:
    """``-P`` or ``-I`` follows the interpreter at once, or ``python_command`` made the words."""
    found = dict(displays())
    unsafe = [
        place
        for place, node in found.items()
        if place.split(":")[0] != "ptycassette/system/interpreter.py"
        and ast.unparse(node.elts[1]) not in {"'-P'", "'-I'"}
    ]

    assert found
    assert unsafe == []


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A folder with a module for every name of the standard library and of ours; each marks."""
    folder = tmp_path / "clone"
    folder.mkdir()
    code = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + '\\n')\n"
    for name in (*sys.stdlib_module_names, *POISON):
        (folder / f"{name}.py").write_text(code)
    shutil.copytree(TAPED, folder / "a.cassette")
    return folder


def run(poisoned: Path, *words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    """The command line, in the poisoned folder."""
    return subprocess.run(
        [sys.executable, *OWN, *words],
        cwd=poisoned,
        env={**os.environ, "PTYCASSETTE_STATE_DIR": str(poisoned.parent / "state"), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
        check=False,
    )


def what_ran(poisoned: Path) -> str:
    """The modules of the folder that were run."""
    path = poisoned.parent / "ran"
    return path.read_text() if path.exists() else ""


BLAME = ("blame", "--trust", "a.cassette", "--oracle", "exit", "--budget", "40", "--at", "tape:1")
WAYS = {
    "rec": ("rec", "--headless", "b.cassette", "--", "head", "-c", "3000000", "/dev/zero"),
    "pipes": ("rec", "--pipes", "b.cassette", "--", "echo", "hi"),
    "tape": ("rec", "--tape", "--provider", "http://127.0.0.1:9", "--headless", "b.cassette",
             "--", "echo", "hi"),
    "stand-in": ("stand-in", "a.cassette"),
    "rerun": ("rerun", "--trust", "a.cassette"),
    "fork": ("fork", "--trust", "a.cassette", "--at", "tape:1", "--change", "none", "-o", "c"),
    "blame": BLAME,
    "demo": ("demo",),
    "film": ("export", "a.cassette", "a.mp4"),
    "picture": ("export", "a.cassette", "a.gif"),
    "import": ("import", "a.cassette/output.raw", "--format", "typescript", "-o", "d"),
    "doctor": ("doctor",),
    "offline": ("offline", "--", "echo", "hi"),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", WAYS)
def test_a_command_runs_no_module_of_the_folder(poisoned: Path, way: str) -> None:
    """Whatever the command itself comes to."""
    ran = run(poisoned, *WAYS[way])

    assert ran.returncode != 5, ran.stderr
    assert what_ran(poisoned) == ""


@pytest.mark.parametrize("mode", ["record", "rerecord", "replay"])
def test_a_shim_runs_no_module_of_the_folder(poisoned: Path, tmp_path: Path, mode: str) -> None:
    """Its recorder neither."""
    shims, library = str(tmp_path / "bin"), str(tmp_path / "library")
    for made in dict.fromkeys(("record", mode)):
        run(poisoned, "shim", "--dir", shims, "--library", library, "--mode", made, "date")
        subprocess.run(
            [f"{shims}/date"], cwd=poisoned, capture_output=True, timeout=120, check=False
        )

    assert what_ran(poisoned) == ""


async def first_message(address: str) -> bytes:
    """What the page's terminal gets first, when the page has opened."""
    origin = "/".join(address.split("/")[:3])
    async with aiohttp.ClientSession(headers={"Origin": origin}) as client:
        async with client.get(address) as page:
            assert page.status == 200
        async with client.ws_connect(f"{address}ws?width=80&height=24") as socket:
            return bytes(await socket.receive_bytes(timeout=60))


def test_a_served_viewer_runs_no_module_of_the_folder(poisoned: Path) -> None:
    """Each page that opens starts a process."""
    serving = subprocess.Popen(
        [sys.executable, *OWN, "view", "--serve", "a.cassette"],
        cwd=poisoned, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert serving.stdout is not None
        lines = iter(serving.stdout.readline, "")
        address = next(m[0] for line in lines if (m := re.search(r"http://[\d.:]+/\S*", line)))
        assert asyncio.run(first_message(address))
    finally:
        serving.terminate()
        serving.communicate(timeout=90)

    assert what_ran(poisoned) == ""
