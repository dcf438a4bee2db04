"""Session logs are read from disk as their profiles tell: lines, databases, text."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.io.logs import read_logs
from ptycassette.errors import UnreadableError
from ptycassette.profiles.profile import Profile

HEAD = "version = 1\nname = 'x'\ntitle = 'X'\nbinaries = []\nscreens.ready.stable_ms = 1\n"
RULE = "[[logs.events]]\ntype = 'message'\nfields = { role = '=assistant', text = 'text' }\n"
LINES = HEAD + "[[logs]]\nglob = 'logs/*.jsonl'\n" + RULE


def facts(text: str, folder: Path, **more: Any) -> Any:
    """What the logs in a folder tell."""
    return read_logs(Profile.parse(text), home=folder, cwd=folder, **more)


def write(path: Path, text: str, *, mtime: float | None = None) -> None:
    """A log, at a time."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    if mtime is not None:
        os.utime(path, (mtime, mtime))


def test_the_newest_log_counts(tmp_path: Path) -> None:
    """Older sessions lie beside it; its path is told from the home."""
    write(tmp_path / "logs" / "new.jsonl", '{"text": "new"}\n\n', mtime=200)
    write(tmp_path / "logs" / "old.jsonl", '{"text": "old"}\n', mtime=100)
    told, path = facts(LINES, tmp_path)

    assert (told.final_text, path) == ("new", "logs/new.jsonl")
    assert facts(LINES, tmp_path, since_s=300) == (facts(LINES, tmp_path / "none")[0], None)


def test_all_files_of_a_session_count_together(tmp_path: Path) -> None:
    """Those beside the newest one, in the order of their changes; other sessions do not."""
    for name, text, mtime in (("b", "one", 300), ("a", "two", 400), ("../old/c", "no", 350)):
        path = tmp_path / "logs" / f"{name}.json"
        (tmp_path / "logs").mkdir(exist_ok=True)
        write(path, f'[{{"text": "{text}"}}]', mtime=mtime)
    head = HEAD + "[[logs]]\nglob = '*/*.json'\n"
    told, path_of_it = facts(head + "together = true\n" + RULE, tmp_path)
    alone, _ = facts(head + RULE, tmp_path)

    assert [event["text"] for event in told.events] == ["one", "two"]
    assert path_of_it == "logs/a.json"
    assert [event["text"] for event in alone.events] == ["two"]


def test_a_log_may_be_one_document(tmp_path: Path) -> None:
    """Over several lines; one that is torn cannot be read."""
    write(tmp_path / "logs" / "a.json", '{\n "said": [\n  {"text": "hi"}\n ]\n}')
    text = HEAD + "[[logs]]\nglob = 'logs/*'\nformat = 'json'\nrows = 'said'\n" + RULE
    told, _ = facts(text, tmp_path)
    write(tmp_path / "logs" / "a.json", '{\n "said": [')

    assert told.final_text == "hi"
    with pytest.raises(UnreadableError, match="not JSON"):
        facts(text, tmp_path)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """The CLI was killed while it wrote."""
    write(tmp_path / "logs" / "a.jsonl", '{"text": "one"}\n{"text": "t')
    told, _ = facts(LINES, tmp_path)

    assert (told.final_text, told.unread) == ("one", {})


@pytest.mark.parametrize(
    "torn",
    [b'{"text": "t', b'{"text": "t{"text": "u"}', b'{"text": "caf\xe9"}', b"\xff\xfe", b"not JSON"],
)
@pytest.mark.parametrize("before", [b"", b'{"text": "first"}\n'])
def test_a_broken_line_costs_that_line(tmp_path: Path, torn: bytes, before: bytes) -> None:
    """And is counted. The CLI was killed, and the session continued."""
    write(tmp_path / "logs" / "a.jsonl", "")
    (tmp_path / "logs" / "a.jsonl").write_bytes(before + torn + b'\n{"text": "one"}\n')
    told, _ = facts(LINES, tmp_path)

    assert told.final_text == "one"
    assert told.unread == {"rows of broken JSON": 1}


@pytest.mark.parametrize(
    "data",
    [
        b'\xef\xbb\xbf{"text": "one"}\r\n',
        b'\0\0\0\0{"text": "one"}\n\0\0\0\0',
        b'\n \n{"text": "one"}\n\0\0\n',
    ],
)
def test_marks_and_zeros_around_lines_are_nothing(tmp_path: Path, data: bytes) -> None:
    """A byte order mark, and the zeros of a file system that lost power."""
    write(tmp_path / "logs" / "a.jsonl", "")
    (tmp_path / "logs" / "a.jsonl").write_bytes(data)
    told, _ = facts(LINES, tmp_path)

    assert (told.final_text, told.unread) == ("one", {})


