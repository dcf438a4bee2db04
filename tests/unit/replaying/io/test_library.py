"""Which cassette a start means, and what is said when none or several are meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette.errors import NotFoundError, UnsafeFileError, UsageError
from ptycassette.model import Output
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


def test_without_rules_the_recorded_arguments_decide(shelf: Shelf) -> None:
    """And the name of the program, wherever it was installed."""
    shelf.add("a.cassette", "/usr/bin/claude", "-p", "one")
    shelf.add("b.cassette", "claude", "-p", "two")
    shelf.add("c.cassette", "codex", "-p", "one")

    assert shelf.chosen("-p", "one") == "a.cassette"
    assert shelf.chosen("-p", "two") == "b.cassette"


def test_what_was_not_recorded_is_an_error_that_names_the_candidates(shelf: Shelf) -> None:
    """And how each was recorded; what cannot be opened is said, too."""
    shelf.add("a.cassette", "claude", "-p", "one")
    (shelf.place / "broken").mkdir()
    (shelf.place / "broken" / "manifest.json").write_text("{}")

    with pytest.raises(NotFoundError) as caught:
        shelf.chosen("-p", "three")

    assert "a.cassette: recorded as claude -p one" in str(caught.value)
    assert "broken: cannot be opened" in str(caught.value)


def test_an_empty_library_says_so(shelf: Shelf) -> None:
    """Also one that is not there."""
    with pytest.raises(NotFoundError, match="the library is empty"):
        shelf.chosen()
    with pytest.raises(NotFoundError, match="the library is empty"):
        Library(shelf.place / "x", state=shelf.state).choose(start())


def test_what_was_recorded_twice_is_ambiguous(shelf: Shelf) -> None:
    """It names both."""
    shelf.add("a.cassette", "claude")
    shelf.add("b.cassette", "claude")

    with pytest.raises(UsageError, match=r"2 times: a\.cassette, b\.cassette"):
        shelf.chosen()


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


def test_a_cassette_that_a_rule_names_and_is_not_there(shelf: Shelf) -> None:
    """An error in replay, and the place of the recording elsewhere."""
    shelf.rules("  - {cassettes: [new], repeat: true}\n")

    with pytest.raises(NotFoundError, match="names cassette 'new', which is not there"):
        shelf.chosen()
    chosen = shelf.library.choose(start(), record=True)
    assert (chosen.path.name, chosen.exists) == ("new.cassette", False)


@pytest.mark.parametrize("name", ["../secret", "/etc", "a/../../b", "''"])
def test_a_rule_cannot_lead_out_of_the_library(shelf: Shelf, name: str) -> None:
    """Neither by dots nor by an absolute path."""
    shelf.rules(f"  - {{cassettes: [{name}]}}\n")

    with pytest.raises(UsageError, match="not inside of the library"):
        shelf.chosen()


@pytest.mark.parametrize(
    "text",
    [
        "  - {cassette: [x]}\n",
        "  - {cassettes: []}\n",
        "  - {cassettes: [x], argv_regex: '('}\n",
        "  - {cassettes: x}\n",
        "  - {cassettes: [x], match: exakt}\n",
        "  - {cassettes: [x], order: lose}\n",
    ],
)
def test_wrong_rules_are_an_error_with_the_file(shelf: Shelf, text: str) -> None:
    """Before anything is chosen."""
    shelf.rules(text)

    with pytest.raises(UsageError, match=r"library\.yaml"):
        _ = shelf.library


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


def test_a_predicate_that_says_no_is_named(shelf: Shelf) -> None:
    """Among the reasons why nothing was found."""
    shelf.rules("  - {predicate: no.py, cassettes: [a]}\n")
    (shelf.place / "no.py").write_text("def holds(program, args, cwd, env): return False\n")

    with pytest.raises(NotFoundError, match=r"predicate no\.py says no"):
        shelf.chosen("x")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def holds(program, args, cwd, env): return 1 / 0", "ZeroDivisionError"),
        ("def hold(): pass", "KeyError: 'holds'"),
        ("def holds(:", "SyntaxError"),
    ],
)
def test_a_predicate_that_fails_says_what_it_is(shelf: Shelf, source: str, message: str) -> None:
    """With the file and the shape that it must have."""
    shelf.rules("  - {predicate: p.py, cassettes: [a]}\n")
    (shelf.place / "p.py").write_text(source + "\n")

    with pytest.raises(UsageError, match=message):
        shelf.chosen("x")


@pytest.mark.parametrize("name", ["../p.py", "/p.py", ""])
def test_a_predicate_lies_in_the_library(shelf: Shelf, name: str) -> None:
    """Nothing else is run."""
    shelf.rules(f"  - {{predicate: '{name}', cassettes: [a]}}\n")
    (shelf.place.parent / "p.py").write_text("def holds(*_): return True\n")

    with pytest.raises(UsageError, match="not inside"):
        shelf.chosen("x")


@pytest.mark.parametrize("name", ["p.py", "more/p.py"])
def test_a_predicate_that_a_link_leads_to_is_not_run(shelf: Shelf, name: str) -> None:
    """Out of the library the link could lead to anything, wherever on the way it is."""
    shelf.rules(f"  - {{predicate: '{name}', cassettes: [a]}}\n")
    ran = shelf.place.parent / "ran"
    outside = shelf.place.parent / "outside"
    outside.mkdir()
    (outside / "p.py").write_text(f"open({str(ran)!r}, 'w')\ndef holds(*_): return True\n")
    (shelf.place / "p.py").symlink_to(outside / "p.py")
    (shelf.place / "more").symlink_to(outside)

    with pytest.raises(UnsafeFileError, match="put the file itself into the library"):
        shelf.chosen("x")
    assert not ran.exists()


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
