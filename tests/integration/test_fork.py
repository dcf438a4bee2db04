"""A recording is forked: verified up to a place, one thing changed there, a whole child."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.fork.io.forking import fork
from ptycassette.agents.fork.io.live import ForkOptions, LiveTerms
from ptycassette.agents.fork.io.reading_lineage import fork_between, read_lineage
from ptycassette.agents.fork.places import Change, ForkPlace
from ptycassette.agents.fork.report import ForkReport, fork_of
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.errors import DivergenceError, RefusedError, UsageError
from ptycassette.model.records import InputRecord
from ptycassette.recording.io.recording import record
from ptycassette.tape.consent.terms import ANYWHERE, ApprovalNeededError, Limit, Terms
from tests.tampering import TamperedTape

pytestmark = pytest.mark.integration

CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"
AGENT = (sys.executable, "-I", str(CLIENT))
SCRIPT = """
version = 1
[[replies]]
when = { prompt_contains = "note", after = "prompt", tools = true }
parts = [{ text = "I will look. " }, { tool = "read_note", arguments = {} }]
[[replies]]
when = { after = "tool" }
text = "The note says something."
"""
PLAIN = """
import os, signal
while True:
    line = input("> ")
    if line == "crash": raise SystemExit("gone wrong")
    if line == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if line == "quit": break
    print("heard", line)
"""


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a tool call, and its tape: requests 1 and 2, exchanges 1 and 2."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "note.txt").write_text("buy milk\n")
    script = Script.parse(SCRIPT, where="script", variables={})
    with FakeProviderServer(script) as provider:
        options: dict[str, Any] = {"tape": provider.url, "cwd": folder, "probe_version": False}
        with record(AGENT, folder / "agent.cassette", **options) as session:
            session.wait_for_text("> ")
            session.type("What does the note say?\r")
            session.wait_for_regex(r"something\.\n>")
            session.type("/quit\r")
            session.wait_exit(timeout_s=90)
    return folder / "agent.cassette"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of a program that asks no provider, without a tape."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "plain.py").write_text(PLAIN)
    argv = (sys.executable, "-I", str(folder / "plain.py"))
    with record(argv, folder / "plain.cassette", probe_version=False) as session:
        for awaited, word in ((">", "one"), ("heard one\n>", "two"), ("heard two\n>", "quit")):
            session.wait_for_text(awaited)
            session.type(f"{word}\n")
        session.wait_exit(timeout_s=90)
    return folder / "plain.cassette"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Another work folder, with the same note."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("buy milk\n")
    return folder


Forking = Callable[..., ForkReport]


@pytest.fixture
def forked(parent: Path, work: Path, tmp_path: Path) -> Forking:
    """Forks the parent into ``child.cassette``."""

    def fork_it(at: str, change: str, *, of: Path = parent, **more: Any) -> ForkReport:
        run = {"trusted": True, "cwd": work, "patience_s": 5.0, **more.pop("run", {})}
        options = ForkOptions(
            at=ForkPlace.parse(at),
            change=Change.parse(change),
            **run,
            quiet_ms=100,
            **more,
        )
        with open_cassette(of) as cassette:
            return fork(cassette, tmp_path / "child.cassette", options)

    return fork_it


def child_of(tmp_path: Path) -> Cassette:
    """The child, everything in it checked."""
    return open_cassette(tmp_path / "child.cassette", check="full")


def shown(tmp_path: Path) -> str:
    """All that the child printed."""
    with child_of(tmp_path) as child:
        return printed(child)


def printed(child: Cassette) -> str:
    """All that it printed."""
    return b"".join(event.data for event in child.events() if event.kind == "output").decode()


def test_a_changed_response_has_a_child(
    forked: Forking, parent: Path, work: Path, tmp_path: Path
) -> None:
    """It verifies, says where it comes from, and can be run again."""
    report = forked("tape:2", "response=It says to buy silk.")

    proof = report.origin.prefix
    assert (proof.entries, proof.screens, proof.inputs) == ((1,), 1, 1)
    assert len(proof.fingerprint) == 64
    assert verify_cassette(tmp_path / "child.cassette").error is None
    with child_of(tmp_path) as child, open_cassette(parent) as recorded:
        assert "It says to buy silk." in printed(child)
        assert fork_of(child.final.metadata) == report.origin
        assert child.manifest.command.argv == recorded.manifest.command.argv
        marked = [event for event in child.events() if _type(event) == "fork"]
        asked = [event.seq for event in child.events() if _type(event) == "model-request"]
        assert len(marked) == 1
        assert asked[1] < marked[0].seq
        again = rerun(child, RerunOptions(trusted=True, cwd=work))
    assert again.passed, again
    between = fork_between(tmp_path / "child.cassette", parent)
    assert between is not None
    assert (between.t_us, between.origin) == (marked[0].t_us, report.origin)
    with open_cassette(parent) as cassette:
        second = list(cassette.tape())[1].entry
    other_way = fork_between(parent, tmp_path / "child.cassette")
    assert other_way is not None
    assert other_way.t_us == second.t_us
    assert fork_between(parent, parent) is None
    own, found = read_lineage(tmp_path / "child.cassette")[0], read_lineage(parent)[0]
    assert own.origin is not None
    assert own.origin.parent.manifest_sha256 == found.sha256


def _type(event: Any) -> str:
    payload = event.record.payload if event.kind == "service-event" else {}
    return str(payload.get("type", ""))


def test_another_input_is_typed(forked: Forking, tmp_path: Path) -> None:
    """With the recorded answers: the question that the tape does not have gets none."""
    report = forked("exchange:1", "input=hello")

    assert report.origin.prefix.entries == ()
    assert (report.requests, len(report.unanswered)) == (1, 1)
    assert "not_on_the_tape" in shown(tmp_path)
    assert report.exit is not None
    assert report.exit.code == 0


def test_a_prefix_that_differs_leaves_no_child(forked: Forking, work: Path, tmp_path: Path) -> None:
    """The request, and the place in it, are named."""
    (work / "note.txt").write_text("buy silk\n")
    with pytest.raises(DivergenceError, match="recorded buy milk, now buy silk"):
        forked("exchange:2", "input=hello")
    assert not (tmp_path / "child.cassette").exists()


def test_another_fingerprint_leaves_no_child(
    forked: Forking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was served is proved by what was served, and not by what was recorded."""
    monkeypatch.setattr(TapeDesk, "fingerprint", lambda _self, _draws=(): "f" * 64)
    with pytest.raises(DivergenceError, match="not in its order"):
        forked("tape:2", "response=x")
    assert not (tmp_path / "child.cassette").exists()