def test_a_file_without_a_line_of_json_is_an_error(tmp_path: Path) -> None:
    """It names the first line that is none."""
    write(tmp_path / "logs" / "a.jsonl", "\nDear diary\n{not JSON either}\n")

    with pytest.raises(UnreadableError, match=r"a.jsonl:2: the session log is not JSON"):
        facts(LINES, tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A log is a file."""
    write(tmp_path / "secret.txt", '{"text": "secret"}\n')
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").symlink_to(tmp_path / "secret.txt")

    assert facts(LINES, tmp_path)[1] is None


def test_databases_are_queried_read_only(tmp_path: Path) -> None:
    """Columns with JSON in them are decoded; other text stays."""
    source = "[[logs]]\nglob = 'l.db'\nformat = 'sqlite'\nquery = 'select a, b from t'\n"
    profile = (
        f"{HEAD}{source}"
        "[[logs.events]]\ntype = 'message'\nfields = { text = 'a.text', role = 'b' }\n"
    )
    database = sqlite3.connect(tmp_path / "l.db")
    database.execute("create table t (a text, b text)")
    database.executemany(
        "insert into t values (?, ?)", [('{"text": "hi"}', "assistant"), ("{", "x")]
    )
    database.commit()
    database.close()
    told, _ = facts(profile, tmp_path)

    assert told.events[0] == {"type": "message", "text": "hi", "role": "assistant"}
    with pytest.raises(UnreadableError, match="no such table"):
        facts(profile.replace("from t", "from u"), tmp_path)


def test_text_is_searched_and_logs_are_put_together(tmp_path: Path) -> None:
    """Two sources, one with usage, one with the text."""
    profile = (
        HEAD + "[[logs]]\nglob = 'l.md'\nbase = 'cwd'\nformat = 'text'\n"
        r"regex = 'Tokens: (?P<sent>\S+) sent. Cost: (?P<cost>\S+)'" + "\n"
        "[[logs.events]]\ntype = 'usage'\nfields = { input_tokens = 'sent', cost_usd = 'cost' }\n"
        "[[logs]]\nglob = 'l.md'\nformat = 'text'\nregex = '> (?P<text>.*)'\n" + RULE
    )
    write(tmp_path / "l.md", "> hi\nTokens: 2.6k sent. Cost: $0.01\n")
    told, _ = facts(profile, tmp_path)

    assert (told.usage, told.cost_usd) == ({"input_tokens": 2600}, 0.01)
    assert told.final_text == "hi"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (
            "create view t as with n(a, b) as (select 1, 2 union all select 3, 4) select * from n",
            "t is a view",
        ),
        ("create virtual table t using fts5(a, b)", "t is a virtual table"),
        (
            "create table t (a, b as (printf('%.*c', 1000000, 'x')))",
            "t has a generated column",
        ),
        ("create table t (a, b as (hex(zeroblob(9))) stored)", "t has a generated column"),
    ],
)
def test_rows_that_a_database_makes_up_are_refused(made: str, problem: str, tmp_path: Path) -> None:
    """A file of some kilobytes makes as many of them as it likes."""
    source = "[[logs]]\nglob = 'l.db'\nformat = 'sqlite'\nquery = 'select a, b from T'\n"
    database = sqlite3.connect(tmp_path / "l.db")
    database.execute(made)
    database.commit()
    database.close()

    with pytest.raises(UnreadableError, match=problem):
        facts(HEAD + source + RULE, tmp_path)


def test_rows_that_repeat_a_value_end_with_the_size_of_the_database(tmp_path: Path) -> None:
    """A join gives a long value once for each row of the other table."""
    query = "select a.v as text, b.v as n from a join b"
    source = f"[[logs]]\nglob = 'l.db'\nformat = 'sqlite'\nquery = '{query}'\n"
    database = sqlite3.connect(tmp_path / "l.db")
    database.execute("create table a (v)")
    database.execute("create table b (v)")
    database.execute("insert into a values (?)", ("x" * 100_000,))
    database.executemany("insert into b values (?)", [(n,) for n in range(100)])
    database.commit()
    database.close()

    with pytest.raises(UnreadableError, match=r"its rows have more than \d+ bytes"):
        facts(HEAD + source + RULE, tmp_path)


def test_a_query_ends_after_so_many_steps(tmp_path: Path) -> None:
    """The message names the limit."""
    query = "select a.v as text from a, a as b, a as c, a as d where a.v + b.v + c.v + d.v < 0"
    source = f"[[logs]]\nglob = 'l.db'\nformat = 'sqlite'\nquery = '{query}'\n"
    database = sqlite3.connect(tmp_path / "l.db")
    database.execute("create table a (v integer)")
    database.executemany("insert into a values (?)", [(n,) for n in range(200)])
    database.commit()
    database.close()

    with pytest.raises(UnreadableError, match=r"more than \d+ steps of SQLite"):
        facts(HEAD + source + RULE, tmp_path)
