"""Machines that lack something: a home, a current directory, devices, room for open files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette, use
from tests.commands import COMMAND

pytestmark = [pytest.mark.integration]

RECORD = ("rec", "-q", "--headless", "x.cassette", "--", "echo", "hi")


def run(*words: str, place: Path, before: str = "", **variables: str | None) -> Any:
    """Run the command in ``place``, after ``before`` (shell), with other variables."""
    env = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    for name, value in variables.items():
        if value is None:
            env.pop(name, None)
    shell = ("sh", "-c", f'{before or ":"}; exec "$@"', "sh")
    return subprocess.run(
        [*shell, COMMAND, *words],
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


NO_STATE: dict[str, str | None] = {
    "PTYCASSETTE_STATE_DIR": None,
    "XDG_STATE_HOME": None,
    "XDG_RUNTIME_DIR": None,
}


@pytest.mark.parametrize(
    "more",
    [
        {"HOME": "{at}/gone/x"},
        {"HOME": "{at}/gone/x", "XDG_STATE_HOME": "{at}/gone/x/state"},
        {"HOME": "{at}/gone/x", "XDG_CACHE_HOME": None},
        {"HOME": "/dev/null"},
        {"HOME": "relative"},
        {"HOME": "/proc"},
        {"HOME": "{at}/gone", "TMPDIR": "{at}/no"},
        {"HOME": "/proc", "TMPDIR": "/proc"},
    ],
    ids=str,
)
def test_a_home_that_cannot_be_used_stops_nothing(
    more: dict[str, str | None], tmp_path: Path
) -> None:
    """It is recorded and read, and nothing is made below the home."""
    variables = {
        name: value and value.format(at=tmp_path)
        for name, value in {**NO_STATE, "TMPDIR": str(tmp_path), **more}.items()
    }
    for words in (
        RECORD,
        ("verify", "x.cassette"),
        ("recover",),
        ("doctor",),
        ("info", "x.cassette"),
    ):
        ran = run(*words, place=tmp_path, **variables)
        assert ran.returncode == 0 or words == ("doctor",), ran.stderr
        assert "internal error" not in ran.stderr

    assert not (tmp_path / "gone").exists()
    assert not (tmp_path / "relative").exists()


def test_a_user_without_a_home_and_without_an_entry(tmp_path: Path) -> None:
    """As systemd and containers start programs: ``~`` means nothing."""
    unshare = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]
    tried = subprocess.run([*unshare, "true"], check=False, capture_output=True, timeout=120)
    if tried.returncode:
        pytest.skip("no user namespaces here")
    env = {name: value for name, value in os.environ.items() if name != "HOME"}
    env = {name: value for name, value in env.items() if name not in NO_STATE}
    tmp_path.chmod(0o777)
    for words in (RECORD, ("verify", "x.cassette"), ("ls",), ("recover",)):
        ran = subprocess.run(
            [*unshare, COMMAND, *words],
            cwd=tmp_path,
            env={**env, "TMPDIR": str(tmp_path)},
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr


@pytest.fixture
def gone(tmp_path: Path) -> Path:
    """A folder that a test deletes while it is in it, beside a recording."""
    done = run(*RECORD, place=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "gone").mkdir()
    return tmp_path / "gone"


ABSOLUTE: dict[tuple[str, ...], int] = {
    ("--version",): 0, ("verify", "C"): 0, ("info", "C"): 0, ("events", "C"): 0, ("cat", "C"): 0,
    ("frames", "C"): 0, ("play", "--speed", "99", "C"): 0, ("ls", "AT"): 0, ("diff", "C", "C"): 0,
    ("export", "C", "AT/x.svg"): 0, ("verify-scrub", "C"): 0, ("stand-in", "C"): 0,
    ("edit", "annotate", "C", "text", "--at", "0s", "-o", "AT/new.cassette"): 0, ("recover",): 0,
    ("rec", "-q", "--headless", "--cwd", "AT", "AT/new.cassette", "--", "echo", "hi"): 0,
    ("rec", "-q", "--headless", "AT/new.cassette", "--", "echo", "hi"): 6,
    ("rec", "-q", "--headless", "new.cassette", "--", "echo", "hi"): 6,
    ("rec", "-q", "--headless", "--", "echo", "hi"): 6,
    ("verify", "x"): 3, ("import", "x.cast", "-o", "y"): 3, ("ls",): 0,
    ("export", "C", "x.svg"): 125,
}  # fmt: skip


@pytest.mark.parametrize("words", ABSOLUTE, ids=" ".join)
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.sampled(4)
def test_a_deleted_current_directory(words: tuple[str, ...], named: bool, gone: Path) -> None:
    """Commands with absolute paths work, others say what is wrong; none fails for us."""
    at = gone.parent
    full = [w.replace("AT", str(at)) if w != "C" else str(at / "x.cassette") for w in words]
    before = f'cd "{gone}" && rmdir "{gone}"' + ("" if named else "; unset PWD")
    ran = run(*full, place=at, before=before)

    expected = ABSOLUTE[words]
    assert ran.returncode == expected, ran.stderr
    assert bool(expected) == ("ptycassette: " in ran.stderr or "NOT VALID" in ran.stdout)


def test_a_cassette_is_used_from_a_deleted_directory(
    gone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its absolute path."""
    monkeypatch.chdir(gone)
    gone.rmdir()
    with use(gone.parent / "x.cassette") as session:
        session.wait_exit()


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_recordings_without_a_name_in_the_same_second_all_run(count: int, tmp_path: Path) -> None:
    """Each gets a name of its own, and the programs run at the same time."""
    # Each waits until all have begun, so that all have a name then.
    wait = f'touch "began.$$"; while [ "$(ls began.* | wc -l)" -lt {count} ]; do sleep 0.1; done'
    words = ("rec", "-q", "--headless", "--", "sh", "-c", f"{wait}; echo ran")
    running = [
        subprocess.Popen([COMMAND, *words], cwd=tmp_path, stdin=subprocess.DEVNULL)
        for _ in range(count)
    ]
    assert [one.wait(timeout=300) for one in running] == [0] * count
    made = list(tmp_path.glob("*.cassette"))
    assert len(made) == count
    for path in made:
        with open_cassette(path) as cassette:
            assert cassette.output_size == len("ran\r\n")


