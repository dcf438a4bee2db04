"""Cassettes go through git and come back byte for byte, whatever the repository is set to."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette import use
from ptycassette.cassette.layout import GIT_ATTRIBUTES
from ptycassette.cli import main
from ptycassette.model.records import Finished, Noted, Output, Typed
from ptycassette.testing import write_cassette
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

GIT = shutil.which("git")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(GIT is None, reason="git is not installed"),
]

ROOT = Path(__file__).parents[2]
OUTPUT = b"one\r\ntwo\nthree\r\r\nfour\r$Id$ $Format:%H$ trailing \r\n\r\n"
"""Every kind of line end, and what git expands if it is told to."""


def git(folder: Path, *words: str, data: bytes | None = None) -> bytes:
    """What git prints, without any setting of this machine."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "n", f"GIT_{role}_EMAIL": "n@example.invalid"}
    done = subprocess.run(
        [str(GIT), "-C", str(folder), *words],
        input=data,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a directory."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def repository(folder: Path, attributes: str = "") -> Path:
    """A repository with one commit: its attributes."""
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / GIT_ATTRIBUTES).write_text(f"{attributes}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "attributes")
    return folder


def ran(*words: object) -> None:
    """Run a command of ours to its end."""
    assert main([str(word) for word in words]) == 0


def _recorded(target: Path) -> None:
    ran("rec", "-q", "--headless", target, "--", "printf", "one\ntwo\n")


def _used(target: Path) -> None:
    command = [sys.executable, "-c", "print('one')"]
    with use(target, command, mode="record") as session:
        session.wait_exit()


def _edited(target: Path) -> None:
    write_cassette(target.with_name("source"), Output(0, OUTPUT), Output(2_000_000, b"\r\nend"))
    ran("edit", "idle", target.with_name("source"), "1", "-o", target)


def _imported(target: Path) -> None:
    cast = target.with_name("some.cast")
    cast.write_text('{"version":2,"width":80,"height":24}\n[0.1,"o","one\\r\\ntwo\\n"]\n')
    ran("import", cast, "-o", target)


def _migrated(target: Path) -> None:
    ran("migrate", ROOT / "fixtures" / "v1" / "unpinned", "-o", target)


def _scrubbed(target: Path) -> None:
    write_cassette(target.with_name("source"), Output(0, OUTPUT))
    ran("scrub", target.with_name("source"), "--output", target)


def _written(target: Path) -> None:
    write_cassette(target, Output(0, OUTPUT), Typed(1, b"hi\r"), Noted(2, {"a": "$Id$ \r\n"}))


MAKERS: dict[str, Callable[[Path], None]] = {
    "rec": _recorded,
    "use": _used,
    "edit": _edited,
    "import": _imported,
    "migrate": _migrated,
    "scrub": _scrubbed,
    "write": _written,
}
ATTRIBUTES = [
    "",
    "* text=auto",
    "* text eol=crlf",
    "*.jsonl text eol=crlf",
    "* text=auto eol=crlf ident",
    "* export-subst",
    "*.json working-tree-encoding=UTF-16LE",
    "*.jsonl merge=union",
]
SETTINGS = ["core.autocrlf=false", "core.autocrlf=true", "core.autocrlf=input", "core.eol=crlf"]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_cassette_of_every_maker_comes_back_byte_for_byte(tmp_path: Path, maker: str) -> None:
    """It is committed and cloned where every line end is converted, in a folder below the top."""
    place = repository(tmp_path / "origin", "* text eol=crlf")
    target = place / "tests" / "deep" / "c.cassette"
    target.parent.mkdir(parents=True)
    MAKERS[maker](target)
    git(place, "add", str(target))
    git(place, "commit", "-qm", "cassette")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "origin", "clone")

    assert files_of(tmp_path / "clone" / "tests" / "deep" / "c.cassette") == files_of(target)


