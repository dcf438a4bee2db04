"""File systems that lack calls: what is recorded, replayed, imported, exported and edited there.

A library loaded before the C library (``tests/programs/refusing_disk.c``) lets calls fail below one
directory. The law: it works; or it is a clear error with something to do, and nothing is
half-written.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette
from tests.commands import COMMAND

pytestmark = [pytest.mark.integration, pytest.mark.skipif(sys.platform != "linux", reason="Linux")]

SOURCE = Path(__file__).parents[1] / "programs" / "refusing_disk.c"
LACKING = [
    *(f"chmod={name}" for name in ("EPERM", "EOPNOTSUPP", "EROFS")),
    *(f"flock={name}" for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "EBADF")),
    *(f"fsync={name}" for name in ("EINVAL", "ENOSYS", "EOPNOTSUPP")),
    *(f"link={name}" for name in ("EPERM", "EOPNOTSUPP", "EMLINK", "EACCES", "EXDEV")),
    *(f"exchange={name}" for name in ("EINVAL", "ENOSYS", "EPERM")),
    *(f"rename-over={name}" for name in ("EEXIST", "EPERM", "EACCES")),
    *(f"mkfifo={name}" for name in ("EPERM", "EOPNOTSUPP", "ENOSYS")),
    "symlink=EPERM",
    "utime=EPERM",
    "open-modes=0 chmod=EPERM",
    (
        "open-modes=0 chmod=EPERM flock=ENOLCK fsync=EINVAL link=EPERM exchange=EINVAL"
        " rename-over=EEXIST symlink=EPERM mkfifo=EPERM utime=EPERM"
    ),
]
RECORD = ("rec", "-q", "--headless", "x.cassette", "--", "env", "-u", "LD_PRELOAD", "echo", "hi")
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "rec": (RECORD, (*RECORD[:2], "--overwrite", *RECORD[2:])),
    "rec --durability disk": ((*RECORD[:2], "--durability", "disk", *RECORD[2:]),),
    "rec --pipes": ((*RECORD[:2], "--pipes", *RECORD[3:]),),
    "verify": (("verify", "ok.cassette"),),
    "import": (
        ("import", "ok.cast", "-o", "x.cassette"),
        ("import", "ok.cast", "-o", "x.cassette", "--overwrite"),
    ),
    "export": (
        ("export", "ok.cassette", "x.html"),
        ("export", "ok.cassette", "x.html", "--overwrite"),
    ),
    "edit": (
        ("edit", "annotate", "ok.cassette", "note", "--at", "0s", "-o", "x.cassette"),
        (
            "edit",
            "annotate",
            "ok.cassette",
            "note",
            "--at",
            "0s",
            "-o",
            "x.cassette",
            "--overwrite",
        ),
    ),
    "recover": (("recover", "--all"),),
}
TEST = """
from ptycassette import use

def test_it():
    with use("x.cassette", ["echo", "hi"], mode="MODE") as session:
        session.wait_exit()
"""


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("preload") / "refusing_disk.so"
    words = [compiler, "-shared", "-fPIC", "-w", "-o", str(made), str(SOURCE)]
    if subprocess.run(words, check=False, capture_output=True, timeout=120).returncode:
        pytest.skip("the compiler makes no library for this machine")
    return made


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording and an asciicast of it."""
    folder = tmp_path_factory.mktemp("given")
    for words in (
        ("rec", "-q", "--headless", "ok.cassette", "--", "echo", "hi"),
        ("export", "ok.cassette", "ok.cast"),
    ):
        subprocess.run([COMMAND, *words], cwd=folder, check=True, timeout=120, capture_output=True)
    return folder


Run = Callable[..., Any]


