"""Which cassette a start means, and what is said when none or several are meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette.errors import NotFoundError, UnsafeFileError, UsageError
from ptycassette.model.records import Output
from ptycassette.replaying.io.library import Library, ProgramStart
from ptycassette.testing import manifest_of, write_cassette


def start(
    *args: str, program: str = "claude", cwd: str = "/home/me/project", **env: str
) -> ProgramStart:
    """A start of ``claude``."""
    return ProgramStart(program=program, args=args, cwd=cwd, env=env)


class Shelf:
    """A library in the making."""

    def __init__(self, place: Path) -> None:
        self.place = place / "cassettes"
        self.place.mkdir()
        self.state = place / "state"

    def add(self, name: str, *argv: str) -> None:
        """Record ``argv``."""
        write_cassette(self.place / name, Output(0, b"x"), manifest=manifest_of(argv=argv))

    def rules(self, text: str) -> None:
        """Write the rules."""
        (self.place / "library.yaml").write_text(f"rules:\n{text}")

    @property
    def library(self) -> Library:
        """Opened again each time, as each shim does."""
        return Library(self.place, state=self.state)

    def chosen(self, *args: str, **env: str) -> str:
        """The name of the cassette that is meant."""
        return self.library.choose(start(*args, **env)).path.name


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty library."""
    return Shelf(tmp_path)


@pytest.mark.parametrize(
    "recorded", ["$PWD", "$HOME/work", "/home/me/work", "--dir=$PWD", "-C$PWD"]
)
def test_folders_are_compared_as_what_they_name(shelf: Shelf, recorded: str) -> None:
    """Earlier recordings name the home folder, where the work folder has a common name."""
    shelf.add("a.cassette", "claude", "--cd", recorded)
    given = recorded.replace("$PWD", "/home/me/work").replace("$HOME", "/home/me")
    here = start("--cd", given, cwd="/home/me/work", HOME="/home/me")
    elsewhere = start("--cd", f"{given}2", cwd="/home/me/work", HOME="/home/me")

    assert shelf.library.choose(here).path.name == "a.cassette"
    with pytest.raises(NotFoundError, match="recorded as"):
        shelf.library.choose(elsewhere)


def test_without_rules_the_recorded_arguments_decide(shelf: Shelf) -> None:
    """And the name of the program, wherever it was installed."""
    shelf.add("a.cassette", "/usr/bin/claude", "-p", "one")
    shelf.add("b.cassette", "claude", "-p", "two")
    shelf.add("c.cassette", "codex", "-p", "one")

    assert shelf.chosen("-p", "one") == "a.cassette"
    assert shelf.chosen("-p", "two") == "b.cassette"


def python_file(name: str, source: str) -> Callable[[Shelf], object]:
    """A file in the library."""
    return lambda shelf: (shelf.place / name).write_text(source + "\n")


def rule(text: str) -> Callable[[Shelf], object]:
    """The one rule of the library."""
    return lambda shelf: shelf.rules(f"  - {{{text}}}\n")


def recorded(*names: str, argv: str = "claude") -> Callable[[Shelf], object]:
    """Cassettes of one program."""

    def make(shelf: Shelf) -> None:
        for name in names:
            shelf.add(f"{name}.cassette", *argv.split())

    return make


def broken(shelf: Shelf) -> None:
    """What cannot be opened."""
    (shelf.place / "broken").mkdir()
    (shelf.place / "broken" / "manifest.json").write_text("{}")


def outside(shelf: Shelf) -> None:
    """A predicate that lies beside the library, and links to it."""
    folder = shelf.place.parent / "outside"
    folder.mkdir()
    (folder / "p.py").write_text(
        f"open({str(shelf.place.parent / 'ran')!r}, 'w')\ndef holds(*_): return True\n"
    )
    (shelf.place / "p.py").symlink_to(folder / "p.py")
    (shelf.place / "more").symlink_to(folder)


