"""Whatever is changed in a tape or in what is asked of it, a rerun does not pass.

The program of these tests ends with 0 whatever it is told.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.errors import DigestError, TapeError
from ptycassette.recording.io.recording import record
from tests.tampering import TamperedTape

pytest.importorskip("aiohttp")
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.report import RerunReport, report_lines
from ptycassette.tape.io.recorded_answers import published_damage

pytestmark = pytest.mark.integration

CLIENT = Path(__file__).parent.parent / "programs" / "tape_shapes.py"
AGENT = (sys.executable, "-I", str(CLIENT))
OTHER = "tape: it is not the one that was published"
WORDS = ("whole", "stream", "limit", "same", "same", "broken", "short", "gone", "quiet:silent")
STREAM = (b"data: one\n\n", b"data: t", b"wo\n\n", b"data: [DONE]\n\n")


class Provider(BaseHTTPRequestHandler):
    """Answers each word in another shape."""

    protocol_version = "HTTP/1.1"
    together = Barrier(2)
    asked = 0

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        said: str = json.loads(body)["messages"][-1]["content"]
        if ":" in said:
            self.together.wait(90)  # both questions are there before either is answered
            return self._whole(200, f"{said}, yes.".encode())
        match said:
            case "stream":
                self._head(200, ("transfer-encoding", "chunked"))
                for piece in STREAM:
                    self._chunk(piece)
                self.wfile.write(b"0\r\n\r\n")
            case "limit":
                self._whole(429, b"slow down")
            case "same":
                Provider.asked += 1
                self._whole(200, f"answer {Provider.asked}".encode())
            case "broken":
                self._head(200, ("transfer-encoding", "chunked"))
                self._chunk(b"only the ")
                self._break()
            case "short":
                self._head(200, ("content-length", "100"))
                self.wfile.write(b"ten bytes.")
                self._break()
            case "gone":
                self._break()
            case _:
                self._whole(200, f"the answer to {said}".encode())
        return None

    def _head(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def _whole(self, status: int, body: bytes) -> None:
        self._head(status, ("content-length", str(len(body))))
        self.wfile.write(body)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _break(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations at once, then answers of all shapes."""
    folder = tmp_path_factory.mktemp("shapes")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    Thread(target=server.serve_forever, daemon=True).start()
    options: dict[str, Any] = {"tape": f"http://127.0.0.1:{server.server_port}", "cwd": folder}
    with record([*AGENT, *WORDS], folder / "a.cassette", **options) as session:
        session.wait_exit(timeout_s=60)
    server.shutdown()
    server.server_close()
    return folder / "a.cassette"


def again(cassette: Path, *words: str) -> RerunReport:
    """The report of a rerun, of these words in place of the recorded ones."""
    with open_cassette(cassette) as source:
        argv = (*AGENT, *words) if words else ()
        return rerun(source, RerunOptions(trusted=True, argv=argv, patience_s=5))


def findings(report: RerunReport) -> list[str]:
    """What it says is wrong, in lines."""
    return list(report_lines(report))[2:]


@pytest.mark.slow
def test_an_answer_has_its_recorded_shape(recorded: Path) -> None:
    """Status, chunks, an end in the middle, a connection without an answer."""
    report = again(recorded)

    assert report.passed, findings(report)
    assert verify_cassette(str(recorded), tape=published_damage).tape_proved
    assert report.entries == 4 + len(WORDS)
    assert report.screens == 1


def _body(tape: TamperedTape) -> None:
    number = tape.number("whole")
    tape.answers[number] = tape.answers[number].replace(b"the", b"teh")


def _silent_body(tape: TamperedTape) -> None:
    number = tape.number("silent")
    tape.answers[number] = tape.answers[number].replace(b"the", b"teh")


def _question(tape: TamperedTape) -> None:
    number = tape.number("silent")
    tape.questions[number] = tape.questions[number].replace(b"silent", b"violet")


def _order_of_turns(tape: TamperedTape) -> None:
    tape.swap(tape.number("north: begin"), tape.number("north: go on"))


def _order_of_equals(tape: TamperedTape) -> None:
    one, two = (n for n, body in tape.questions.items() if b'"same"' in body)
    tape.answers[one], tape.answers[two] = tape.answers[two], tape.answers[one]


