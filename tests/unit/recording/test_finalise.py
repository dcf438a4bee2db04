"""The finaliser: order, time, frames, scrubbing, failing closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from record_doubles import META, LineEmulator, ListSink, WordScrubber

from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model.ports import EventSource, ScrubStep, SecretWatch
from ptycassette.model.records import (
    DiscoveryRecord,
    ExitStatus,
    FinalRecord,
    Finished,
    FrameRecord,
    InputRecord,
    JournalEvent,
    Manifest,
    Noted,
    Output,
    OutputRecord,
    Probed,
    QuotaRecord,
    Resized,
    ScrubReport,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Unscrubbed
from ptycassette.recording.sink_writer import finalise
from ptycassette.scrub.typed.watch import TypedWatch
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.policies import frame_policy

OK = ExitStatus(code=0, exited=True, signaled=False)
END = Finished(t_us=9_000_999, exit=OK)
SESSION: tuple[JournalEvent, ...] = (
    Output(1_500, b"$ "),
    Typed(200_000, b"ls\r", source="driver", key="enter"),
    Output(200_900, b"ls\na b\n"),
    Resized(400_000, Size(3, 30)),
    Output(400_100, b"$ "),
    Noted(500_000, {"step": 1}),
    Signalled(600_000, "int"),
    END,
)


class SecondThoughts(WordScrubber):
    """A ``StepScrubber`` that begins anew once, after the third event."""

    left: tuple[str, ...] = ()

    def steps(
        self, meta: SessionMeta, source: EventSource, watch: SecretWatch | None = None
    ) -> Iterator[ScrubStep | None]:
        """The first three events, None, and all of them."""
        events = [*self.events(meta, source)]
        for turn in (events[:3], events):
            screen = default_emulator(meta.size)
            if watch is not None:
                watch.begin()
            for event, following in zip(turn, [*turn[1:], None], strict=True):
                if isinstance(event, Output):
                    screen.feed(event.data)
                if watch is not None:
                    watch.saw(event, screen)
                yield ScrubStep(event, following, screen)
            if turn is not events:
                yield None
        if watch is not None:
            watch.ended()

    def rest(self, source: EventSource) -> Iterator[JournalEvent]:
        """All but output."""
        return (event for event in self.events(META, source) if not isinstance(event, Output))

    def check(self, texts: object) -> None:
        """Look at nothing."""


def run(
    sink: ListSink | Iterator[ListSink], meta: SessionMeta, *events: JournalEvent, **more: Any
) -> Manifest:
    """Finalise ``events`` with the doubles, where no others are given; one sink, or several."""
    doubles = {
        "emulator": LineEmulator,
        "scrubber": WordScrubber(),
        "policy": lambda: frame_policy("chunk"),
    }
    return finalise(
        meta,
        lambda: iter(events),
        lambda: sink if isinstance(sink, ListSink) else next(sink),
        **(doubles | more),
    )


def times(records: list[Any]) -> list[int | None]:
    """When they are, in microseconds."""
    return [record.t_us for record in records]


def fields(kind: type[Any], *names: str) -> Callable[[ListSink], object]:
    """Those of all records of a kind; of one name no tuples."""

    def read(sink: ListSink) -> object:
        found = [tuple(getattr(record, name) for name in names) for record in sink.of(kind)]
        return found if len(names) > 1 else [one for (one,) in found]

    return read


QUOTA, DISCOVERY = (kind(source="probe", status="ok") for kind in (QuotaRecord, DiscoveryRecord))
BECOMES: dict[str, tuple[tuple[JournalEvent, ...], Callable[[ListSink], object], object]] = {
    # What a journal holds; what is looked at; and how it stands in the cassette.
    "one counter over all streams, frames after what caused them, the final record last": (
        SESSION, lambda sink: [(one.seq, type(one)) for one in sink.records],
        list(enumerate((OutputRecord, FrameRecord, InputRecord, OutputRecord, FrameRecord,
                        InputRecord, FrameRecord, OutputRecord, FrameRecord, ServiceEventRecord,
                        InputRecord, FinalRecord), start=1))),
    # Whatever a journal says, a cassette's time is monotonic; input comes among the output.
    "time never goes back": (
        (Output(5_000, b"a"), Typed(4_000, b"x"), Output(4_500, b"b"), END),
        lambda sink: [times(sink.records) == sorted(times(sink.records)),
                      times(sink.of(InputRecord))], [True, [5_000]]),
    "output records tile the raw bytes in the chunks as read": (
        SESSION, fields(OutputRecord, "offset", "length"), [(0, 2), (2, 7), (9, 2)]),
    "the raw bytes": (SESSION, lambda sink: sink.data, b"$ ls\na b\n$ "),
    "inputs say what they were": (
        SESSION, fields(InputRecord, "kind", "bytes", "source", "size", "signal"),
        [("input", b"ls\r", "driver", None, None), ("resize", None, None, Size(3, 30), None),
         ("signal", None, None, None, "int")]),
    "a note is a timed record": (SESSION, fields(ServiceEventRecord, "payload"), [{"step": 1}]),
    "of quota and discovery the sink gets each": (
        (*SESSION[:-1], Probed(700_000, QUOTA, DISCOVERY), END),
        lambda sink: sink.documents[:2], [QUOTA, DISCOVERY]),
    # An incomplete escape is not consumed.
    "frames carry their place in the raw bytes": (
        (Output(1, b"ab\x1b"), Output(2, b"cd"), Output(3, b"\nz"), END),
        fields(FrameRecord, "raw_start", "raw_end", "parser_offset"),
        [(0, 3, 2), (3, 5, 5), (5, 7, 7)]),
    # The next different frame's stretch begins where the written one ended.
    "equal consecutive frames are written once": (
        (Output(1, b"ab"), Output(2, b"\x1b"), Output(3, b"cd"), END),
        fields(FrameRecord, "raw_start", "raw_end"), [(0, 2), (2, 5)]),
    "output is scrubbed": ((Output(1, b"hunter2"), END), lambda sink: sink.data, b"xxxxxxx"),
    "frames are made from scrubbed bytes": (
        (Output(1, b"hunter2"), END), lambda sink: sink.of(FrameRecord)[0].text[0], "xxxxxxx"),
    # Names of variables are no secret; the scrubber's own list wins.
    "the report names the allowlist": (
        SESSION, lambda sink: [one.env_allowlist for one in sink.documents
                               if isinstance(one, ScrubReport)], [("PATH",)]),
    "the final record says how it ended, and what the driver said about cost": (
        (Output(1, b"x"), Finished(t_us=2_345_678, exit=OK, cost_usd=0.5, final_text="a")),
        fields(FinalRecord, "duration_ms", "exit", "cost_usd"), [(2345, OK, 0.5)]),
    # ``true`` is a program too, and so is ``false``.
    "a program that ended without a word": (
        (END,), lambda sink: [type(one) for one in sink.records], [FinalRecord]),
}  # fmt: skip


@pytest.mark.parametrize("case", BECOMES)
def test_what_a_journal_becomes(sink: ListSink, meta: SessionMeta, case: str) -> None:
    """A cassette that is in order."""
    events, look, wanted = BECOMES[case]
    run(sink, meta, *events)

    assert look(sink) == wanted
    assert sink.manifest is not None


@pytest.mark.parametrize("resolution_ms", [1, 100])
def test_time_is_floored_and_kept_in_microseconds(
    sink: ListSink, meta: SessionMeta, resolution_ms: int
) -> None:
    """``t_ms`` is ``t_us`` floored to the resolution."""
    run(sink, msgspec.structs.replace(meta, resolution_ms=resolution_ms), *SESSION)

    assert all(
        record.t_us is not None
        and record.t_ms == record.t_us // 1000 // resolution_ms * resolution_ms
        for record in sink.records
    )
    assert {record.t_us for record in sink.records} >= {1_500, 200_900, 9_000_999}


def test_the_manifest_holds_scrubbed_texts_and_names_only(
    sink: ListSink, meta: SessionMeta
) -> None:
    """Argv goes through the scrubber, the environment stays out, the digest of the path stays."""
    manifest = run(sink, meta, *SESSION)

    assert manifest.command.argv == ("sh", "-c", "login {SECRET}")
    assert manifest.command.env_allowlist == ("PATH",)
    assert manifest.harness == meta.harness
    assert "hunter2" not in str(msgspec.json.encode(manifest))


def test_the_manifest_pins_terminal_emulator_and_time(sink: ListSink, meta: SessionMeta) -> None:
    """What a replay must know."""
    manifest = run(sink, meta, *SESSION)

    assert (manifest.version, manifest.id) == (1, meta.id)
    assert (manifest.terminal.initial_rows, manifest.terminal.emulator.name) == (2, "lines")
    assert (manifest.timing.resolution_ms, manifest.timing.clock_policy) == (1, "monotonic-elapsed")


def test_options_that_readers_may_use_are_kept(sink: ListSink, meta: SessionMeta) -> None:
    """The idle limit and the title are metadata; nothing else of the options is."""
    options = {"idle_limit_ms": 2000, "frame_policy": "final", "secret": "no"}
    run(sink, msgspec.structs.replace(meta, options=options), *SESSION, policy=None)

    assert sink.manifest is not None
    assert sink.manifest.optional == {"idle_limit_ms": 2000, "frame_policy": "final", "title": "t"}
    assert len(sink.of(FrameRecord)) == 1


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        ((Output(1, b"x"),), "final"),
        ((Output(1, b"x"), Finished(t_us=2, failure="timeout after 3 s")), "run"),
        ((Finished(t_us=2),), "output"),
        ((END, Output(9_999_999, b"x")), "final"),
        ((END, END), "final"),
    ],
)
def test_a_failed_run_is_no_cassette(
    sink: ListSink, meta: SessionMeta, events: tuple[JournalEvent, ...], stage: str
) -> None:
    """The sink is aborted and the error says at which stage it failed."""
    with pytest.raises(RunFailedError) as caught:
        run(sink, meta, *events)

    assert caught.value.stage == stage
    assert (sink.aborted, sink.manifest) == (True, None)


def finalise_with(sink: ListSink, meta: SessionMeta, scrubber: WordScrubber) -> Manifest:
    """Finalise a session that shows the secret."""
    return run(sink, meta, *(Output(n, b"hunter2") for n in range(7)), END, scrubber=scrubber)


def test_a_secret_that_is_left_stops_publishing(sink: ListSink, meta: SessionMeta) -> None:
    """The verification's findings are in the error, the first ones, and counted."""
    with pytest.raises(SecretLeftError, match="Output at 0 us: rule word\n") as caught:
        finalise_with(sink, meta, WordScrubber(blind=True))

    assert "and 3 more" in str(caught.value)
    assert (sink.aborted, sink.manifest) == (True, None)