REFUSED: dict[str, tuple[list[Callable[[Shelf], object]], type[Exception], str]] = {
    # What is in the library, and how a start of ``claude x`` fails.
    "nothing": ([], NotFoundError, "the library is empty"),
    "no library": ([lambda shelf: shelf.place.rmdir()], NotFoundError, "the library is empty"),
    "other arguments": (
        [recorded("a", argv="claude -p one")], NotFoundError, "a.cassette: recorded as claude -p"),
    "what cannot be opened": ([broken], NotFoundError, "broken: cannot be opened"),
    "two of them": (
        [recorded("a", "b", argv="claude x")], UsageError, r"2 times: a\.cassette, b\.cassette"),
    "a cassette that is not there": (
        [rule("cassettes: [new], repeat: true")], NotFoundError,
        "names cassette 'new', which is not there"),
    **{f"a cassette at {name}": ([rule(f"cassettes: [{name}]")], UsageError,
                                 "not inside of the library")
       for name in ("../secret", "/etc", "a/../../b", "''")},
    **{f"a rule {text}": ([rule(text)], UsageError, r"library\.yaml") for text in (
        "cassette: [x]", "cassettes: []", "cassettes: [x], argv_regex: '('", "cassettes: x",
        "cassettes: [x], match: exakt", "cassettes: [x], order: lose")},
    "a predicate that says no": (
        [rule("predicate: p.py, cassettes: [a]"),
         python_file("p.py", "def holds(program, args, cwd, env): return False")],
        NotFoundError, r"predicate p\.py says no"),
    **{f"a predicate with {says}": (
        [rule("predicate: p.py, cassettes: [a]"), python_file("p.py", source)], UsageError, says)
       for source, says in (
           ("def holds(program, args, cwd, env): return 1 / 0", "ZeroDivisionError"),
           ("def hold(): pass", "KeyError: 'holds'"), ("def holds(:", "SyntaxError"))},
    **{f"a predicate at {name!r}": (
        [rule(f"predicate: '{name}', cassettes: [a]"),
         python_file("../p.py", "def holds(*_): return True")], UsageError, "not inside")
       for name in ("../p.py", "/p.py", "")},
    # Out of the library a link could lead to anything, wherever on the way it is.
    **{f"a predicate behind a link at {name}": (
        [rule(f"predicate: '{name}', cassettes: [a]"), outside],
        UnsafeFileError, "put the file itself into the library")
       for name in ("p.py", "more/p.py")},
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_to_be_had_says_why(shelf: Shelf, case: str) -> None:
    """Which candidates there are, which rule is wrong; nothing outside of the library is run."""
    makes, error, says = REFUSED[case]
    for make in makes:
        make(shelf)

    with pytest.raises(error, match=says):
        Library(shelf.place, state=shelf.state).choose(start("x"))
    assert not (shelf.place.parent / "ran").exists()


def test_a_cassette_that_is_to_be_recorded_is_where_its_rule_says(shelf: Shelf) -> None:
    """Though it is not there yet."""
    shelf.rules("  - {cassettes: [new], repeat: true}\n")

    chosen = shelf.library.choose(start(), record=True)
    assert (chosen.path.name, chosen.exists) == ("new.cassette", False)


def test_what_is_to_be_recorded_gets_a_name_of_its_own(shelf: Shelf) -> None:
    """Made from what is started; nothing is replaced."""
    shelf.add("claude--p-one.cassette", "claude", "other")
    chosen = shelf.library.choose(start("-p", "one"), record=True)
    odd = shelf.library.choose(start("../..", program="..."), record=True)

    assert (chosen.path.name, chosen.exists) == ("claude--p-one-2.cassette", False)
    assert odd.path.parent == shelf.place


def test_sessions_of_one_rule_come_in_order(shelf: Shelf) -> None:
    """One for each start, and then no more."""
    shelf.add("one.cassette", "claude")
    shelf.add("two.cassette", "claude")
    shelf.rules("  - {program: claude, cassettes: [one, two]}\n")

    assert [shelf.chosen(), shelf.chosen("whatever")] == ["one.cassette", "two.cassette"]
    with pytest.raises(NotFoundError, match=r"2 sessions \(one, two\), and this is start 3"):
        shelf.chosen()


def test_a_rule_may_repeat(shelf: Shelf) -> None:
    """From its first cassette on."""
    shelf.add("one.cassette", "claude")
    shelf.rules("  - {cassettes: [one.cassette], repeat: true}\n")

    assert [shelf.chosen() for _ in range(3)] == ["one.cassette"] * 3


@pytest.mark.parametrize(
    ("condition", "holds", "not_holds"),
    [
        ("argv: [-p, hi]", start("-p", "hi"), start("-p", "ho")),
        ("argv_regex: '^-p h'", start("-p", "hi"), start("p")),
        ("cwd: '*/project'", start(), start(cwd="/tmp")),
        ("env: {MODEL: 'opus*'}", start(MODEL="opus-4"), start(MODEL="haiku")),
        ("env: {MODEL: 'opus*'}", start(MODEL="opus"), start()),
        ("env: {MODEL: null}", start(), start(MODEL="x")),
        ("program: claude", start(), start(program="codex")),
    ],
)
def test_a_rule_holds_on_its_conditions(
    shelf: Shelf, condition: str, holds: ProgramStart, not_holds: ProgramStart
) -> None:
    """And says why not, elsewhere."""
    shelf.add("one.cassette", "claude")
    shelf.rules(f"  - {{{condition}, cassettes: [one], match: exact}}\n")

    chosen = shelf.library.choose(holds)

    assert (chosen.path.name, chosen.match) == ("one.cassette", "exact")
    with pytest.raises(NotFoundError, match=r"rule 1 \(one\): "):
        shelf.library.choose(not_holds)


def test_the_first_rule_that_holds_counts(shelf: Shelf) -> None:
    """The others may be for everything else."""
    shelf.add("one.cassette", "claude")
    shelf.add("rest.cassette", "claude")
    shelf.rules("  - {argv: [a], cassettes: [one]}\n  - {cassettes: [rest], repeat: true}\n")

    assert [shelf.chosen("b"), shelf.chosen("a")] == ["rest.cassette", "one.cassette"]


def test_a_predicate_file_decides(shelf: Shelf) -> None:
    """It sees the program, its arguments, the directory and the environment."""
    shelf.add("a.cassette", "claude")
    shelf.add("b.cassette", "claude")
    shelf.rules(
        "  - {predicate: choose.py, cassettes: [a], repeat: true}\n"
        "  - {cassettes: [b], repeat: true}\n"
    )
    (shelf.place / "choose.py").write_text(
        "def holds(program, args, cwd, env):\n"
        "    return program == 'claude' and len(args) == 2 and env.get('TEAM') == 'x'"
        " and cwd.endswith('project')\n"
    )

    assert shelf.chosen("one", "two", TEAM="x") == "a.cassette"
    assert shelf.chosen("one", TEAM="x") == "b.cassette"
    assert shelf.chosen("one", "two") == "b.cassette"


def test_a_rule_says_how_input_is_compared(shelf: Shelf) -> None:
    """Strategy and order."""
    shelf.add("a.cassette", "claude")
    shelf.rules("  - {cassettes: [a], match: exact, order: loose}\n")
    chosen = shelf.library.choose(start())

    assert (chosen.match, chosen.order) == ("exact", "loose")


def test_pending_recordings_count_as_in_the_library(shelf: Shelf) -> None:
    """They are found first, and new ones go where they are."""
    pending = shelf.place / ".pending"
    shelf.add("a.cassette", "claude", "one")
    write_cassette(pending / "b.cassette", Output(0, b"x"), manifest=manifest_of(argv=("claude",)))
    library = Library(shelf.place, state=shelf.state, pending=pending)

    assert library.choose(start()).path == pending / "b.cassette"
    assert library.choose(start("one")).path == shelf.place / "a.cassette"
    new = library.choose(start("new"), record=True)
    assert (new.path, new.exists) == (pending / "claude-new.cassette", False)
    assert library.to_record(shelf.place / "a.cassette") == pending / "a.cassette"
    assert library.to_record(pending / "b.cassette") == pending / "b.cassette"
    write_cassette(pending / "a.cassette", Output(0, b"y"),
                   manifest=manifest_of(argv=("claude", "one")))  # fmt: skip
    assert library.choose(start("one")).path == pending / "a.cassette"
