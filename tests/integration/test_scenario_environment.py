"""The environment that a scenario asks for, made for the run that is recorded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptycassette import open_cassette, record
from ptycassette.cli.entry import cli
from ptycassette.errors import UsageError
from ptycassette.replaying.scenario.io import load_scenario
from ptycassette.testing import ManualClock, ScriptedPty
from ptycassette.viewing import scenario_environment

pytestmark = pytest.mark.integration

GROUPS = "groups:\n  end:\n    - {type: exit_status, exit_code: 0}\n"
OWN = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/me",
    "LANG": "C.UTF-8",
    "XDG_DATA_HOME": "/home/me/data",
    "SERVICE": "one",
    "OTHER": "two",
}
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a scenario with this block."""

    def put(block: str) -> Path:
        path = tmp_path / "t.scenario.yaml"
        path.write_text(f"name: t\n{GROUPS}{block}")
        return path

    return put


def test_a_home_and_a_configuration_of_its_own(write: Write, tmp_path: Path) -> None:
    """Empty or a copy; private; gone afterwards. The template is never touched."""
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "rc").write_text("x = 1")
    path = write("environment: {home: temporary, config_root: template}\n")
    with scenario_environment(path, env=OWN, root=tmp_path / "runs") as options:
        found = options["base_env"]
        home, config = Path(found["HOME"]), Path(found["XDG_CONFIG_HOME"])
        held = ([*home.iterdir()], [entry.name for entry in config.iterdir()])
        (config / "rc").write_text("x = 2")
        modes = [folder.stat().st_mode & 0o777 for folder in (home, config)]

    assert held == ([], ["rc"])
    assert modes == [0o700, 0o700]
    assert (tmp_path / "template" / "rc").read_text() == "x = 1"
    assert [*(tmp_path / "runs").iterdir()] == []


@pytest.mark.parametrize(
    ("block", "names"),
    [
        ("{allowlist: [SERVICE]}", {"PATH", "SERVICE"}),
        ("{allowlist: [SERVICE, XDG_DATA_HOME]}", {"PATH", "SERVICE", "XDG_DATA_HOME"}),
        ("{variables: {MODE: test}}", {"PATH", "HOME", "LANG", "XDG_DATA_HOME", "MODE"}),
        ("{home: temporary}", {"PATH", "HOME", "LANG"}),
    ],
)
def test_only_what_is_allowed_is_handed_on(write: Write, block: str, names: set[str]) -> None:
    """Without a list, the clean environment; with a home, nothing that leads to the user's."""
    with scenario_environment(write(f"environment: {block}\n"), env=OWN) as options:
        assert set(options["base_env"]) == names


def test_a_program_is_recorded_in_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds what the scenario says and nothing else, and leaves nothing in the user's home."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SERVICE", "mine")
    path = write("environment: {home: temporary, variables: {MODE: quiet}}\n")
    script = "touch $HOME/left; ls $HOME; echo mode=$MODE service=$SERVICE; env | grep -c XDG_"
    with (
        scenario_environment(path) as options,
        record(["sh", "-c", script], tmp_path / "c", **options) as session,
    ):
        session.wait_exit()

    with open_cassette(tmp_path / "c") as cassette:
        lines = b"".join(cassette.raw()).decode().split()
    assert lines == ["left", "mode=quiet", "service=", "0"]
    assert [*(tmp_path / "cache").rglob("*left*")] == []


def test_rec_takes_it_from_the_scenario(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``--scenario``; ``--env`` has the last word."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SERVICE", "mine")
    path = write("environment: {allowlist: [LANG], variables: {MODE: a, KIND: b}}\n")
    words = ["--scenario", str(path), "-e", "KIND=c", str(tmp_path / "c"), "--", "sh", "-c"]
    done = CliRunner().invoke(cli, ["rec", "-q", *words, "echo $MODE.$KIND.$SERVICE.$HOME"])

    assert done.exit_code == 0, done.output
    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()) == b"a.c..\r\n"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("{home: /root}", "home is '/root', and must be"),
        ("{config_root: ../x}", "config_root is"),
        ("{home: ~/x}", "home is '~/x'"),
        ("{home: ''}", "home is ''"),
        ("{allowlist: ['A=B']}", "'A=B' is not a variable"),
        ("{variables: {'': x}}", "'' is not a variable"),
        ("{home: temporary, variables: {HOME: /x}}", "HOME is given twice"),
        ("{config_root: x, allowlist: [XDG_CONFIG_HOME]}", "XDG_CONFIG_HOME is given twice"),
        ("{homes: x}", "unknown field"),
    ],
)
def test_a_block_that_is_wrong_is_refused_wherever_it_is_read(
    write: Write, block: str, said: str
) -> None:
    """Also where nothing is run."""
    with pytest.raises(UsageError, match=said):
        load_scenario(write(f"environment: {block}\n"), bound=False)


def test_a_folder_that_cannot_be_copied_is_refused(write: Write, tmp_path: Path) -> None:
    """Missing, or with a link in it; and a scenario that asks for nothing."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "out").symlink_to("/etc")
    for block, said in (
        ("environment: {home: missing}\n", "it is not a folder"),
        ("environment: {home: linked}\n", "it holds out"),
        ("", "asks for no environment"),
    ):
        with pytest.raises(UsageError, match=said), scenario_environment(write(block)):
            pass


def test_a_base_stands_in_for_the_environment_of_this_process(tmp_path: Path) -> None:
    """``record`` takes one directly, too."""
    clock = ManualClock()
    pty = ScriptedPty(clock).say("hi").exits(0)
    base = {"base_env": {"LANG": "C", "FOO": "b"}, "clean_env": False}
    with record(["x"], tmp_path / "c", pty=pty, clock=clock, sleeper=clock, **base) as session:
        session.wait_exit()

    assert session.manifest is not None
    assert session.manifest.command.env_allowlist == ("LANG", "TERM")