def test_a_secret_in_the_manifest_stops_publishing(sink: ListSink, meta: SessionMeta) -> None:
    """The texts of the manifest go through the same verification."""
    scrubber = WordScrubber()
    scrubber.text = lambda value, *, channel: value  # type: ignore[method-assign]
    with pytest.raises(SecretLeftError, match="Noted"):
        finalise_with(sink, meta, scrubber)

    assert sink.manifest is None


def test_a_scrubber_that_did_not_look_stops_publishing(sink: ListSink, meta: SessionMeta) -> None:
    """No finding counts only if everything was looked at."""
    with pytest.raises(RuntimeError, match="without looking"):
        finalise_with(sink, meta, WordScrubber(lazy=True))

    assert (sink.aborted, sink.manifest) == (True, None)


def test_a_verification_may_pass_over_the_events_again(sink: ListSink, meta: SessionMeta) -> None:
    """The second pass sees the same scrubbed events and writes nothing."""

    class Twice(WordScrubber):
        def verify(self, meta: SessionMeta, source: object) -> tuple[str, ...]:
            first = super().verify(meta, source)  # type: ignore[arg-type]
            return first + super().verify(meta, source)  # type: ignore[arg-type]

    finalise_with(sink, meta, Twice())

    assert len(sink.data) == 7 * 7


