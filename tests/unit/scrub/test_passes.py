"""The two readers of a session: when each starts anew, and when scrubbing is refused."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from ptycassette.model.ports import Secret
from ptycassette.model.records import JournalEvent, Output, SessionMeta
from ptycassette.scrub._finding import Found
from ptycassette.scrub.placeholders import Patches
from ptycassette.scrub.search.known import SearchedTexts
from ptycassette.scrub.session import Passes, default_scrubber


class Reader:
    """A reader that finds a text in what it takes, as often as it may."""

    def __init__(self, patches: Patches, text: bytes, mask: bytes, log: list[str]) -> None:
        self.patches, self.text, self.mask, self.log = patches, text, mask, log
        self.found: dict[Found, int] = {}
        self.blind = False
        self.clean = True
        self.screen = None
        self.settled = 0
        log.append("new")

    def take(self, event: JournalEvent) -> None:
        """Read."""
        assert isinstance(event, Output)
        self.log.append(event.data.decode())
        at = event.data.find(self.text)
        if at >= 0 and self.patches.cover([(self.settled + at, self.mask)]):
            self.found[Found("output", "rule")] = 0
        self.settled += len(event.data)

    def late(self) -> bool:
        """Nothing came late."""
        return False

    def rest(self) -> None:
        """The end."""


EVENTS = [Output(0, b"one "), Output(1, b"two "), Output(2, b"six ")]


def passes(
    patches: Patches, first: tuple[bytes, bytes], second: tuple[bytes, bytes]
) -> tuple[Passes, list[str], list[str]]:
    """Readers that look for these and write those, and what each of them read."""
    logs: tuple[list[str], list[str]] = ([], [])
    made: Any = [
        lambda _traced: Reader(patches, *first, logs[0]),
        lambda _traced: Reader(patches, *second, logs[1]),
    ]
    return Passes(lambda: iter(EVENTS), first=made[0], second=made[1], patches=patches), *logs


def steps(passes: Passes) -> list[str]:
    """What is written in the end."""
    written: list[str] = []
    for step in passes.run():
        if step is None:
            written.clear()
        elif isinstance(step.event, Output):
            written.append(step.event.data.decode())
    return written


def test_where_nothing_is_found_one_reader_is_enough() -> None:
    """What it read is what is written."""
    both, first, second = passes(Patches(), (b"-", b"-"), (b"-", b"-"))

    assert steps(both) == ["one ", "two ", "six "]
    assert (first, second) == (["new", "one ", "two ", "six "], [])


def test_what_is_found_is_masked_for_the_second_reader() -> None:
    """From the beginning, as what was written before counts no more."""
    both, _, second = passes(Patches(), (b"two", b"xxx"), (b"-", b"-"))

    assert steps(both) == ["one ", "xxx ", "six "]
    assert second == ["new", "one ", "xxx ", "six "]
    assert both.left is None


def test_what_the_second_reader_finds_is_masked_too() -> None:
    """It starts anew, until it finds nothing."""
    both, _, second = passes(Patches(), (b"two", b"xxx"), (b"one", b"yyy"))

    assert steps(both) == ["yyy ", "xxx ", "six "]
    assert second.count("new") == 2
    assert both.left is None


def test_it_is_refused_when_something_is_found_each_time() -> None:
    """After so many tries; who found it says what."""
    patches = Patches()
    both, _, second = passes(patches, (b"two", b"xxx"), (b"-", b"-"))

    class Restless(Reader):
        def rest(self) -> None:
            self.found[Found("output", "rule")] = 0

    both._new_second = lambda _traced: Restless(patches, b"-", b"-", second)  # type: ignore[assignment,return-value]
    steps(both)

    assert both.left is not None
    assert second.count("new") == 7


def test_a_value_that_is_learnt_late_is_looked_for_from_the_beginning(
    meta: SessionMeta, key: str
) -> None:
    """A piece of it stood there before anybody could know."""
    piece = key[30:42]
    events = [Output(0, f"see {piece}\r\n".encode()), Output(1, f"it is {key}\r\n".encode())]
    after = list(default_scrubber().events(meta, lambda: iter(events)))

    assert after[0] == Output(0, b"see xxxxxxxxxxxx\r\n")


class Typed(NamedTuple):
    """A secret that was typed."""

    text: str
    whole: bool = False


class Told:
    """A watch that says at the end what was secret."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.begun = 0

    def begin(self) -> None:
        """All is read once more."""
        self.begun += 1

    def saw(self, event: JournalEvent, screen: object) -> tuple[Secret, ...]:
        """Nothing yet."""
        return ()

    def ended(self) -> tuple[Secret, ...]:
        """Now."""
        return (Typed(self.value),)


def test_what_the_watch_tells_at_the_end_is_gone_everywhere(meta: SessionMeta) -> None:
    """The first reader starts anew, and the watch with it."""
    watch = Told("qP7xR2mK9vT4nB8sL3wZ")
    said = Output(0, b"it was qP7xR2mK9vT4nB8sL3wZ then\r\n")
    events = [said, Output(1, b"plain words\r\n" * 6000)]
    scrubber = default_scrubber()
    for _ in scrubber.steps(meta, lambda: iter(events), watch):
        pass

    assert next(scrubber.masked(lambda: iter(events))) == Output(
        0, b"it was xxxxxxxxxxxxxxxxxxxx then\r\n"
    )
    assert watch.begun == 2


@pytest.mark.slow
def test_what_is_painted_again_later_is_found_again(meta: SessionMeta) -> None:
    """By one reader: texts in which something was found are searched each time that they come."""
    value = "aB3dE5qP7xR2mK9vT4nB8sL3"
    first, second = value[6:12], value[12:18]
    row = f"\x1b[3;7H{second}\x1b[5;1Hand\x1b[3;1H{first}\x1b[7;1Hso\x1b[2J".encode()
    scrubber = default_scrubber(known=[value])
    reader = scrubber._reader(meta)
    reader.take(Output(0, row * 1000))
    reader.rest()
    after = scrubber._masks["output"].apply(row * 1000, 0)

    assert first.encode() not in after
    assert second.encode() not in after


def test_a_finder_says_what_it_found_and_never_what(meta: SessionMeta, key: str) -> None:
    """Channel, time, rule."""
    lines = default_scrubber().verify(meta, lambda: iter([Output(5000, key.encode())]))

    assert lines == ("output: 5 ms: rule anthropic-token matches (once)",)


def test_many_values_that_come_one_by_one_are_looked_for_together(
    meta: SessionMeta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In what was read before them: not all of it again for each of them."""
    looks: list[int] = []
    look = SearchedTexts._one_held

    def counted(past: SearchedTexts, asked: dict[str, int]) -> bool:
        looks.append(len(asked))
        return look(past, asked)

    monkeypatch.setattr(SearchedTexts, "_one_held", counted)
    chance = random.Random(5)
    line = b"a line of a log without anything to hide\r\n" * 100
    events = [
        Output(number, line + f"token={'sk-' + 'live-'}{chance.randbytes(18).hex()}\r\n".encode())
        for number in range(160)
    ]
    after = list(default_scrubber().events(meta, lambda: iter(events)))

    assert all(b"x" * 36 in event.data for event in after if isinstance(event, Output))
    assert sum(looks) > 160
    assert len(looks) < 25
