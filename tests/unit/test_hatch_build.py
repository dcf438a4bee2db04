"""The build: a library where there is a compiler, the loop in Python where there is none."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = "ptycassette/_tables.json"
FIND = "while [ $1 != -o ]; do shift; done;"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compiled on Linux alone")


class App:
    """What the build tells its user."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        """Remember it."""
        self.warnings.append(message)


@pytest.fixture
def build() -> ModuleType:
    """``hatch_build.py``, which lies beside the package."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tree with the source, and the library of an earlier build."""
    folder = tmp_path / "ptycassette/recording/io"
    folder.mkdir(parents=True)
    (folder / "relay.c").write_text("int relay_size(void) { return 1; }\n", encoding="ascii")
    (folder / "_relay.so").write_bytes(b"old")
    (tmp_path / "ptycassette/system/pty").mkdir(parents=True)
    (tmp_path / "ptycassette/system/pty/launch.c").write_text("int main(void) {}", encoding="ascii")
    return tmp_path


def compiler(folder: Path, script: str) -> str:
    """A program that stands for the compiler: its output is the word after ``-o``."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    path.chmod(0o700)
    return str(path)


def made(build: ModuleType, checkout: Path, target: str = "wheel") -> tuple[dict[str, Any], App]:
    """What the hook says of a build of that checkout."""
    app = App()
    hook = build.RelayHook(str(checkout), {}, None, None, str(checkout), target, app)
    data: dict[str, Any] = {"pure_python": True, "artifacts": []}
    hook.initialize("standard", data)
    return data, app


def files(checkout: Path) -> list[str]:
    """What lies where the library belongs."""
    return sorted(path.name for path in (checkout / "ptycassette/recording/io").iterdir())


def test_a_compiler_makes_a_library(
    build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel holds it, and is for this platform and every Python."""
    monkeypatch.setenv("CC", f"{compiler(checkout, f'{FIND} echo made > $2')} --word")
    data, app = made(build, checkout)

    library = checkout / "ptycassette/recording/io/_relay.so"
    assert library.read_text(encoding="ascii") == "made\n"
    assert data["artifacts"] == [
        "ptycassette/recording/io/_relay.so", "ptycassette/system/pty/_launch", TABLES,
    ]  # fmt: skip
    assert data["tag"].startswith("py3-none-linux_")
    assert (data["pure_python"], app.warnings) == (False, [])


@pytest.mark.parametrize("script", ['echo "no such header" >&2; exit 1', None])
def test_without_a_compiler_there_is_no_library(
    build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    """It fails, or there is none: the user is told, and an old library does not stay."""
    chosen = compiler(checkout, script) if script else str(checkout / "absent")
    monkeypatch.setenv("CC", chosen)
    data, app = made(build, checkout)

    assert files(checkout) == ["relay.c"]
    assert data == {"pure_python": True, "artifacts": [TABLES]}
    assert len(app.warnings) == 2
    assert ("no such header" if script else "absent") in app.warnings[0]


def test_a_compiler_that_is_killed_leaves_nothing(
    build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither half of a library nor the old one."""
    monkeypatch.setenv("CC", compiler(checkout, f"{FIND} echo half > $2; kill -9 $$"))
    folder = checkout / "ptycassette/recording/io"

    with pytest.raises(subprocess.CalledProcessError):
        build.compile_source(folder / "relay.c", folder / "_relay.so", ())
    assert files(checkout) == ["relay.c"]


def test_a_source_distribution_is_not_compiled(
    build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the source."""
    monkeypatch.setenv("CC", str(checkout / "absent"))
    data, app = made(build, checkout, target="sdist")

    assert (data["pure_python"], app.warnings) == (True, [])


def test_the_manual_page_is_in_the_wheel(build: ModuleType, checkout: Path) -> None:
    """Where ``man`` looks for it; as the commands print it; nothing of it stays in the tree."""
    (checkout / "ptycassette/cli").mkdir()
    (checkout / "ptycassette/__init__.py").touch()
    (checkout / "ptycassette/__main__.py").write_text("print('.TH PAGE 1')", encoding="ascii")
    hook = build.RelayHook(str(checkout), {}, None, None, str(checkout), "wheel", App())
    data: dict[str, Any] = {"pure_python": True, "artifacts": []}
    hook.initialize("standard", data)
    ((page, place),) = data["shared_data"].items()

    assert place == "share/man/man1/ptycassette.1"
    assert Path(page).read_text(encoding="ascii") == ".TH PAGE 1\n"
    hook.finalize("standard", data, "")
    assert not Path(page).exists()


def test_the_manual_page_is_made_with_what_the_build_can_import(
    build: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An isolated build of pip has its packages on its own path alone."""
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "only_here.py").write_text("PAGE = '.TH PAGE 1'", encoding="ascii")
    monkeypatch.syspath_prepend(overlay)
    (checkout / "ptycassette/__init__.py").touch()
    (checkout / "ptycassette/__main__.py").write_text(
        "import only_here; print(only_here.PAGE)", encoding="ascii"
    )

    assert build.manual_page(checkout) == b".TH PAGE 1\n"


def test_the_tables_are_in_the_wheel_alone(build: ModuleType, checkout: Path) -> None:
    """What the parser reads in a file stands under the digest of its text, until it is packed."""
    text = 'a = "é"\n[b]\nc = 1.0\n'
    (checkout / "ptycassette/scrub/typed").mkdir(parents=True)
    (checkout / "ptycassette/scrub/typed/words.toml").write_text(text, encoding="utf-8")
    hook = build.RelayHook(str(checkout), {}, None, None, str(checkout), "wheel", App())
    data: dict[str, Any] = {"pure_python": True, "artifacts": []}
    hook.initialize("standard", data)
    made = json.loads((checkout / TABLES).read_text(encoding="utf-8"))

    assert made == {sha256(text.encode()).hexdigest(): {"a": "é", "b": {"c": 1.0}}}
    hook.finalize("standard", data, "")
    assert not (checkout / TABLES).exists()


def test_a_clone_that_may_not_be_written_to_is_built(build: ModuleType, checkout: Path) -> None:
    """Without what would be made in it; the user is told."""
    (checkout / TABLES).mkdir()
    data, app = made(build, checkout)

    assert TABLES not in data["artifacts"]
    assert "without their tables" in app.warnings[-1]


def test_without_what_the_commands_import_there_is_no_manual_page(
    build: ModuleType, checkout: Path
) -> None:
    """The wheel is made all the same, and the user is told."""
    (checkout / "ptycassette/cli").mkdir()
    (checkout / "ptycassette/__init__.py").touch()
    (checkout / "ptycassette/__main__.py").write_text("import no_such_module", encoding="ascii")
    data, app = made(build, checkout)

    assert "shared_data" not in data
    assert "no_such_module" in app.warnings[-1]


def test_the_first_compiler_that_is_here_is_taken(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``cc``, ``gcc`` or ``clang``."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        build.compiler()
    (tmp_path / "clang").touch(mode=0o700)

    assert build.compiler() == [str(tmp_path / "clang")]
