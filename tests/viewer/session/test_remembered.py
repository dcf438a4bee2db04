"""The second time a recording is opened: all that was found out is there at once, or nothing is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette import open_cassette
from ptycassette.model.records import JournalEvent, Noted, Output, Resized, ScrubReport, Typed
from ptycassette.model.screen import Size
from ptycassette.viewing import Event
from ptycassette_viewer.cache import Cache
from ptycassette_viewer.session.index import EventIndex, IndexState
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource

EVENTS: tuple[JournalEvent, ...] = (
    *(Output(n * 1_000, b"\x1b]0;title %d\x07line %d\r\n" % (n // 9, n)) for n in range(40)),
    Typed(50_000, b"ls\r", key="enter"),
    Resized(60_000, Size(10, 40)),
    Noted(70_000, {"type": "turn"}),
    *(Output(80_000 + n, b"\x1b[%dmmore\x1b[?25l" % (30 + n % 8)) for n in range(40)),
)


class Unread(CassetteSource):
    """A source whose events nobody may ask for."""

    def events(self) -> Iterator[Event]:
        """Nobody may."""
        raise AssertionError("the events were read")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty one, for recordings of any size."""
    return Cache(tmp_path / "cache", worth_bytes=1)


def done(path: Path, cache: Cache, kind: type[CassetteSource] = CassetteSource) -> ViewerSession:
    """A session whose background work is done."""
    cassette = open_cassette(path, check="manifest", allow_unscrubbed=True)
    session = ViewerSession(kind(cassette), cache=cache)
    session.checkpoints.every_s = 0.0
    session.run()
    return session


def facts(session: ViewerSession) -> dict[str, Any]:
    """All that is known."""
    index = session.index
    seqs = range(1, index.count + 1)
    return {
        "events": [(index.kind_of(s), index.time_of(s), index.output_end(s)) for s in seqs],
        "sizes": [index.size_at(s) for s in seqs],
        "outputs": list(index.of_kind("output")),
        "exchanges": [
            (s, session.exchanges.number(n)) for n, s in enumerate(session.exchanges.starts)
        ],
        "lines": [session.summaries.get(s) for s in seqs],
        "told": [
            (seq, lines.line(n))
            for lines in (session.signals.notable, session.signals.routine)
            for n, seq in enumerate(lines.seqs)
        ],
        "states": (len(session.checkpoints), session.checkpoints.bytes),
    }


def kept(cache: Cache) -> list[Path]:
    """The files of a cache."""
    return list(cache._folder.iterdir()) if cache._folder.exists() else []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [None, "codex-tui", "gemini-tui"])
def test_everything_is_known_at_once(
    make: Callable[..., Path], agents: Path, cache: Cache, name: str | None
) -> None:
    """Without reading an event; screens are the same wherever one goes, and all is verified."""
    path = make(*EVENTS) if name is None else agents / name
    first, second = done(path, cache), done(path, cache, Unread)
    seqs = random.Random(3).sample(range(first.index.count + 1), 40)
    heads = first.head(), second.head()
    pairs = []
    for seq in seqs:
        assert all(head.move(seq) for head in heads)
        pairs.append([head.screen for head in heads])
    first.close()
    second.close()

    assert facts(second) == facts(first)
    assert [a for a, _ in pairs] == [b for _, b in pairs]
    assert (second.progress.done, second.progress.verified, second.problem) == (True, True, None)
    assert len(kept(cache)) == 1


def test_what_is_kept_for_other_memory_is_not_used(make: Callable[..., Path], cache: Cache) -> None:
    """Less may be kept there."""
    path = make(*EVENTS)
    for memory in (300_000_000, 200_000_000):
        cassette = open_cassette(path, check="manifest")
        session = ViewerSession(CassetteSource(cassette), memory=memory, cache=cache)
        session.run()
        session.close()

    assert len(kept(cache)) == 2


def test_nothing_is_kept_of_what_is_short_or_was_not_scrubbed(
    make: Callable[..., Path], cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one is quick anyway; the other leaves no traces."""
    path = make(*EVENTS)
    done(path, Cache(cache._folder)).close()
    cassette = open_cassette(path, check="manifest")
    source = CassetteSource(cassette)
    cassette.scrub_report = ScrubReport(status="unscrubbed")
    identity = source.identity
    source.close()

    assert kept(cache) == []
    assert identity is None


def test_nothing_is_kept_of_what_was_not_verified(make: Callable[..., Path], cache: Cache) -> None:
    """Who leaves before that gets it the next time."""

    class Left(CassetteSource):
        def verify(self, aside: Callable[[], None]) -> bool | None:
            return None

    done(make(*EVENTS), cache, Left).close()

    assert kept(cache) == []


def test_what_is_damaged_is_told_and_never_kept(make: Callable[..., Path], cache: Cache) -> None:
    """Also when it was whole the last time: the manifest says what is in its files."""
    path = make(*EVENTS)
    done(path, cache).close()
    data = bytearray((path / "output.raw").read_bytes())
    data[-30] ^= 1
    (path / "output.raw").write_bytes(data)
    again = done(path, cache)
    fresh = done(path, Cache(cache._folder.with_name("other"), worth_bytes=1))
    again.close()
    fresh.close()

    assert again.progress.verified is False
    assert again.problem is not None
    assert not fresh._cache or not kept(fresh._cache)


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", msgspec.msgpack.encode({"index": 1})],
    ids=["empty", "no", "other"],
)
def test_what_is_no_state_is_made_anew(
    make: Callable[..., Path], cache: Cache, content: bytes
) -> None:
    """As if nothing had been there."""
    path = make(*EVENTS)
    first = done(path, cache)
    assert first._key is not None
    cache.put(first._key, content)
    second = done(path, cache)
    first.close()
    second.close()

    assert facts(second)["events"] == facts(first)["events"]
    assert cache.get(first._key) not in {None, content}


@pytest.mark.parametrize(
    "broken",
    [
        {"kinds": b"\x09" * 84},
        {"kinds": b""},
        {"times": b"\x01"},
        {"ends": b"\xff" * 8 * 84},
        {"ends": bytes(8 * 83) + b"\xff" * 8},
        {"sizes": (b"", b"", b"")},
    ],
)
def test_an_index_that_does_not_fit_together_is_refused(
    make: Callable[..., Path], session_of: Callable[[Path], ViewerSession], broken: dict[str, Any]
) -> None:
    """Whatever part of it."""
    state = session_of(make(*EVENTS)).index.state()

    assert EventIndex.of(state).count == 84
    with pytest.raises(ValueError, match=r"not the state|bytes length"):
        EventIndex.of(msgspec.structs.replace(state, **broken))
    assert isinstance(state, IndexState)
