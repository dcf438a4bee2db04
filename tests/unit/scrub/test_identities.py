"""Who was recorded: names of users and hosts, and where they are only words."""

from __future__ import annotations

import msgspec
import pytest

from ptycassette.model.records import SessionMeta
from ptycassette.scrub._finding import identity_values
from ptycassette.scrub.session import SessionScrubber, default_scrubber


def scrubber_of(meta: SessionMeta, *, home: str = "", **environment: str) -> SessionScrubber:
    """A scrubber that knows a session of this user."""
    scrubber = default_scrubber()
    known = msgspec.structs.replace(meta, home=home, environment=environment)
    for _ in scrubber.events(known, lambda: iter(())):
        pass
    return scrubber


NAMED: list[tuple[dict[str, str], str, str]] = [
    # Who it is, a text, and the text scrubbed. A public account says nothing about anybody.
    *(
        ({"home": f"{parent}/{name}", "USER": name}, text, text)
        for name in ("agent", "root", "user", "build", "runner", "app", "node", "test")
        for parent in ("/home", "/work", "")
        for text in [f"the {name} runs in {parent}/{name}/src as {name}@host"]
    ),
    # Only below a folder of homes the last part is an account; the path goes all the same.
    ({"home": "/srv/kitchen"}, "in the kitchen: /srv/kitchen/a", "in the kitchen: $HOME/a"),
    # A telling name goes wherever it stands as a word.
    ({"home": "/home/bsmith42"}, "by bsmith42, not xbsmith42", "by <user>, not xbsmith42"),
    # A host that is a word goes behind an at sign alone.
    ({"HOSTNAME": "build"}, "me@build: make build", "me@<host>: make build"),
    # A name that is a word goes where somebody is meant: in paths, prompts, assignments, listings.
    *(
        ({"home": "/home/mark", "USER": "mark"}, text, scrubbed)
        for text, scrubbed in [
            ("mark@laptop:~$ mark the line", "<user>@laptop:~$ mark the line"),
            ("USER=mark mark=1", "USER=<user> mark=1"),
            ('{"username": "mark"}', '{"username": "<user>"}'),
            ("uid=1000(mark) gid=1000(mark)", "uid=1000(<user>) gid=1000(<user>)"),
            ("drwxr-xr-x 2 mark mark 4096 mark", "drwxr-xr-x 2 <user> <user> 4096 mark"),
            ("cd ~mark/src", "cd ~<user>/src"),
            ("ls /home/mark/src", "ls $HOME/src"),
            ("ssh me@mark", "ssh me@<user>"),
            ("a question mark", "a question mark"),
        ]
    ),
]


@pytest.mark.parametrize(("who", "text", "scrubbed"), NAMED)
def test_names_go_where_somebody_is_meant(
    meta: SessionMeta, who: dict[str, str], text: str, scrubbed: str
) -> None:
    """And words stay words."""
    assert scrubber_of(meta, **who).text(text, channel="x") == scrubbed


@pytest.mark.parametrize("home", ["", "/tmp/run-1/kitchen"])
def test_the_home_of_the_user_is_known_whatever_home_the_program_has(
    meta: SessionMeta, home: str
) -> None:
    """A program that runs again has a temporary home; its own path may be in the user's."""
    known = msgspec.structs.replace(meta, home=home, user_home="/home/bsmith42", environment={})
    values = {(value.text, value.placeholder) for value in identity_values(known)}

    assert {("/home/bsmith42", "$HOME"), ("bsmith42", "<user>")} <= values
    assert ("/tmp/run-1/kitchen", "$HOME") in values or not home


def test_windows_homes_are_not_taken_apart(meta: SessionMeta) -> None:
    """A home that is no path of ours names nobody."""
    known = msgspec.structs.replace(meta, home="relative", environment={})

    assert list(identity_values(known)) == []