def test_what_was_written_is_void_where_the_scrubber_begins_anew(meta: SessionMeta) -> None:
    """The sink that held it is aborted, another one holds everything once, and is published."""
    void, sink = sinks = [ListSink(), ListSink()]
    manifest = run(iter(sinks), meta, *SESSION, scrubber=SecondThoughts())

    assert (void.aborted, void.manifest) == (True, None)
    assert (sink.aborted, sink.manifest) == (False, manifest)
    assert sink.data == b"$ ls\na b\n$ "


def test_what_a_step_scrubber_left_stops_publishing(sink: ListSink, meta: SessionMeta) -> None:
    """It says so itself."""
    scrubber = SecondThoughts()
    scrubber.left = ("output: 1 ms: rule word",)
    with pytest.raises(SecretLeftError, match="rule word"):
        run(sink, meta, *SESSION, scrubber=scrubber)

    assert (sink.aborted, sink.manifest) == (True, None)


def test_what_was_typed_unseen_is_hidden_when_the_session_is_known(meta: SessionMeta) -> None:
    """Also input that is not marked so: a field in raw mode painted a sign for it."""
    sinks, typed = [ListSink(), ListSink()], TypedWatch()
    session = [Output(1, b"Password: "), Typed(2, b"swordfish\r"), Output(3, b"*" * 9), END]
    doubles = {"emulator": default_emulator, "scrubber": SecondThoughts(), "typed": typed}
    run(iter(sinks), meta, *session, **doubles)

    (record,) = sinks[-1].of(InputRecord)
    assert (record.bytes, record.masked) == (b"*" * 9 + b"\r", True)
    assert [secret.text for secret in typed.values] == ["swordfish"]


def test_progress_is_told_in_bytes(sink: ListSink, meta: SessionMeta) -> None:
    """After each output, the bytes so far."""
    told: list[int] = []
    run(sink, meta, *SESSION, scrubber=Unscrubbed(), progress=told.append)

    assert told == [2, 9, 11]


def test_unscrubbed_says_so(sink: ListSink, meta: SessionMeta) -> None:
    """On explicit demand nothing is removed, and the report admits it."""
    run(sink, meta, Output(1, b"hunter2"), END, scrubber=Unscrubbed())

    assert sink.data == b"hunter2"
    assert [getattr(document, "status", "") for document in sink.documents] == ["unscrubbed"]


def test_events_are_taken_one_by_one(sink: ListSink, meta: SessionMeta) -> None:
    """Memory does not grow with the session: no more than one event is read ahead."""
    ahead: list[int] = []

    def source() -> Iterator[JournalEvent]:
        for number in range(50):
            ahead.append(number - len(sink.of(OutputRecord)))
            yield Output(number, b"x\n")
        yield END

    finalise(meta, source, lambda: sink, emulator=LineEmulator, scrubber=WordScrubber())

    assert max(ahead) <= 1
