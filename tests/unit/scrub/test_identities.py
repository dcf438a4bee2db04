"""Who was recorded: names of users and hosts, and where they are only words."""

from __future__ import annotations

import msgspec
import pytest

from ptycassette.model import SessionMeta
from ptycassette.scrub import default_scrubber
from ptycassette.scrub.discover import identity_values
from ptycassette.scrub.session import SessionScrubber


def scrubber_of(meta: SessionMeta, *, home: str = "", **environment: str) -> SessionScrubber:
    """A scrubber that knows a session of this user."""
    scrubber = default_scrubber()
    known = msgspec.structs.replace(meta, home=home, environment=environment)
    for _ in scrubber.events(known, lambda: iter(())):
        pass
    return scrubber


@pytest.mark.parametrize(
    "name", ["agent", "root", "user", "build", "runner", "app", "node", "test"]
)
@pytest.mark.parametrize("parent", ["/home", "/work", ""])
def test_a_public_account_takes_no_word(meta: SessionMeta, name: str, parent: str) -> None:
    """Neither as HOME nor as USER: it says nothing about anybody."""
    text = f"the {name} runs in {parent}/{name}/src as {name}@host"

    assert scrubber_of(meta, home=f"{parent}/{name}", USER=name).text(text, channel="x") == text


def test_the_last_part_of_any_other_home_is_no_user(meta: SessionMeta) -> None:
    """Only below a folder of homes is it an account; the path itself goes all the same."""
    scrubber = scrubber_of(meta, home="/srv/kitchen")

    assert scrubber.text("in the kitchen: /srv/kitchen/a", channel="x") == "in the kitchen: $HOME/a"


def test_a_telling_name_goes_wherever_it_stands(meta: SessionMeta) -> None:
    """As a word, not inside of one."""
    scrubber = scrubber_of(meta, home="/home/bsmith42")

    assert scrubber.text("by bsmith42, not xbsmith42", channel="x") == "by <user>, not xbsmith42"


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("mark@laptop:~$ mark the line", "<user>@laptop:~$ mark the line"),
        ("USER=mark mark=1", "USER=<user> mark=1"),
        ('{"username": "mark"}', '{"username": "<user>"}'),
        ("uid=1000(mark) gid=1000(mark)", "uid=1000(<user>) gid=1000(<user>)"),
        ("drwxr-xr-x 2 mark mark 4096 mark", "drwxr-xr-x 2 <user> <user> 4096 mark"),
        ("cd ~mark/src", "cd ~<user>/src"),
        ("ls /home/mark/src", "ls $HOME/src"),
        ("ssh me@mark", "ssh me@<user>"),
        ("a question mark", "a question mark"),
    ],
)
def test_a_name_that_is_a_word_goes_where_somebody_is_meant(
    meta: SessionMeta, text: str, scrubbed: str
) -> None:
    """In paths, prompts, assignments and listings; the word itself stays."""
    assert scrubber_of(meta, home="/home/mark", USER="mark").text(text, channel="x") == scrubbed


def test_a_host_that_is_a_word_goes_where_a_host_is_meant(meta: SessionMeta) -> None:
    """Behind an at sign; elsewhere it is a word."""
    scrubber = scrubber_of(meta, HOSTNAME="build")

    assert scrubber.text("me@build: make build", channel="x") == "me@<host>: make build"


def test_windows_homes_are_not_taken_apart(meta: SessionMeta) -> None:
    """A home that is no path of ours names nobody."""
    known = msgspec.structs.replace(meta, home="relative", environment={})

    assert list(identity_values(known)) == []
