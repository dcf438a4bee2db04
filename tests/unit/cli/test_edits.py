"""The commands that edit: a new cassette, valid, that says what was done; the old one as it was."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.shell_completion import ShellComplete

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli.entry import MOVED, cli
from ptycassette.model.records import Finished, Noted, Output, Typed
from ptycassette.testing import manifest_of, write_cassette
from tests.unit.cli.conftest import FIXTURES, Run

CODEX = FIXTURES / "agents" / "codex-tui"
TAPED = FIXTURES / "tapes" / "client-tape"


def digest(path: Path) -> str:
    """Of every file in a directory."""
    whole = hashlib.sha256()
    for file in sorted(path.iterdir()):
        whole.update(file.name.encode() + file.read_bytes())
    return whole.hexdigest()


def said(path: Path) -> list[dict[str, Any]]:
    """What the manifest says of the edits."""
    edits: list[dict[str, Any]] = json.loads((path / "manifest.json").read_bytes())["optional"][
        "edited"
    ]
    return edits


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            ["edit", "cut", CODEX, "--from", "1", "--to", "2.5"],
            {"start_us": 10**6, "end_us": 2_500_000},
        ),
        (["edit", "cut", CODEX, "--exchanges", "2-3"], {}),
        (["edit", "trim", CODEX, "--from", "3"], {"start_us": 3 * 10**6}),
        (["edit", "trim", CODEX, "--exchanges", "1"], {}),
        (["edit", "join", CODEX, CODEX, "--gap", "1"], {"gap_us": 10**6}),
        (["edit", "speed", CODEX, "2"], {"factor": 2.0, "start_us": 0}),
        (["edit", "idle", CODEX, "0.2"], {"limit_us": 200_000}),
        (["edit", "annotate", CODEX, "look here", "--at", "3"], {"at_us": 3 * 10**6}),
        (["edit", "mask", CODEX, "--word", "Reading a note"], {"what": "words"}),
        (["edit", "mask", CODEX, "--region", "1,1:30x5"], {"what": "region", "region": "1,1:30x5"}),
        (["edit", "mask", CODEX, "--exchanges", "1"], {"what": "stretch"}),
    ],
    ids=lambda value: "-".join(map(str, value)).replace("/", "") if isinstance(value, list) else "",
)  # fmt: skip
def test_an_edit_makes_a_valid_cassette_that_says_what_was_done(
    run: Run, tmp_path: Path, words: list[Any], arguments: dict[str, Any]
) -> None:
    """With an id of its own; nothing that it hides is in what the manifest says."""
    before = digest(CODEX)
    new = tmp_path / "new.cassette"
    made = run(*words, "-o", new)

    assert (made.status, made.err) == (0, "")
    assert f"{words[1]} of" in made.text
    assert digest(CODEX) == before
    assert run("verify", new).status == 0
    (edit,) = said(new)
    assert edit["operation"] == words[1]
    assert {**edit, **arguments} == edit
    with open_cassette(CODEX) as old, open_cassette(new) as edited:
        assert edit["of"][0]["id"] == old.manifest.id != edited.manifest.id
        assert edited.manifest.harness == old.manifest.harness
        began, begins = (
            datetime.fromisoformat(one.manifest.provenance.recorded_at) for one in (old, edited)
        )
        moved = words[1] == "trim"  # recorded_at is the zero of its times
        assert begins > began if moved else begins == began
        assert edited.final.exit == old.final.exit
    assert f"edited    {words[1]}" in run("info", new).text
    assert "Reading a note" not in str(edit)


def test_edits_of_edits_are_all_told(run: Run, tmp_path: Path) -> None:
    """The first one first."""
    run("edit", "speed", CODEX, "2", "-o", tmp_path / "a")
    run("edit", "idle", tmp_path / "a", "0.1", "-o", tmp_path / "b")

    assert [one["operation"] for one in said(tmp_path / "b")] == ["speed", "idle"]
    assert json.loads(run("info", tmp_path / "b", "--json").text)["edits"] == ["speed", "idle"]


def test_a_masked_word_is_nowhere(run: Run, tmp_path: Path) -> None:
    """Neither in a screen, nor in the input, nor in a title; the report counts it."""
    source = tmp_path / "source"
    write_cassette(
        source,
        Output(0, b"\x1b]2;jane.roe\x07hello jane."),
        Output(1, b"roe, \x1b[1mjane\x1b[m.roe\r\n"),
        Typed(2, b"jane.roe\r"),
        Finished(t_us=3),
    )
    made = run("edit", "mask", source, "--word", "jane.roe", "-o", tmp_path / "new")

    assert made.status == 0
    assert "texts masked" in made.text
    kept = b"".join(file.read_bytes() for file in (tmp_path / "new").iterdir())
    assert b"roe" not in kept
    assert b"hello xxxx" in kept


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["edit", "speed", TAPED, "2"], True),
        (["edit", "idle", TAPED, "0.1"], True),
        (["edit", "annotate", TAPED, "here", "--at", "0"], True),
        (["edit", "mask", TAPED, "--word", "cassette"], True),
        (["edit", "cut", TAPED, "--to", "0.01"], False),
        (["edit", "mask", TAPED, "--from", "0"], False),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_model_traffic_stays_where_it_is_that_of_the_session(
    run: Run, tmp_path: Path, words: list[Any], kept: bool
) -> None:
    """Its keys and fingerprint, too, if no byte of it was masked; else it is said, also later."""
    new = tmp_path / "new"
    made = run(*words, "-o", new)

    assert made.status == 0, made.err
    assert ("without the model traffic" in made.text) is not kept
    assert run("verify", new).status == 0
    with open_cassette(TAPED) as old, open_cassette(new) as edited:
        assert edited.has_tape is kept
        if kept:
            ours, theirs = (
                (cassette.manifest.optional or {})["tape"] for cassette in (edited, old)
            )
            assert ours["key"] == theirs["key"]
            masked = words[1] == "mask"
            assert (ours.get("fingerprint") == theirs["fingerprint"]) is not masked
            if not masked:
                assert [one.entry.key for one in edited.tape()] == [
                    one.entry.key for one in old.tape()
                ]
    if not kept:
        asked = run("tape", new)
        assert asked.status != 0
        assert f"it was edited ({words[1]})" in asked.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["edit", "cut", CODEX], "nothing would be left"),
        (["edit", "cut", CODEX, "--from", "900"], "nothing to cut"),
        (["edit", "cut", CODEX, "--exchanges", "3-2"], "there are no exchanges 3-2"),
        (["edit", "cut", CODEX, "--exchanges", "77"], "it has 0 to"),
        (["edit", "cut", CODEX, "--exchanges", "x"], "takes 3 or 3-5"),
        (["edit", "cut", CODEX, "--exchanges", "1", "--from", "1"], "does not go with"),
        (["edit", "trim", CODEX], "keeps all of it"),
        (["edit", "join", CODEX], "two recordings or more"),
        (["edit", "speed", CODEX, "0"], "above 0"),
        (["edit", "mask", CODEX], "nothing to mask"),
        (["edit", "mask", CODEX, "--word", "a"], "characters or more"),
        (["edit", "mask", CODEX, "--word", "a word", "--from", "1"], "goes everywhere"),
        (["edit", "mask", CODEX, "--region", "0,1:1x1"], "counted from 1"),
        (["edit", "annotate", CODEX, "late", "--at", "900"], "which ends at"),
    ],
    ids=lambda value: "-".join(map(str, value)).replace("/", "") if isinstance(value, list) else "",
)
def test_a_wrong_edit_is_refused_and_writes_nothing(
    run: Run, tmp_path: Path, words: list[Any], message: str
) -> None:
    """With the reason, and the status of wrong use."""
    made = run(*words, "-o", tmp_path / "new")

    assert made.status == 2
    assert message in made.err
    assert not list(tmp_path.iterdir())


def test_an_edit_replaces_nothing_unasked(run: Run, tmp_path: Path) -> None:
    """Neither its own cassette, ever, nor another one without --overwrite."""
    run("edit", "speed", CODEX, "2", "-o", tmp_path / "a")
    before = digest(tmp_path / "a")

    assert run("edit", "idle", tmp_path / "a", "1", "-o", tmp_path / "a", "--overwrite").status == 2
    assert "already" in run("edit", "idle", CODEX, "1", "-o", tmp_path / "a").err
    assert digest(tmp_path / "a") == before
    assert run("edit", "idle", CODEX, "1", "-o", tmp_path / "a", "--overwrite").status == 0
    assert said(tmp_path / "a")[0]["operation"] == "idle"


def digests_of(cassette: Path) -> set[str]:
    """SHA-256 of each file, and of the output as the manifest pins it."""
    return {hashlib.sha256(file.read_bytes()).hexdigest() for file in cassette.iterdir()}


@pytest.mark.parametrize(
    "words",
    [
        ["edit", "mask", "--word", "482913"],
        ["edit", "mask", "--exchanges", "1"],
        ["edit", "cut", "--from", "0", "--to", "0.000001"],
        ["edit", "speed", "2"],
        ["scrub", "--known-file"],
    ],
    ids=lambda words: words[1],
)
def test_no_digest_of_what_was_removed_is_published(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    """A masked number of six digits would be found by trying: also after two edits."""
    source = tmp_path / "source"
    fork = {"type": "fork", "parent": {"id": "p", "manifest_sha256": "ab" * 32}, "at": "tape:1"}
    write_cassette(
        source,
        Output(0, b"number 482913.\r\n"),
        Noted(1, {**fork, "change": "none"}),
        Typed(2, b"482913\r"),
        Output(3, b"ok\r\n"),
        Finished(t_us=4, metadata={"fork": fork}),
        manifest=msgspec.structs.replace(
            manifest_of(),
            optional={
                "edited": [{"operation": "cut", "of": [{"id": "x", "content_sha256": "cd" * 32}]}],
                "imported": {"from": "ttyrec", "sha256": "ef" * 32},
                "migrated": [{"from": "y", "manifest": '{"sha256": "' + "12" * 32 + '"}'}],
            },
        ),
    )
    new = tmp_path / "new"
    if words[0] == "scrub":
        known = tmp_path / "known"
        known.write_text("482913\n")
        made = run("scrub", source, "--known-file", known, "--output", new)
    else:
        made = run(*words[:2], source, *words[2:], "-o", new)
    assert made.status == 0, made.err
    assert run("verify", new).status == 0
    published = b"".join(file.read_bytes() for file in new.iterdir()).decode("latin-1")
    stale = digests_of(source) - digests_of(new) | {pair * 32 for pair in ("ab", "cd", "ef", "12")}

    assert {one for one in stale if one in published} == set()


@pytest.mark.parametrize(
    "words",
    [
        ("trim", CODEX, "--from", "3"),
        ("cut", CODEX, "--exchanges", "2-3"),
        ("join", CODEX, CODEX),
        ("speed", CODEX, "2"),
        ("idle", CODEX, "0.2"),
        ("mask", CODEX, "--word", "Reading a note"),
        ("annotate", CODEX, "look here", "--at", "3"),
        ("cut", CODEX),
        ("speed", CODEX),
        ("mask", "--help"),
    ],
    ids=lambda words: "-".join(map(str, words)).replace("/", ""),
)
def test_the_old_name_of_an_edit_does_the_same_and_names_the_new_one(
    run: Run, tmp_path: Path, words: tuple[Any, ...]
) -> None:
    """Status, stdout and cassette are the same; stderr begins with one line more."""
    old, new = (
        run(*before, *words, "-o", tmp_path / name / "made.cassette")
        for before, name in (((), "old"), (("edit",), "new"))
    )
    name = words[0]
    note, _, rest = old.err.partition("\n")

    assert note == f"note: `ptycassette {name}` is now `ptycassette edit {name}`"
    assert rest.replace(f"ptycassette {name}", f"ptycassette edit {name}") == new.err
    assert (old.status, old.text.replace("/old/", "/new/")) == (
        new.status,
        new.text.replace(f"Usage: ptycassette edit {name}", f"Usage: ptycassette {name}"),
    )
    if (tmp_path / "new" / "made.cassette").exists():
        assert said(tmp_path / "old" / "made.cassette") == said(tmp_path / "new" / "made.cassette")


def test_the_old_names_are_not_listed(run: Run) -> None:
    """``edit`` is listed once, and has them all; completion of the old names stays silent."""
    listed = re.findall(r"^  ([\w-]+)", run("--help").text, re.MULTILINE)
    complete = ShellComplete(cli, {}, "ptycassette", "_PTYCASSETTE_COMPLETE")
    options = complete.get_completions(["trim"], "--fr")

    assert listed.count("edit") == 1
    assert set(MOVED) & set(listed) == set()
    assert list(MOVED) == re.findall(r"^  (\w+)  ", run("edit", "--help").text, re.MULTILINE)
    assert {item.value for item in complete.get_completions([], "tri")} == set()
    assert {item.value for item in complete.get_completions(["edit"], "tri")} == {"trim"}
    assert {item.value for item in options} == {"--from"}
    assert run("cat").err.count("note:") == 0