def test_two_recordings_of_one_name_are_refused_before_the_program_runs(tmp_path: Path) -> None:
    """The message names who records there."""
    inside = f'"{sys.executable}" -c "pass"; "{COMMAND}" rec --headless x.cassette -- touch ran'
    ran = run("rec", "--headless", "x.cassette", "--", "sh", "-c", inside, place=tmp_path)

    assert "is being recorded by process" in ran.stdout
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("limit", [8, 10, 12, 14, 16, 24, 64])
def test_few_open_files_are_enough_or_named(limit: int, tmp_path: Path) -> None:
    """The error says which limit to raise; what is published is whole."""
    ran = run(*RECORD, place=tmp_path, before=f"ulimit -n {limit}")

    if ran.returncode:
        assert limit < 24
        assert ran.returncode in {125, 126}, ran.stderr
        assert "ulimit -n" in ran.stderr or "Too many open files" in ran.stderr
    for path in tmp_path.glob("*.cassette"):
        with open_cassette(path):
            pass


@pytest.mark.parametrize("missing", ["/proc", "/dev/shm", "/run", "/dev/pts", "/dev"])
@pytest.mark.parametrize("way", ["--headless", "--pipes"])
@pytest.mark.sampled(2)
def test_a_container_without_a_place_records_or_names_it(
    missing: str, way: str, tmp_path: Path
) -> None:
    """An empty folder in its place."""
    script = f'mount -t tmpfs none {missing} && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", script, "sh"]
    if subprocess.run([*words, "true"], check=False, capture_output=True, timeout=120).returncode:
        pytest.skip("mounting is not allowed here")
    record = ("rec", way, "x.cassette", "--", "echo", "hi")
    ran = subprocess.run(
        [*words, COMMAND, *record],
        cwd=tmp_path,
        stdin=subprocess.PIPE if missing == "/dev" else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if missing.startswith("/dev") and missing != "/dev/shm":
        assert ran.returncode in {125, 126}, ran.stderr
        assert "/dev/" in ran.stderr
        assert "hint: " in ran.stderr
        return
    assert ran.returncode == 0, ran.stderr
    with open_cassette(tmp_path / "x.cassette"):
        pass
