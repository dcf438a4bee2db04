"""The same recording in another form: nothing but the manifest changes, and it comes back."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette import errors, open_cassette
from ptycassette.cassette.io.migrating import migrate_cassette
from ptycassette.cassette.ladder import LADDER, NEWEST, descended
from ptycassette.cassette.layout import GIT_ATTRIBUTES

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
OLDEST = LADDER[0].name
REFERENCE = "go-written-1"
OLD = ["unpinned", "go-spelling", REFERENCE]


def files_of(path: Path) -> dict[str, bytes]:
    """All files of a directory, but for what each writer adds for git."""
    return {one.name: one.read_bytes() for one in path.iterdir() if one.name != GIT_ATTRIBUTES}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of an unpinned cassette, in a directory of its own."""
    return Path(shutil.copytree(FIXTURES / "v1" / "unpinned", tmp_path / "in" / "old"))


@pytest.mark.parametrize("name", OLD)
def test_up_pins_everything_and_down_gives_the_same_bytes(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Files that are not the manifest never change; a file that nobody knows is pinned, too."""
    path = FIXTURES / "v1" / name
    if name == REFERENCE:
        path = request.getfixturevalue("reference") / "cassettes" / name
    old = Path(shutil.copytree(path, tmp_path / "old"))
    old.chmod(0o755)
    (old / "notes.txt").write_text("by hand")
    up = migrate_cassette(old, tmp_path / "up", by="test")
    down = migrate_cassette(tmp_path / "up", tmp_path / "down", to=OLDEST)

    with open_cassette(tmp_path / "up") as cassette:
        assert cassette.pinned
    assert files_of(tmp_path / "down") == files_of(old)
    assert {**files_of(tmp_path / "up"), "manifest.json": b""} == {
        **files_of(old),
        "manifest.json": b"",
    }
    assert (up.was, up.now, up.reversible, down.reversible) == (OLDEST, NEWEST, True, True)
    assert up.files == len(files_of(old)) - 1


def _manifest(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the manifest of a cassette."""
    document = json.loads((path / "manifest.json").read_text())
    change(document)
    (path / "manifest.json").write_text(json.dumps(document))


def _with_a_gap(path: Path) -> None:
    """Bytes that no chunk covers."""
    raw = (path / "output.raw").read_bytes() + b"more"
    (path / "output.raw").write_bytes(raw)
    digest = {"sha256": hashlib.sha256(raw).hexdigest()}
    _manifest(path, lambda document: document.update(content_digest=digest))


def _unscrubbed(path: Path) -> None:
    (path / "scrub-report.json").write_text('{"status": "unscrubbed"}')


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda path: _manifest(path, lambda d: d.update(version=2)), errors.VersionError, "is 2"),
        (lambda path: _manifest(path, lambda d: d.pop("id")), errors.ManifestError, "id"),
        (_with_a_gap, errors.ChunkError, "output"),
        (_unscrubbed, errors.UnscrubbedError, "scrub"),
        (lambda path: (path / "sub").mkdir(), errors.UnsafeFileError, "sub"),
        (lambda path: (path / "x").symlink_to("/etc/passwd"), errors.UnsafeFileError, "x"),
        (lambda path: (path / "-x").write_text(""), errors.ManifestError, "-x"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_migrated_is_refused(
    change: Callable[[Path], None], error: type[Exception], said: str, old: Path, tmp_path: Path
) -> None:
    """With the reason, before anything is written."""
    change(old)
    with pytest.raises(error, match=said):
        migrate_cassette(old, tmp_path / "out" / "new")

    assert not (tmp_path / "out").exists()


def test_the_way_down_needs_the_manifest_of_before(old: Path, tmp_path: Path) -> None:
    """One that was recorded in this form has none; one of another recording is refused."""
    up = tmp_path / "up"
    with pytest.raises(errors.RefusedError, match="was not migrated"):
        migrate_cassette(FIXTURES / "v1" / "minimal", up, to=OLDEST)
    with pytest.raises(errors.UsageError, match="never changes"):
        migrate_cassette(old, old)
    migrate_cassette(old, up, by="test")
    data = (up / "manifest.json").read_bytes()
    forged = data.replace(b'"manifest": "', b'"manifest": "    ').replace(
        rb"\"id\": \"0", rb"\"id\": \"1"
    )

    with pytest.raises(errors.ManifestError, match="another recording"):
        descended(forged, to=OLDEST)
    (up / "manifest.json").write_bytes(forged)
    with pytest.raises(errors.DigestError):
        migrate_cassette(up, tmp_path / "down", to=OLDEST)