@pytest.fixture
def disk(tmp_path: Path, preload: Path, given: Path) -> Run:
    """Run a command in a folder that lacks calls; home and state directory are in it, too."""
    place = tmp_path / "disk"
    shutil.copytree(given, place)

    def run(lacks: str, *words: str, command: str = COMMAND, **more: str) -> Any:
        env = {**os.environ, "LD_PRELOAD": str(preload), "REFUSE": lacks, **more}
        env |= {"REFUSE_BELOW": str(place), "HOME": str(place), "TMPDIR": str(tmp_path)}
        for name in ("PTYCASSETTE_STATE_DIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            env.pop(name, None)
        env |= more
        return subprocess.run(
            [command, *words],
            cwd=place,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def litter(place: Path) -> list[str]:
    """What is hidden beside the cassettes, apart from our state."""
    return [path.name for path in place.glob(".*") if path.name not in {".local", ".cache"}]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("lacks", LACKING)
@pytest.mark.sampled(7)
def test_it_works_all_the_same(lacks: str, name: str, disk: Run, tmp_path: Path) -> None:
    """Whole, with nothing left behind; and what was recorded is private until it is scrubbed."""
    for words in COMMANDS[name]:
        ran = disk(lacks, *words)
        assert ran.returncode == 0, ran.stderr

    for path in (tmp_path / "disk").glob("*.cassette"):
        with open_cassette(path):
            pass
    assert litter(tmp_path / "disk") == []
    for top in (tmp_path / "disk" / ".local" / "state", tmp_path):
        for folder in top.glob("ptycassette*"):
            journals = [*(folder / "journals").glob("*")]
            assert journals == []


@pytest.mark.parametrize("mode", ["record", "auto", "rewrite"])
@pytest.mark.parametrize("lacks", [LACKING[0], LACKING[3], LACKING[-1]])
@pytest.mark.sampled(3)
def test_use_works_in_a_test(lacks: str, mode: str, disk: Run, tmp_path: Path) -> None:
    """It records, and then it replays."""
    place = tmp_path / "disk"
    for now in (mode, "replay"):
        (place / "test_it.py").write_text(TEST.replace("MODE", now))
        words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
        ran = disk(lacks, *words, command=sys.executable)
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", ["rec", "import", "export", "edit"])
def test_a_failing_disk_is_told(name: str, disk: Run, tmp_path: Path) -> None:
    """EIO of fsync means that data may be lost: an error, nothing published, the journal kept."""
    ran = disk("fsync=EIO", *COMMANDS[name][0])

    assert ran.returncode == 125
    assert "Input/output error" in ran.stderr
    assert "hint: " in ran.stderr
    assert not (tmp_path / "disk" / "x.cassette").exists()
    assert not (tmp_path / "disk" / "x.html").exists()
    assert litter(tmp_path / "disk") == []
    if name == "rec":
        again = disk("", "recover", "--all")
        assert again.returncode == 0, again.stderr
        with open_cassette(tmp_path / "disk" / "x.cassette"):
            pass


def test_a_state_directory_that_others_can_read_is_refused_first(disk: Run, tmp_path: Path) -> None:
    """The program does not run: what it shows would be kept, unscrubbed, for everybody."""
    place = tmp_path / "disk"
    words = (*RECORD[:-2], "touch", "ran")
    ran = disk("open-modes=0 chmod=EPERM", *words, PTYCASSETTE_STATE_DIR=str(place / "s"))

    assert ran.returncode in {6, 125}
    assert "others can read" in ran.stderr
    assert "PTYCASSETTE_STATE_DIR" in ran.stderr
    assert not (place / "ran").exists()


def test_journals_are_private_where_modes_cannot_be_changed(disk: Run, tmp_path: Path) -> None:
    """They are kept on another file system while the program runs."""
    inside = 'find "$HOME/.local" "$TMPDIR"/ptycassette-* -name "*.journal"'
    words = (*RECORD[:-2], "sh", "-c", inside)
    ran = disk("open-modes=0 chmod=EPERM", *words)

    assert ran.returncode == 0, ran.stderr
    with open_cassette(tmp_path / "disk" / "x.cassette") as cassette:
        shown = b"".join(event.data for event in cassette.events() if event.kind == "output")
    assert b".journal" in shown
    assert b"/.local/" not in shown
    kept = tmp_path / f"ptycassette-{os.getuid()}"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


def test_without_locks_a_recording_that_runs_is_not_recovered(disk: Run, tmp_path: Path) -> None:
    """The journal names its recorder, and `rec` says what is not noticed."""
    inside = f'env -u X "{COMMAND}" recover --all; "{COMMAND}" recover'
    lacks = "flock=ENOLCK"
    words = ("rec", "--headless", "x.cassette", "--", "sh", "-c", inside)
    ran = disk(lacks, *words, REFUSE_BELOW="/")

    assert ran.returncode == 0, ran.stderr
    assert "without locks" in ran.stderr
    assert "PTYCASSETTE_STATE_DIR" in ran.stderr
    with open_cassette(tmp_path / "disk" / "x.cassette"):
        pass


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_the_umask_decides_who_may_read(mask: int, given: Path, tmp_path: Path) -> None:
    """Of cassettes, scrubbed or not, of exports, reports and what is edited; over pipes, too."""
    shutil.copytree(given / "ok.cassette", tmp_path / "ok.cassette")
    for words in (
        ("rec", "-q", "--headless", "--no-scrub", "a.cassette", "--", "echo", "hi"),
        ("rec", "-q", "--headless", "b.cassette", "--", "echo", "hi"),
        ("rec", "-q", "--headless", "--overwrite", "b.cassette", "--", "echo", "hi"),
        ("rec", "-q", "--pipes", "c.cassette", "--", "echo", "hi"),
        ("rec", "-q", "--headless", "--timeout", "10ms", "f.cassette", "--", "sleep", "60"),
        ("export", "b.cassette", "e.html"),
        ("export", "b.cassette", "e.cast"),
        ("import", "e.cast", "-o", "i.cassette"),
        ("edit", "annotate", "b.cassette", "note", "--at", "0s", "-o", "n.cassette"),
        ("edit", "join", "b.cassette", "b.cassette", "-o", "j.cassette"),
    ):
        subprocess.run(
            [COMMAND, *words],
            cwd=tmp_path,
            umask=mask,
            check="--timeout" not in words,
            timeout=120,
            capture_output=True,
        )

    made = [path for path in tmp_path.glob("[a-np-z]*") if path.name != "ok.cassette"]
    assert len(made) == 9
    for path in [inner for one in made for inner in (one, *one.glob("*"))]:
        full = 0o777 if path.is_dir() else 0o666
        assert stat.S_IMODE(path.stat().st_mode) == full & ~mask, path