def test_every_place_that_publishes_a_cassette_is_known() -> None:
    """Each adds the file for git; a new one belongs into this list, and into the makers above."""
    modules = {
        str(path.relative_to(ROOT / "ptycassette"))
        for path in (ROOT / "ptycassette").rglob("*.py")
        if re.search(r"(?<!class )\bStaging\(", path.read_text(encoding="utf-8"))
    }
    assert modules == {
        "cassette/io/migrating.py",
        "cassette/io/repair.py",
        "cassette/io/writer.py",
        "cli/_promoting.py",
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_no_setting_of_git_changes_a_cassette(
    tmp_path: Path, attributes: str, setting: str
) -> None:
    """A clone, an archive, a stash and a switch of branches give back what was committed."""
    place = repository(tmp_path / "origin", attributes)
    target = place / "c.cassette"
    _written(target)
    made = files_of(target)
    git(place, "-c", setting, "add", "c.cassette")
    git(place, "-c", setting, "stash")
    assert not target.exists()
    git(place, "-c", setting, "stash", "pop")
    assert files_of(target) == made

    git(place, "-c", setting, "commit", "-qm", "cassette")
    git(tmp_path, "-c", setting, "clone", "-q", "origin", "clone")
    assert files_of(tmp_path / "clone" / "c.cassette") == made
    git(place, "-c", setting, "archive", "-o", str(tmp_path / "a.tar"), "HEAD")
    (tmp_path / "archive").mkdir()
    subprocess.run(["/bin/tar", "-xf", "a.tar", "-C", "archive"], cwd=tmp_path, check=True)
    assert files_of(tmp_path / "archive" / "c.cassette") == made
    git(place, "-c", setting, "switch", "-q", "--detach", "HEAD~1")
    git(place, "-c", setting, "switch", "-q", "-")
    assert files_of(target) == made


@pytest.mark.parametrize("how", ["am", "apply"])
def test_a_patch_brings_a_cassette_byte_for_byte(tmp_path: Path, how: str) -> None:
    """``git am`` removes CRs from patches of text, so files of bytes have none."""
    place = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "origin", "clone")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    clone = tmp_path / "clone"
    if how == "am":
        git(clone, "am", "-q", data=git(place, "format-patch", "-1", "--stdout"))
    else:
        patch = git(place, "diff", "--binary", "HEAD~1", "HEAD")
        git(clone, "apply", "--whitespace=fix", data=patch)

    assert files_of(clone / "c.cassette") == files_of(place / "c.cassette")


@pytest.mark.parametrize("remedy", ["verify", "restore"])
def test_a_patch_in_a_clone_that_writes_cr_lf_is_put_right(
    tmp_path: Path, run: Run, remedy: str
) -> None:
    """Git reads the attributes before it writes them; what it commits is right."""
    place = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", "origin", "clone")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    clone = tmp_path / "clone"
    git(clone, "am", "-q", data=git(place, "format-patch", "-1", "--stdout"))
    assert "verify --fix" in said(run, "verify", clone / "c.cassette")[1]
    if remedy == "verify":
        assert said(run, "verify", "--fix", clone / "c.cassette")[0] == 0
    else:
        shutil.rmtree(clone / "c.cassette")  # git may believe that its files are as committed
        git(clone, "restore", "c.cassette")

    assert files_of(clone / "c.cassette") == files_of(place / "c.cassette")
    git(clone, "add", "-A")  # git remembers the lengths of what it wrote
    assert git(clone, "status", "--porcelain") == b""


def test_two_recordings_are_never_mixed_line_by_line(tmp_path: Path) -> None:
    """A conflict leaves the files of one side, without markers."""
    place = repository(tmp_path / "origin")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    for branch, text in (("one", b"one\r\n"), ("other", b"other\r\n")):
        git(place, "switch", "-q", "-C", branch, "HEAD" if branch == "one" else "one~1")
        write_cassette(place / "c.cassette", Output(0, text), Finished(t_us=5), overwrite=True)
        git(place, "commit", "-qam", branch)
    kept = files_of(place / "c.cassette")
    with pytest.raises(AssertionError):
        git(place, "merge", "one")

    assert files_of(place / "c.cassette") == kept


def unprotected(folder: Path, output: bytes = OUTPUT) -> Path:
    """A cassette as earlier versions wrote it."""
    write_cassette(folder, Output(0, output), Typed(1, b"hi\r"), Noted(2, {"a": "$Id$"}))
    (folder / GIT_ATTRIBUTES).unlink()
    return folder