def test_a_run_that_ends_before_the_place_is_an_error(
    forked: Forking, plain: Path, tmp_path: Path
) -> None:
    """And no empty success."""
    early = (sys.executable, "-I", "-c", "input('> '); raise SystemExit(3)")
    with pytest.raises(DivergenceError, match=r"ended before it \(status 3\)"):
        forked("exchange:2", "input=x", of=plain, run={"argv": early})
    assert not (tmp_path / "child.cassette").exists()


def test_a_screen_that_differs_leaves_no_child(
    forked: Forking, plain: Path, tmp_path: Path
) -> None:
    """The input, and the row that differs, are named."""
    (tmp_path / "other.py").write_text(PLAIN.replace("heard", "HEARD"))
    other = (sys.executable, "-I", str(tmp_path / "other.py"))
    with pytest.raises(DivergenceError, match=r"(?s)before input 2 is not.*\+HEARD one"):
        forked("exchange:2", "input=x", of=plain, run={"argv": other, "patience_s": 1.0})
    assert not (tmp_path / "child.cassette").exists()


@pytest.mark.parametrize(("word", "end"), [("crash", (1, "")), ("kill", (-1, "killed"))])
def test_a_crash_after_the_change_is_a_child(
    forked: Forking, plain: Path, tmp_path: Path, word: str, end: tuple[int, str]
) -> None:
    """Whose exit says so. What was still to be typed is counted."""
    report = forked("exchange:2", f"input={word}", of=plain)

    assert report.left == 1
    with child_of(tmp_path) as child:
        assert child.final.exit is not None
        assert (child.final.exit.code, child.final.exit.signal) == end