def _answers_of_two(tape: TamperedTape) -> None:
    one, two = tape.number("north: begin"), tape.number("south: begin")
    tape.answers[one], tape.answers[two] = tape.answers[two], tape.answers[one]


def _status(tape: TamperedTape) -> None:
    tape.entry(tape.number("silent"))["answer"]["status"] = 500


def _chunks(tape: TamperedTape) -> None:
    answer = tape.entry(tape.number("stream"))["answer"]
    first, second, *rest = answer["chunks"]
    answer["chunks"] = [[first[0], first[1] + second[1]], *rest]


def _end(tape: TamperedTape) -> None:
    tape.entry(tape.number("broken"))["outcome"] = "complete"


def _header(name: str, value: str) -> Callable[[TamperedTape], None]:
    def change(tape: TamperedTape) -> None:
        answer = tape.entry(tape.number("silent"))["answer"]
        answer["headers"] = [[name, value], *(one for one in answer["headers"] if one[0] != name)]

    return change


def _silent_end(tape: TamperedTape) -> None:
    tape.entry(tape.number("silent"))["outcome"] = "provider-gone"


def _silent_cut(tape: TamperedTape) -> None:
    answer = tape.entry(tape.number("silent"))["answer"]
    [t_us, length, *form] = answer["chunks"][0]
    answer["chunks"][:1] = [[t_us, 3, *form], [t_us, length - 3, *form]]


CHANGED: dict[str, tuple[Callable[[TamperedTape], None], str]] = {
    "an answer": (_body, "teh answer to whole"),
    "an answer that nobody looks at": (_silent_body, "tape: it is not the one that was published"),
    "a question": (_question, "its question, or the rules"),
    "the order of turns": (_order_of_turns, "tape: it is not the one that was published"),
    "the order of equal questions": (_order_of_equals, "answer 2"),
    "answers of two conversations": (_answers_of_two, "is not on the tape"),
    "a missing exchange": (lambda tape: tape.drop(tape.number("silent")), "not on the tape"),
    "a status that nobody looks at": (_status, "tape: it is not the one that was published"),
    "a header that nobody looks at": (_header("retry-after", "9"), OTHER),
    "another header": (_header("content-type", "text/html"), OTHER),
    "an end that nobody looks at": (_silent_end, OTHER),
    "a cut that nobody looks at": (_silent_cut, OTHER),
    "how an answer is cut": (_chunks, "stream 200 [18, 4, 14]"),
    "how an answer ends": (_end, "broken 200 [9] b'only the '"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_tape_does_not_pass(recorded: Path, tmp_path: Path, what: str) -> None:
    """Also where all digests are made to fit, and whether the program notices or not."""
    change, said = CHANGED[what]
    tape = TamperedTape(recorded, tmp_path / "changed")
    change(tape)
    path = tape.publish()
    report = again(path)

    assert verify_cassette(str(path)).ok, "the format itself is not what is wrong"
    assert isinstance(verify_cassette(str(path), tape=published_damage).error, TapeError)
    assert not report.passed
    assert said in "\n".join(findings(report))


def test_a_changed_byte_is_refused(recorded: Path, tmp_path: Path) -> None:
    """Where the digests are left as they were, nothing is run."""
    tape = TamperedTape(recorded, tmp_path / "changed")
    bodies = tape.path / "tape-bodies.bin"
    data = bytearray(bodies.read_bytes())
    data[len(data) // 2] ^= 1
    bodies.write_bytes(bytes(data))

    assert isinstance(verify_cassette(str(tape.path)).error, (DigestError, TapeError))
    with pytest.raises((DigestError, TapeError)):
        again(tape.path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*WORDS, "quiet:more"), "request POST /v1/chat is not on the tape"),
        (WORDS[:-1], "was never asked for"),
        ((*WORDS, "quiet:silent"), "request POST /v1/chat is not on the tape"),
        (("stream", "whole", *WORDS[2:]), "screen: at the end"),
    ],
    ids=["one more", "one less", "one twice", "another order"],
)
def test_a_run_that_asks_otherwise_does_not_pass(
    recorded: Path, words: tuple[str, ...], said: str
) -> None:
    """Although the program ends as it did, and mostly shows the same."""
    report = again(recorded, *words)

    assert report.exit == report.expected_exit
    assert not report.passed
    assert said in "\n".join(findings(report))
