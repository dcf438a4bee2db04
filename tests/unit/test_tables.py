"""Tables that were made when the package was built stand for the texts of their files."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import msgspec
import pytest

from ptycassette.model import toml_text as _tables

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    file
    for folder in ("profiles", "scrub/rules", "typed")
    for file in (ROOT / "ptycassette" / folder).rglob("*.toml")
)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a wheel."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = msgspec.json.decode(module.tables(ROOT), type=dict[str, msgspec.Raw])
    monkeypatch.setattr(_tables, "_made", lambda: made)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_table_is_what_the_parser_reads(path: Path) -> None:
    """Of every file that a recording reads."""
    text = path.read_text(encoding="utf-8")

    assert _tables.made_table(text) == tomllib.loads(text)


@pytest.mark.usefixtures("built")
def test_a_file_that_was_changed_is_parsed() -> None:
    """What stands for the old text does not stand for the new one."""
    text = FILES[0].read_text(encoding="utf-8") + "\nadded = 1\n"

    assert _tables.made_table(text) is None
    assert _tables.table_of(text) == tomllib.loads(text)


def test_a_checkout_has_no_tables() -> None:
    """Its files change, and are parsed."""
    importlib.import_module("ptycassette.scrub.rules")
    _tables._made.cache_clear()

    assert _tables.made_table(FILES[0].read_text(encoding="utf-8")) is None
    assert _tables.package_table("ptycassette.scrub.rules", "files.toml")["home"]