def test_a_script_knows_the_folders_of_the_run(forked: Forking, tmp_path: Path) -> None:
    """As the examples for some CLIs do, whose tools want whole paths."""
    text = 'version = 1\n[[replies]]\ntimes = 0\ntext = "In %s: fine."\n'
    (tmp_path / "there.toml").write_text(text % "${cwd}")
    (tmp_path / "here.toml").write_text(text % "${home}")
    change = f"response=@{tmp_path / 'here.toml'}"
    report = forked("tape:1", change, script=tmp_path / "there.toml")

    assert report.unanswered == ()
    assert ": fine." in shown(tmp_path)


@pytest.mark.slow
def test_the_tail_is_the_fake_provider(forked: Forking, tmp_path: Path) -> None:
    """It answers anything."""
    report = forked("exchange:1", "input=hello", tail="fake")

    assert (report.requests, report.unanswered) == (1, ())
    assert "Hello from the script." in shown(tmp_path)


LIVE = """
version = 1
auth = { require = "key" }
[[replies]]
times = 0
when = { result_contains = "silk" }
text = "Live: silk."
[[replies]]
times = 0
text = "Live: something."
"""


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviderServer]:
    """A provider on this machine that knows the user's key alone."""
    key = "-".join(("mine", "a" * 20))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    script = Script.parse(LIVE, where="script", variables={})
    with FakeProviderServer(script, accepted_keys=frozenset((key,))) as provider:
        yield provider


def test_the_tail_is_a_live_provider(
    forked: Forking, live: FakeProviderServer, tmp_path: Path
) -> None:
    """It is asked with the user's key, of which neither the program nor the child has anything.

    It gets the changed result; the child's tape has the question as the program asked it.
    """
    report = forked(
        "tape:2", "tool-result=buy silk", tail="live", live=LiveTerms(provider=live.url)
    )

    assert (report.refused, report.unanswered) == ((), ())
    assert "Live: silk." in shown(tmp_path)
    assert [entry["body"]["messages"][-1]["content"] for entry in live.requests] == ["buy silk"]
    with child_of(tmp_path) as child:
        assert b"buy milk" in list(child.tape())[1].question()
    for file in (tmp_path / "child.cassette").iterdir():
        assert b"a" * 20 not in file.read_bytes()


@pytest.mark.slow
def test_a_live_tail_has_a_limit(forked: Forking, live: FakeProviderServer, tmp_path: Path) -> None:
    """What exceeds it is refused, and the report says so."""
    terms = LiveTerms(provider=live.url, terms=Terms(limit=Limit(requests=0)))
    report = forked("exchange:1", "input=hello", tail="live", live=terms)

    assert live.requests == ()
    assert len(report.refused) == 1
    assert "403" in shown(tmp_path)


def test_a_live_provider_is_not_asked_without_approval(forked: Forking, tmp_path: Path) -> None:
    """Nothing is started."""
    terms = LiveTerms(provider="https://provider.invalid")
    with pytest.raises(ApprovalNeededError, match=r"provider\.invalid"):
        forked("exchange:1", "input=hello", tail="live", live=terms)
    assert not (tmp_path / "child.cassette").exists()


def test_the_users_key_goes_to_no_address_of_a_cassette(forked: Forking) -> None:
    """Whoever agrees to everything still names a provider that is not known."""
    terms = LiveTerms(terms=Terms(upstreams=(ANYWHERE,)))
    with pytest.raises(UsageError, match="not a known provider"):
        forked("exchange:1", "input=hello", tail="live", live=terms)