def said(run: Run, *words: object) -> tuple[int, str]:
    """The status and all that a command prints, on one line."""
    done = run(*words)
    return done.status, " ".join(f"{done.text} {done.err}".split())


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "CRs removed": (lambda data: data.replace(b"\r\n", b"\n"), "CRs"),
    "CRs added": (lambda data: re.sub(rb"(?<!\r)\n", b"\r\n", data), "CRs"),
    "a newline at the end": (lambda data: data + b"\n", "newline"),
    "no newlines at the end": (lambda data: data.removesuffix(b"\n"), "newline"),
    "$Id$": (lambda data: data.replace(b"$Id$", b"$Id: " + b"0f" * 20 + b" $"), "$Id$"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("names", [("output.raw",), ("frames.jsonl",), ("manifest.json",), ()])
def test_what_is_named_is_restored_byte_for_byte(
    tmp_path: Path, run: Run, damage: str, names: tuple[str, ...]
) -> None:
    """In one file or in all; the error says what happened and how to undo it."""
    change, word = DAMAGES[damage]
    place = tmp_path / "c.cassette"
    _written(place)
    made = files_of(place)
    changed = {name: change(data) for name, data in made.items() if not names or name in names}
    changed.pop(GIT_ATTRIBUTES, None)
    changed = {name: data for name, data in changed.items() if data != made[name]}
    if not changed:
        pytest.skip("the file holds nothing of that kind")
    for name, data in changed.items():
        (place / name).write_bytes(data)
    status, text = said(run, "verify", place)
    if set(changed) != {"manifest.json"}:  # a reader takes any white space there
        assert status == 4
        assert word in text
        assert f"verify --fix {place}" in text
    status, text = said(run, "verify", "--fix", place)

    assert status == 0, text
    assert "restored" in text
    assert files_of(place) == made
    assert [path.name for path in tmp_path.iterdir()] == ["c.cassette"]


def _pointer(data: bytes) -> bytes:
    version = b"version https://git-lfs.github.com/spec/v1\n"
    return version + b"oid sha256:%s\nsize %d\n" % (b"0" * 64, len(data))


def _annexed(data: bytes) -> bytes:
    return b"/annex/objects/SHA256E-s%d--00.raw\n" % len(data)


def _conflict(data: bytes) -> bytes:
    return b"<<<<<<< HEAD\n" + data + b"=======\n" + data + b">>>>>>> other\n"


@pytest.mark.parametrize("name", ["output.raw", "frames.jsonl", "final.json", "manifest.json"])
@pytest.mark.parametrize(
    "damage",
    [
        (_pointer, "Git LFS", "git lfs pull"),
        (_annexed, "git-annex", "git annex get"),
        (_conflict, "conflict", "--ours"),
    ],
    ids=["LFS", "annex", "conflict"],
)
def test_what_cannot_be_restored_is_named_with_its_remedy(
    tmp_path: Path,
    run: Run,
    name: str,
    damage: tuple[Callable[[bytes], bytes], str, str],
) -> None:
    """In whichever file it is; ``--fix`` changes nothing then."""
    change, word, remedy = damage
    place = tmp_path / "c.cassette"
    _written(place)
    (place / name).write_bytes(change((place / name).read_bytes()))
    made = files_of(place)
    for words in (["verify"], ["verify", "--fix"], ["info"]):
        status, text = said(run, *words, place)
        if words != ["info"] or name == "manifest.json":
            assert status == 4
            assert word in text
            assert remedy in text
    assert files_of(place) == made


def test_other_bytes_are_never_restored(tmp_path: Path, run: Run) -> None:
    """A byte that was changed by hand, and line ends that were changed, too."""
    place = unprotected(tmp_path / "c.cassette")
    raw = (place / "output.raw").read_bytes().replace(b"one\r\n", b"One\n")
    (place / "output.raw").write_bytes(raw)
    made = files_of(place)
    status, text = said(run, "verify", "--fix", place)

    assert (status, "record it again" in text) == (4, True)
    assert files_of(place) == made


def test_verify_says_which_cassettes_are_at_risk(tmp_path: Path, run: Run) -> None:
    """Only in a work tree, and until they are protected."""
    assert "at risk" not in said(run, "verify", unprotected(tmp_path / "c.cassette"))[1]
    place = repository(tmp_path / "origin")
    target = unprotected(place / "deep" / "c.cassette")
    status, text = said(run, "verify", target)
    assert status == 0
    assert f"verify --fix {target}" in text
    (place / GIT_ATTRIBUTES).write_text("*.json -text\n*.jsonl -text\n*.raw -text\n")
    assert "git am" in said(run, "verify", target)[1]
    (place / GIT_ATTRIBUTES).write_text("")

    assert "added" in said(run, "verify", "--fix", target)[1]
    status, text = said(run, "verify", target)
    assert (status, "at risk" in text) == (0, False)
    assert json.loads(run("verify", "--json", target).text)["cassettes"][0]["git_risks"] == []


def test_a_file_that_git_leaves_out_is_a_risk_here_and_named_in_a_clone(
    tmp_path: Path, run: Run
) -> None:
    """``*.raw`` is in many lists of ignored files."""
    place = repository(tmp_path / "origin")
    (place / ".gitignore").write_text("*.raw\n")
    _written(place / "c.cassette")
    status, text = said(run, "verify", place / "c.cassette")
    assert (status, ".gitignore:1: *.raw" in text, "git add -f" in text) == (0, True, True)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    git(tmp_path, "clone", "-q", "origin", "clone")

    status, text = said(run, "verify", tmp_path / "clone" / "c.cassette")
    assert (status, "never committed" in text) == (4, True)


@pytest.mark.parametrize("why", ["ignored", "forgotten"])
def test_a_gitattributes_that_is_not_committed_is_a_risk(
    tmp_path: Path, run: Run, why: str
) -> None:
    """A rule for hidden files leaves it out, and so does ``git add c.cassette/*``."""
    place = repository(tmp_path / "origin")
    target = place / "c.cassette"
    _written(target)
    (place / ".gitignore").write_text(".*\n!.gitignore\n" if why == "ignored" else "")
    git(place, "add", ".gitignore", *(str(one) for one in target.iterdir() if one.name[0] != "."))
    git(place, "commit", "-qm", "cassette")
    status, text = said(run, "verify", target)

    assert status == 0
    assert ".gitattributes" in text
    assert f"git add {'-f ' if why == 'ignored' else ''}{target}" in text
    git(place, "add", "-f", str(target))
    git(place, "commit", "-qm", "all of it")
    assert "at risk" not in said(run, "verify", target)[1]


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
@pytest.mark.parametrize("fetched", [True, False])
def test_a_cassette_in_lfs_comes_back_or_says_what_to_fetch(
    tmp_path: Path, run: Run, fetched: bool
) -> None:
    """LFS is the user's own choice, so the cassette leaves its filter on."""
    lines = ["*.raw filter=lfs diff=lfs merge=lfs -text", "*.jsonl filter=lfs -text"]
    place = repository(tmp_path / "origin", "\n".join(lines))
    git(place, "lfs", "install", "--local")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    assert git(place, "show", "HEAD:c.cassette/output.raw").startswith(b"version https://git-lfs")
    smudge = ["-c", "filter.lfs.smudge=git-lfs smudge %f", "-c", "filter.lfs.required=true"]
    if not fetched:
        smudge = []
    git(tmp_path, *smudge, "clone", "-q", "origin", "clone")
    clone = tmp_path / "clone" / "c.cassette"
    if fetched:
        assert files_of(clone) == files_of(place / "c.cassette")
    status, text = said(run, "verify", clone)
    assert (status, "git lfs pull" in text) == ((0, False) if fetched else (4, True))


def test_what_was_damaged_at_commit_is_seen_by_its_author(tmp_path: Path, run: Run) -> None:
    """The copy of the author is valid; ``--fix`` and a commit make every clone valid, too."""
    place = repository(tmp_path / "origin", "* text=auto")
    target = unprotected(place / "c.cassette", b"one\r\ntwo\r\n")
    git(place, "-c", "core.safecrlf=false", "add", "-A")
    git(place, "commit", "-qm", "cassette")
    assert "line ends" in said(run, "verify", target)[1]
    assert f"git add --renormalize {target}" in said(run, "verify", "--fix", target)[1]
    git(place, "add", "--renormalize", str(target))
    git(place, "add", str(target))
    git(place, "commit", "-qm", "again")
    assert "at risk" not in said(run, "verify", target)[1]
    git(tmp_path, "clone", "-q", "origin", "clone")

    assert files_of(tmp_path / "clone" / "c.cassette") == files_of(target)


@pytest.mark.parametrize(
    ("attributes", "setting"),
    [
        ("* text=auto", "core.autocrlf=false"),
        ("* text eol=crlf", "core.autocrlf=false"),
        ("", "core.autocrlf=true"),
        ("", "core.autocrlf=input"),
    ],
)
def test_a_damaged_clone_of_an_old_cassette_is_restored(
    tmp_path: Path, run: Run, attributes: str, setting: str
) -> None:
    """In the clone, from nothing but what is in it."""
    place = repository(tmp_path / "origin", attributes)
    target = unprotected(place / "c.cassette")
    made = files_of(target)
    git(place, "-c", setting, "-c", "core.safecrlf=false", "add", "-A")
    git(place, "commit", "-qm", "cassette")
    git(tmp_path, "-c", setting, "clone", "-q", "origin", "clone")
    clone = tmp_path / "clone" / "c.cassette"
    said(run, "verify", "--fix", clone)
    now = files_of(clone)

    assert now.pop(GIT_ATTRIBUTES)
    assert now == made


def test_what_a_sparse_checkout_leaves_out_is_named(tmp_path: Path, run: Run) -> None:
    """The whole cassette, or one file of it."""
    place = repository(tmp_path / "origin")
    _written(place / "tests" / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    git(place, "sparse-checkout", "set", "--no-cone", "/.gitattributes")
    status, text = said(run, "verify", place / "tests" / "c.cassette")
    assert (status, "git sparse-checkout add" in text) == (3, True)
    git(place, "sparse-checkout", "set", "--no-cone", "/*", "!*.raw")
    status, text = said(run, "verify", place / "tests" / "c.cassette")
    assert (status, "git sparse-checkout add" in text) == (4, True)
    git(place, "sparse-checkout", "disable")
    (place / "tests" / "c.cassette" / "output.raw").unlink()
    status, text = said(run, "verify", place / "tests" / "c.cassette")
    assert (status, "git restore" in text) == (4, True)


@pytest.mark.parametrize("name", ["output.raw", "manifest.json", "input.jsonl"])
@pytest.mark.parametrize("when", ["clean", "smudge"])
def test_a_filter_that_changes_a_file_is_named(
    tmp_path: Path, run: Run, when: str, name: str
) -> None:
    """Where git has the right bytes, they are restored. The filter is not run to find that out."""
    home = repository(tmp_path / "home", f"{name} filter=shout")
    damage = f"echo ran >> {tmp_path / 'log'}; tr eo EO"
    keep = "cat"
    path = home / "my.cassette"
    _written(path)
    risk = said(run, "verify", path)
    for role in ("clean", "smudge"):
        git(home, "config", f"filter.shout.{role}", damage if role == when else keep)
    git(home, "add", "-A")
    git(home, "commit", "-qm", "one")
    whole = files_of(path)
    (path / name).unlink()
    git(home, "checkout", "--", "my.cassette")
    (tmp_path / "log").unlink()
    damaged = (path / name).read_bytes()

    status, hint = said(run, "verify", path)
    assert (status, damaged == whole[name]) == (4, False)
    assert f"{name}: " in hint
    assert "filter shout of git" in hint if when == "smudge" else "as the filter shout" in hint
    assert "**/my.cassette/** -filter" in hint
    assert risk[0] == 0
    assert "filter shout of git may change" in risk[1]
    fixed, _ = said(run, "verify", "--fix", path)
    assert fixed == (0 if when == "smudge" else 4)
    assert files_of(path)[name] == (whole[name] if when == "smudge" else damaged)
    assert not (tmp_path / "log").exists()


def test_a_filter_that_is_known_to_lose_nothing_is_no_risk(tmp_path: Path, run: Run) -> None:
    """Nor is one that is switched off, as the hint advises."""
    home = repository(tmp_path / "home", "* filter=git-crypt\n**/other.cassette/** -filter")
    for name in ("my.cassette", "other.cassette"):
        _written(home / name)
        git(home, "add", "-A")

        assert "of git may change" not in said(run, "verify", home / name)[1]


def test_a_submodule_that_was_not_fetched_is_named(tmp_path: Path, run: Run) -> None:
    """Its folder is there, and empty."""
    library = repository(tmp_path / "library")
    _written(library / "c")
    for file in (library / "c").iterdir():
        file.rename(library / file.name)
    git(library, "add", "-A")
    git(library, "commit", "-qm", "cassette")
    place = repository(tmp_path / "origin")
    git(place, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "c")
    git(place, "commit", "-qm", "submodule")
    git(tmp_path, "clone", "-q", "origin", "clone")
    status, text = said(run, "verify", tmp_path / "clone" / "c")
    below, there = said(run, "verify", tmp_path / "clone" / "c" / "tests" / "other.cassette")

    assert (status, "git submodule update --init" in text) == (4, True)
    assert (below, "git submodule update --init" in there) == (3, True)


def test_the_hint_of_a_fix_that_was_tried_is_not_to_try_it(tmp_path: Path, run: Run) -> None:
    """Line ends were changed everywhere, and one file was written anew, or left out."""
    place = repository(tmp_path / "origin")
    target = unprotected(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    for file in target.glob("*.json*"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    final = target / "final.json"
    as_it_was = final.read_bytes()
    final.write_text(json.dumps(json.loads(as_it_was), indent=4))
    status, text = said(run, "verify", "--fix", target)
    assert (status, "final.json" in text.split("hint:")[1], "--fix" in text) == (4, True, False)
    final.write_bytes(as_it_was)
    (target / "output.raw").unlink()
    for words in ((), ("--fix",)):
        status, text = said(run, "verify", *words, target)
        assert (status, "git restore" in text, "--fix" in text) == (4, True, False)


def test_a_rule_that_goes_before_those_of_a_cassette_is_named(tmp_path: Path, run: Run) -> None:
    """The attributes of a clone itself are stronger than those of any folder."""
    place = repository(tmp_path / "origin")
    _written(place / "c.cassette")
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text("* text eol=crlf\n")
    status, text = said(run, "verify", "--fix", place / "c.cassette")

    assert status == 0
    assert "at risk" in text
    assert ".git/info/attributes" in text
    assert "verify --fix" not in text


def test_a_hook_of_git_asks_its_own_work_tree(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git leads its hooks to a repository by variables, which are not those of the cassette."""
    place = repository(tmp_path / "origin")
    target = unprotected(place / "c.cassette")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere" / "index"))

    assert "at risk" in said(run, "verify", target)[1]


def test_lines_of_the_user_stay(tmp_path: Path, run: Run) -> None:
    """What is in the file for git is kept, and ours come behind it."""
    place = tmp_path / "c.cassette"
    _written(place)
    ours = (place / GIT_ATTRIBUTES).read_bytes()
    (place / GIT_ATTRIBUTES).write_text("*.json linguist-generated")
    run("verify", "--fix", place)
    assert (place / GIT_ATTRIBUTES).read_bytes() == b"*.json linguist-generated\n" + ours
    run("verify", "--fix", place)
    assert (place / GIT_ATTRIBUTES).read_bytes() == b"*.json linguist-generated\n" + ours


def test_without_git_nothing_is_asked(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without git verifies and restores all the same."""
    place = repository(tmp_path / "origin")
    target = unprotected(place / "c.cassette")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert said(run, "verify", target)[0] == 0
    raw = (target / "output.raw").read_bytes()
    (target / "output.raw").write_bytes(raw.replace(b"\r\n", b"\n"))
    assert said(run, "verify", "--fix", target)[0] == 0
    (target / "output.raw").unlink()
    status, text = said(run, "verify", "--fix", target)
    assert (status, "never committed" in text) == (4, False)


def test_a_repository_that_git_refuses_says_nothing(tmp_path: Path, run: Run) -> None:
    """As that of another user, or one that is broken."""
    place = repository(tmp_path / "origin")
    target = unprotected(place / "c.cassette")
    (place / ".git" / "config").write_text("[core")
    assert said(run, "verify", target)[0] == 0
    (target / "output.raw").unlink()
    status, text = said(run, "verify", target)

    assert (status, "never committed" in text, "fetch the cassette again" in text) == (
        4,
        False,
        True,
    )
