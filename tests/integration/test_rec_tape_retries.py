"""A provider that is busy is asked again; what it never answers is said, with status 6."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette

pytest.importorskip("h11")

from ptycassette.tape.consent.terms import Terms, TermsGate
from ptycassette.tape.io._proxy_messages import Order
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.io.price_table import load_prices
from ptycassette.tape.io.proxy import Proxy
from ptycassette.tape.retries import Retries

pytestmark = pytest.mark.integration

COMMAND = str(Path(sys.executable).with_name("ptycassette"))
ASK = """
import json, os, sys, urllib.error, urllib.request
messages = [{"role": "user", "content": "How are you?"}]
body = json.dumps({"model": "m", "messages": messages}).encode()
for _ in range(int(sys.argv[1])):
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body,
                                     {"content-type": "application/json"})
    try:
        print(json.load(urllib.request.urlopen(request))["said"])
    except urllib.error.HTTPError as error:
        print(error.code)
    except OSError as error:
        print("broke off")
"""


class Provider:
    """Does the next thing of a list to each request: a status, or nothing for too long."""

    def __init__(self) -> None:
        self.acts: list[int | None] = []
        self.asked = 0
        provider, self.released = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                provider.asked += 1
                status = provider.acts.pop(0)
                if status is None:
                    provider.released.wait(30)
                    self.close_connection = True
                    return
                body = json.dumps({"said": f"well, {provider.asked}"}).encode()
                self.send_response(status)
                if status >= 400:
                    self.send_header("retry-after", "0")
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """One that listens."""
    made = Provider()
    yield made
    made.released.set()
    made.server.shutdown()
    made.server.server_close()


def recorded(
    folder: Path, provider: Provider, *options: str, times: int = 1
) -> tuple[int, str, list[Any], dict[str, Any]]:
    """Status, what the program printed, the tape's entries, and the summary of errors."""
    (folder / "ask.py").write_text(ASK)
    ran = subprocess.run(
        [
            *(COMMAND, "rec", "-q", "--headless", "--tape", "--provider", provider.url),
            *("--evidence", "evidence", "--overwrite", *options, "a.cassette"),
            *("--", sys.executable, "ask.py", str(times)),
        ],
        cwd=folder,
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert (folder / "a.cassette").exists(), ran.stderr.decode()
    summary = folder / "evidence" / "error-summary.json"
    errors = json.loads(summary.read_text()) if summary.exists() else {}
    with open_cassette(folder / "a.cassette") as cassette:
        entries = [one.entry for one in cassette.tape()]
        text = "".join(f"{row}\n" for row in list(cassette.frames())[-1].text if row.strip())
    return ran.returncode, text, entries, errors


@pytest.mark.parametrize(
    ("acts", "retries", "expected"),
    [
        ([429, 503, 200], "2", (0, "well, 3\n", "asked 3 times: 429, 503")),
        ([503, 529], "1", (6, "529\n", "asked 2 times: 503, 529")),
        ([400], "3", (0, "400\n", "")),
        ([None, 200], "1", (0, "well, 2\n", "asked 2 times: no answer in 0.5 s")),
        ([None], "0", (6, "broke off\n", "asked once: no answer in 0.5 s")),
    ],
)
def test_the_program_sees_one_answer(
    tmp_path: Path,
    provider: Provider,
    acts: list[int | None],
    retries: str,
    expected: tuple[int, str, str],
) -> None:
    """The tape has one entry, so that another run is answered as this one was."""
    status, printed, detail = expected
    provider.acts = list(acts)

    ended, text, entries, errors = recorded(
        tmp_path, provider, "--retries", retries, "--answer-timeout", "0.5"
    )

    assert (ended, text, provider.acts) == (status, printed, [])
    assert [entry.detail for entry in entries] == [detail]
    assert bool(errors) == (status == 6 or printed == "400\n")


@pytest.mark.slow
def test_without_the_option_errors_are_recorded_and_the_status_is_the_programs(
    tmp_path: Path, provider: Provider
) -> None:
    """The program asks again itself: what it was told in the end is no error."""
    provider.acts = [429, 200]

    ended, text, entries, errors = recorded(tmp_path, provider, times=2)

    assert (ended, text) == (0, "429\nwell, 2\n")
    assert [entry.answer.status for entry in entries] == [429, 200]
    assert errors == {}


@pytest.mark.slow
def test_a_recording_answers_in_the_end(tmp_path: Path, provider: Provider) -> None:
    """Marked as such in the tape. What it does not know stays an error."""
    before = tmp_path / "before"
    before.mkdir()
    provider.acts = [200]
    recorded(before, provider)
    provider.acts = [503, 503]

    options = ("--retries", "0", "--fallback", str(before / "a.cassette"))
    ended, text, entries, errors = recorded(tmp_path, provider, *options, times=2)

    assert (ended, text) == (6, "well, 1\n503\n")
    assert [entry.detail for entry in entries] == [
        "answered from a recording; asked once: 503",
        "asked once: 503",
    ]
    assert [line["entry"] for line in errors["errors"]] == [2]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="/proc lists open files on Linux")
def test_a_proxy_that_ends_holds_no_file_of_its_fallback(tmp_path: Path) -> None:
    """The cassette is open as long as the proxy may ask it."""
    path = Path(__file__).parents[2] / "fixtures" / "v1" / "tape"
    order = Order(
        token="", upstreams={"main": "http://127.0.0.1:9"}, retries=Retries(fallback=str(path))
    )

    gate = TermsGate(Terms(), load_prices())

    async def before_and_after() -> tuple[list[str], list[str]]:
        with TapeJournalFile(tmp_path / "a.tape", origin_us=0) as journal:
            proxy = Proxy(order, sink=journal, gate=gate, report=str)
            await proxy.start()
            before = open_below(path)
            await proxy.close()
            return before, open_below(path)

    before, after = asyncio.run(before_and_after())

    assert before
    assert not after


def open_below(path: Path) -> list[str]:
    """The files of a folder that this process has open."""
    links = [str(one.resolve()) for one in Path("/proc/self/fd").iterdir()]
    return [one for one in links if one.startswith(f"{path}/")]
