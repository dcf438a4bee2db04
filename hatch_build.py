"""Three things are made for the wheel: what is compiled, tables, and the manual page.

Two C files are compiled where there is a compiler; without one, Python does their work. The hot
loop of the recorder is a plain shared library (``ptycassette/recording/io/relay.c``), and what
starts programs is an executable (``ptycassette/system/pty/launch.c``). Both need no headers of
Python, and fit every version of it. The tables are what Python reads in our TOML files, see
``ptycassette/model/toml_text.py``. The page is what ``ptycassette man`` prints; installed in
``share/man`` of an environment, ``man ptycassette`` finds it by the PATH (manpath(1)).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MANUAL = "share/man/man1/ptycassette.1"
SHARED = ("-fPIC", "-shared")
COMPILED = (
    ("ptycassette/recording/io/relay.c", "ptycassette/recording/io/_relay.so", SHARED),
    ("ptycassette/system/pty/launch.c", "ptycassette/system/pty/_launch", ()),
)
"""Source, what is made of it, and the flags for it alone."""
TABLES = "ptycassette/_tables.json"
WITH_TABLES = ("profiles", "scrub/rules", "scrub/typed")
"""What a recording reads."""
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra")
COMPILERS = ("cc", "gcc", "clang")
TIMEOUT_S = 120


class RelayHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles, makes tables and the manual page, and adds them to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make all; say why not, where that fails."""
        self._compile(build_data)
        if self.target_name == "wheel" and version == "standard":
            self._write_manual(build_data)
            self._write_tables(build_data)

    def _write_tables(self, build_data: dict[str, Any]) -> None:
        try:
            (Path(self.root) / TABLES).write_bytes(tables(Path(self.root)))
        except OSError as exc:  # somebody else's clone, or a read-only disk
            self.app.display_warning(f"commands will start slower, without their tables: {exc}")
            return
        build_data["artifacts"].append(TABLES)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel now, and would be in the way of changes here."""
        del version, build_data, artifact_path
        self._manual.unlink(missing_ok=True)
        (Path(self.root) / TABLES).unlink(missing_ok=True)

    @property
    def _manual(self) -> Path:
        return Path(self.root) / "ptycassette.1"

    def _write_manual(self, build_data: dict[str, Any]) -> None:
        if not (Path(self.root) / "ptycassette/cli").is_dir():
            return
        try:
            self._manual.write_bytes(manual_page(Path(self.root)))
        except (OSError, subprocess.SubprocessError) as exc:
            why = (getattr(exc, "stderr", None) or str(exc)).strip()
            self.app.display_warning(f"there will be no manual page: {why}")
            return
        build_data["shared_data"] = {str(self._manual): MANUAL}

    def _compile(self, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if self.target_name != "wheel" or sys.platform != "linux":
            return
        for source, target, flags in COMPILED:
            try:
                compile_source(root / source, root / target, flags)
            except (OSError, subprocess.SubprocessError) as exc:
                why = (getattr(exc, "stderr", None) or str(exc)).strip()
                self.app.display_warning(f"Python will do the work of {source}: {why}")
                continue
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            build_data["artifacts"].append(target)


def tables(root: Path) -> bytes:
    """The tables in the TOML files of the package, by the digests of their texts."""
    folders = [root / "ptycassette" / name for name in WITH_TABLES]
    files = sorted(file for folder in folders for file in folder.rglob("*.toml"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    made = {sha256(text.encode()).hexdigest(): tomllib.loads(text) for text in texts}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def manual_page(root: Path) -> bytes:
    """The manual page of the commands below ``root``.

    Raises:
        subprocess.SubprocessError: they cannot be asked.
    """
    path = os.pathsep.join(
        [str(root), *sys.path]
    )  # pip's isolated builds have packages there alone
    asked = subprocess.run(
        [sys.executable, "-m", "ptycassette", "man"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        check=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return asked.stdout.encode("utf-8")


def compile_source(source: Path, target: Path, flags: Sequence[str]) -> None:
    """Compile a file; there is the old result or the new one, never half of one.

    Raises:
        OSError: there is no compiler, or the folder cannot be written to.
        subprocess.SubprocessError: the compiler failed.
    """
    made = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        subprocess.run(
            [*compiler(), *FLAGS, *flags, "-o", str(made), str(source)],
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        made.replace(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        made.unlink(missing_ok=True)


def compiler() -> list[str]:
    """``CC``, or the first that is here.

    Raises:
        FileNotFoundError: there is none.
    """
    if chosen := os.environ.get("CC"):
        return shlex.split(chosen)
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise FileNotFoundError("there is no C compiler")