@pytest.mark.slow
def test_a_live_provider_is_not_asked_after_another_prefix(
    forked: Forking, live: FakeProviderServer, work: Path
) -> None:
    """Not one request is paid for what is no fork."""
    (work / "note.txt").write_text("buy silk\n")
    with pytest.raises(DivergenceError):
        forked("exchange:2", "input=x", tail="live", live=LiveTerms(provider=live.url))
    assert live.requests == ()


@pytest.mark.slow
def test_a_changed_size_reaches_the_program(forked: Forking, plain: Path, tmp_path: Path) -> None:
    """Before the input of the place; the child holds it as an input, so it can be run again."""
    forked("exchange:2", "size=100x30", of=plain)
    with child_of(tmp_path) as child:
        sizes = [
            event.record.size
            for event in child.events()
            if isinstance(event.record, InputRecord) and event.record.size is not None
        ]
        again = rerun_plain(child, tmp_path)
    assert [(size.cols, size.rows) for size in sizes] == [(100, 30)]
    assert again.exit is not None


def rerun_plain(child: Cassette, tmp_path: Path) -> ForkReport:
    """Fork the child itself: a child is a parent."""
    options = ForkOptions(
        at=ForkPlace("exchange", 1),
        change=Change.parse("input=quit"),
        trusted=True,
        patience_s=5.0,
    )
    return fork(child, tmp_path / "grandchild.cassette", options)


@pytest.mark.slow
def test_a_changed_exit_is_what_the_child_says(
    forked: Forking, plain: Path, tmp_path: Path
) -> None:
    """The program is ended there; a driver sees the status."""
    report = forked("exchange:2", "exit=7", of=plain)
    with child_of(tmp_path) as child:
        assert child.final.exit == report.exit
        assert child.final.exit is not None
        assert (child.final.exit.code, child.final.exit.signaled) == (7, False)


def test_the_program_has_no_network(forked: Forking, plain: Path, tmp_path: Path) -> None:
    """Not even to the machine that it runs on, as in a rerun."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        program = (
            "import socket\n"
            "input('> ')\n"
            f"try: socket.create_connection(('127.0.0.1', {port}), 5)\n"
            "except OSError as no: print('no', no)\n"
            "else: print('CONNECTED')\n"
        )
        argv = (sys.executable, "-I", "-c", program)
        report = forked("exchange:1", "input=x", of=plain, run={"argv": argv})
    if "namespace" not in report.guard:
        pytest.skip("the kernel does not let this user make network namespaces")

    assert "no [Errno 111]" in shown(tmp_path)
    assert "CONNECTED" not in shown(tmp_path)


def test_nothing_is_started_without_trust(forked: Forking, tmp_path: Path) -> None:
    """As a rerun says it."""
    with pytest.raises(RefusedError, match="would run"):
        forked("exchange:1", "input=x", run={"trusted": False})
    assert not (tmp_path / "child.cassette").exists()


@pytest.mark.parametrize(
    ("at", "change", "more"),
    [("tape:1", "tool-result=x", {"tail": "fake"}), ("exchange:1", "response=x", {})],
)
def test_what_cannot_apply_is_refused_before_anything_is_started(
    forked: Forking, at: str, change: str, more: dict[str, Any]
) -> None:
    """A request without a tool's result; a response where none is asked for."""
    with pytest.raises(UsageError):
        forked(at, change, **more)


def test_a_recording_without_a_tape_has_no_provider(forked: Forking, plain: Path) -> None:
    """So none can answer its tail."""
    with pytest.raises(UsageError, match="no tape"):
        forked("exchange:1", "input=x", of=plain, tail="fake")


@pytest.mark.slow
def test_a_tampered_tape_is_no_parent(forked: Forking, parent: Path, tmp_path: Path) -> None:
    """All digests fit, but its fingerprint is not that of the published one."""
    tape = TamperedTape(parent, tmp_path / "tampered.cassette")
    tape.answers[1] = tape.answers[1].replace(b"I will look", b"I will see!")
    tape.publish()
    with pytest.raises(DivergenceError, match="fingerprint differs"):
        forked("exchange:2", "input=x", of=tape.path)
    assert not (tmp_path / "child.cassette").exists()
