"""Before a rerun the program is asked for its version off the network, in a home of its own."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.rerun.io.driving import version_now
from ptycassette.agents.rerun.io.preparing import RerunPlace
from ptycassette.system.network import Guard, may_isolate
from tests.commands import ptycassette
from tests.conftest import ROOT

pytestmark = pytest.mark.integration

CURIOUS = """\
import os, pathlib, socket
home = pathlib.Path(os.environ["HOME"])
(home / "touched").touch()
config = pathlib.Path(os.environ.get("XDG_CONFIG_HOME", home))
found = "proxied" if "HTTPS_PROXY" in os.environ else "bare"
try:
    socket.create_connection(("127.0.0.1", {port}), 5).close()
except OSError:
    print("codex 9.9", found, "offline", config.is_relative_to(home), os.getcwd() == str(home))
else:
    print("codex 9.9", found, "online", config.is_relative_to(home), os.getcwd() == str(home))
"""


@pytest.fixture
def users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of whoever starts the rerun, with its configuration where the variable says."""
    home = tmp_path / "users-home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "users-config"))
    return home


def asked(tmp_path: Path, *, isolated: bool) -> str | None:
    """What a program says that looks around when it is asked for its version."""
    for name in ("bin", "home", "work"):
        (tmp_path / name).mkdir()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        program = tmp_path / "bin" / "codex"  # whose profile says how it is asked
        text = CURIOUS.format(port=listening.getsockname()[1])
        program.write_text(f"#!{sys.executable} -I\n{text}")
        program.chmod(0o755)
        place = RerunPlace(
            argv=(str(program),),
            environment={},
            home=tmp_path / "home",
            cwd=tmp_path / "work",
            folder=tmp_path,
            guard="",
            network=Guard() if isolated else None,
        )
        said = version_now(place)
    assert not any((tmp_path / "home").iterdir())
    return said


@pytest.mark.parametrize("disabled", ["", "1"])
def test_who_is_asked_has_no_network_and_an_empty_home(
    tmp_path: Path, users_home: Path, monkeypatch: pytest.MonkeyPatch, disabled: str
) -> None:
    """So it may be asked, too, where the network is disabled."""
    if not may_isolate():
        pytest.skip("the kernel does not let this user make network namespaces")
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", disabled)

    assert asked(tmp_path, isolated=True) == "codex 9.9 bare offline True True"
    assert not any(users_home.iterdir())


def test_without_a_namespace_the_variables_are_those_of_the_run(
    tmp_path: Path, users_home: Path
) -> None:
    """Proxies that nobody serves, as for the run itself."""
    assert asked(tmp_path, isolated=False) == "codex 9.9 proxied online True True"
    assert not any(users_home.iterdir())


def test_without_a_namespace_nobody_is_asked_while_the_network_is_disabled(
    tmp_path: Path, users_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable wins over everything."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")

    assert asked(tmp_path, isolated=False) is None


@pytest.fixture
def other_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder; a program that says that it is another Codex, and fails, is first on the path."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    text = "import sys\nprint('codex-cli 9.9')\nsys.exit('--version' not in sys.argv)\n"
    program.write_text(f"#!{sys.executable} -I\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path


TAPE = str(ROOT / "fixtures" / "tapes" / "codex-tape")
CHANGED = "the program is another one: recorded codex-cli 0.171.0, now codex-cli 9.9"


def test_a_fork_that_fails_names_another_version(other_codex: Path) -> None:
    """It may be why the prefix differs."""
    ran = ptycassette(
        *("fork", "--trust", TAPE, "-o", "child", "--at", "exchange:1", "--change", "input=hello"),
        cwd=other_codex,
        status=1,
    )

    assert "  | codex-cli 9.9\n" in ran.stderr
    assert f"hint: {CHANGED}; " in ran.stderr


def test_a_run_that_somebody_else_drives_names_it(other_codex: Path) -> None:
    """As one of our own does."""
    ran = ptycassette(
        "rerun", "--trust", "--tape-only", "--report", "now.json", TAPE, cwd=other_codex
    )

    assert f"version: {CHANGED}" in ran.stdout + ran.stderr
