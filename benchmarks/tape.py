"""What the tape's proxy costs a CLI, beside the same without it; and that it changes nothing.

``python -m benchmarks tape``: a provider streams lines that hold its own ``CLOCK_MONOTONIC``; a
client reads them directly and through the proxy, in turns. What a line is late by directly, the
machine is late by. A *pump* that only passes bytes, as small as one can be in Python, is the
control: what it is late by beside a direct line, any process in between is. Then 100 streams of
random bytes at once, one answer of 1 GB, and kills.

Then tapes of 100 to 100,000 entries: processor time for each entry to check such a tape before it
is published, and to answer a run that asks all of it with other ids; and HAR files of as many
questions, to import and save them. Where the time for one entry stays as it is, the whole grows as
the tape does. All of it takes an hour; ``--quick`` ends at 10,000, and at 1,000 for imports.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import psutil

from benchmarks.measuring import Report, machine, percentile, run
from ptycassette.formats.importing.io.importer import import_file
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.tape import Chunk, TapeAnswer, TapeEntry
from ptycassette.tape.io.journal_file import TapeJournalReader
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.io.running_proxy import RunningProxy, start_proxy
from ptycassette.tape.items import AnswerData
from ptycassette.tape.matching.checking import check_tape
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.question import Question, QuestionKeys, Rules

DIRECT, PUMP, PROXY = "direct", "through a pump", "through the proxy"
_LINES, _STREAMS = 20, 100
_PROVIDER = """
import asyncio, random, time
from aiohttp import web

async def stream(request):
    answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await answer.prepare(request)
    for _ in range(int(request.query["lines"])):
        await answer.write(b"data: %d\\n\\n" % time.monotonic_ns())
        await asyncio.sleep(0.02)
    return answer

async def noise(request):
    source = random.Random(request.path)
    answer = web.StreamResponse()
    await answer.prepare(request)
    for _ in range(50):
        await answer.write(source.randbytes(source.randint(1, 9000)))
    return answer

async def big(request):
    left, block = int(request.query["bytes"]), bytes(1 << 20)
    answer = web.StreamResponse(headers={"content-length": str(left)})
    await answer.prepare(request)
    while left:
        await answer.write(block[:left])
        left -= len(block[:left])
    return answer

async def main():
    app = web.Application()
    app.router.add_get("/stream", stream)
    app.router.add_get("/noise/{n}", noise)
    app.router.add_get("/big", big)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
_PUMP = """
import asyncio, sys

async def pass_on(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()

async def accept(reader, writer):
    there, here = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    await asyncio.gather(pass_on(reader, here), pass_on(there, writer))

async def main():
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def _server(program: str, *arguments: str) -> Iterator[str]:
    """The URL of a program that prints its port."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


@contextmanager
def _proxy(url: str) -> Iterator[tuple[RunningProxy, str, Path]]:
    """A proxy, its base URL, its journal."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "a.tape"
        with start_proxy(journal=journal, provider=url, environment={}) as proxy:
            yield proxy, proxy.environment["ANTHROPIC_BASE_URL"], journal


async def _stream(session: aiohttp.ClientSession, base: str) -> tuple[float, list[float]]:
    """Milliseconds to the first byte, and by how many each line was late."""
    begun_ns = time.monotonic_ns()
    first: float | None = None
    late = []
    async with session.get(f"{base}/stream?lines={_LINES}") as answer:
        async for line in answer.content:
            now_ns = time.monotonic_ns()
            first = (now_ns - begun_ns) / 1e6 if first is None else first
            if line.startswith(b"data:"):
                late.append((now_ns - int(line[5:])) / 1e6)
    return first or 0.0, late


async def _streams(report: Report, bases: dict[str, str], *, rounds: int, at_once: int) -> None:
    firsts: dict[str, list[float]] = {who: [] for who in bases}
    lates: dict[str, list[float]] = {who: [] for who in bases}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        for who, base in list(bases.items()) * rounds:
            for first, late in await asyncio.gather(
                *(_stream(session, base) for _ in range(at_once))
            ):
                firsts[who].append(first)
                lates[who] += late
    what = f"{at_once} at once" if at_once > 1 else "one stream"
    for title, values in (("to the first byte", firsts), ("a line is late by", lates)):
        for part in (50, 95):
            found = {who: [percentile(runs, part / 100)] for who, runs in values.items()}
            report.add(f"{what}: {title}, p{part}", "ms", found, base=DIRECT)


async def _changed(base: str) -> int:
    """How many of 100 streams at once differ from what was sent."""

    async def ask(session: aiohttp.ClientSession, number: int) -> bool:
        async with session.get(f"{base}/noise/{number}") as answer:
            got = await answer.read()
        source = random.Random(f"/noise/{number}")  # noqa: S311 - the same noise
        sent = b"".join(source.randbytes(source.randint(1, 9000)) for _ in range(50))
        return hashlib.sha256(got).digest() != hashlib.sha256(sent).digest()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        return sum(await asyncio.gather(*(ask(session, n) for n in range(_STREAMS))))


def _take(base: str, size: int, process: psutil.Process | None) -> tuple[float, float]:
    """Seconds for an answer of ``size`` bytes, and the most memory in MB while it passes."""
    host, _, path = base.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    begun, most, got = time.monotonic(), 0, 0
    with socket.create_connection((name, int(port))) as client:
        asked = f"GET /{path}/big?bytes={size} HTTP/1.1".replace("//", "/")
        client.sendall(f"{asked}\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        while data := client.recv(1 << 20):
            got += len(data)
            if process is not None and (got >> 20) % 16 == 0:
                most = max(most, process.memory_info().rss)
    assert got > size
    return time.monotonic() - begun, most / 1e6


def _lost_at_kill(url: str, moment: random.Random) -> int:
    """Bytes that a client got and the journal has not, after a kill at some moment."""
    with _proxy(url) as (proxy, base, journal):
        host, _, path = base.removeprefix("http://").partition("/")
        name, _, port = host.partition(":")
        with socket.create_connection((name, int(port))) as client:
            asked = f"GET /{path}/big?bytes={1 << 30} HTTP/1.1\r\nHost: {host}\r\n\r\n"
            client.sendall(asked.encode())
            until, got = moment.randint(1, 40 << 20), 0
            while got < until:
                got += len(client.recv(65536))
            os.kill(proxy._process.pid, signal.SIGKILL)  # noqa: SLF001 - to kill it
            try:
                while data := client.recv(65536):
                    got += len(data)
            except ConnectionResetError:
                pass
        with TapeJournalReader(journal) as reader:
            noted = sum(len(item.data) for item in reader.poll() if isinstance(item, AnswerData))
    head = 200  # of the answer, at least; so a body that is short by less is not seen as lost
    return max(0, got - head - noted)


class _Exchange:
    """An exchange in memory, as a reader of cassettes hands them out."""

    def __init__(self, entry: TapeEntry, question: bytes, answer: bytes) -> None:
        self.entry, self._question, self._answer = entry, question, answer

    def question(self) -> bytes:
        return self._question

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        yield Chunk(0, len(self._answer)), self._answer


def _id(run: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run} {number}"))


def _call(number: int) -> str:
    return f"call_{number:024x}"


_SHAPES: dict[str, Callable[[str, int], tuple[object, object]]] = {
    "different questions": lambda _, n: ({"messages": [f"question {n}"]}, {"text": f"answer {n}"}),
    "equal questions that overlap": lambda _, _n: ({"messages": ["hello"]}, {"text": "hello"}),
    "equal questions, one after the other": lambda _, _n: (
        {"messages": ["hello"]},
        {"text": "hello"},
    ),
    "retries: each is refused twice": lambda _, n: (
        {"messages": [f"question {n // 3}"]},
        {"text": f"answer {n}"},
    ),
    "equal but for an id, that overlap": lambda run, n: ({"user": _id(run, n)}, {"text": "hello"}),
    "ten questions for each id": lambda run, n: ({"user": _id(run, n // 10)}, {"text": "hello"}),
    "each continues an answer": lambda _, n: (
        {"messages": [{"tool_call_id": _call(n - 1), "content": "done"}]},
        {"tool_calls": [{"id": _call(n)}]},
    ),
}
"""Questions and answers by the run and their number."""
_IMPORTED = tuple(_SHAPES)[:3]


def _question(body: object) -> Question:
    data = json.dumps(body).encode()
    return Question(kind="http", method="POST", target="/v1/chat/completions", body=data)


def _tape_of(shape: str, count: int, rules: Rules, key: bytes) -> list[_Exchange]:
    keys = QuestionKeys(rules, {}, key=key)
    made: list[_Exchange] = []
    overlap = "overlap" in shape
    for number in range(count):
        asked, answered = _SHAPES[shape]("recorded", number)
        question, answer = _question(asked), json.dumps(answered).encode()
        kept = keys.of(question)
        seq = 1 + (number if overlap else 3 * number)
        after = count * 2 if overlap else 1
        status = 429 if "refused" in shape and number % 3 < 2 else 200
        entry = TapeEntry(
            entry=number + 1,
            seq=seq,
            t_us=number,
            kind="http",
            connection=1,
            method=question.method,
            target=question.target,
            key=kept.key,
            tokens=kept.tokens,
            answer=TapeAnswer(
                seq=seq + after, t_us=number, status=status, chunks=(Chunk(count, len(answer)),)
            ),
            end_seq=seq + 2 * after,
        )
        made.append(_Exchange(entry, question.body, answer))
    return made


def _matching(report: Report, counts: tuple[int, ...]) -> None:
    """What one entry costs on tapes of some lengths."""
    rules, key = load_matching_rules((), env={"HOME": os.devnull}), bytes(32)
    sizes = {count: f"{count:,} entries" for count in counts}
    for shape, made in _SHAPES.items():
        checked: dict[str, list[float]] = {}
        answered: dict[str, list[float]] = {}
        for count, who in sizes.items():
            exchanges = _tape_of(shape, count, rules, key)
            begun = time.process_time()
            assert not check_tape(exchanges, rules, key=key).unchecked
            checked[who] = [(time.process_time() - begun) / count * 1e6]
            asked = [_question(made("another", number)[0]) for number in range(count)]
            begun = time.process_time()
            matcher = Matcher(exchanges, rules, key=key)
            assert all(isinstance(matcher.ask(one), Hit) for one in asked)
            answered[who] = [(time.process_time() - begun) / count * 1e6]
        base = sizes[counts[0]]
        report.add(f"{shape}: check, for each", "µs", checked, base=base)
        report.add(f"{shape}: answer, for each", "µs", answered, base=base)


_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_TYPED = [{"name": "content-type", "value": "application/json"}]


def _har_of(shape: str, count: int) -> bytes:
    """A HAR of a run; questions that overlap all begin at once, and others when one has ended."""
    entries = []
    for number in range(count):
        asked, answered = _SHAPES[shape]("recorded", number)
        begun = _BEGUN if "overlap" in shape else _BEGUN + timedelta(milliseconds=10 * number)
        request = {
            "method": "POST",
            "url": "https://api.example/v1/chat/completions",
            "headers": _TYPED,
            "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
        }
        content = {"mimeType": "application/json", "text": json.dumps(answered)}
        entries.append(
            {
                "startedDateTime": begun.isoformat(),
                "time": 5 * count if "overlap" in shape else 5,
                "request": request,
                "response": {"status": 200, "headers": _TYPED, "content": content},
            }
        )
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def _importing(report: Report, counts: tuple[int, ...]) -> None:
    """What it costs to import and save one entry of HAR files of some lengths."""
    sizes = {count: f"{count:,} entries" for count in counts}
    for shape in _IMPORTED:
        taken: dict[str, list[float]] = {}
        for count, who in sizes.items():
            with tempfile.TemporaryDirectory() as place:
                file = Path(place) / "x.har"
                file.write_bytes(_har_of(shape, count))
                begun = time.process_time()
                import_file(file, Path(place) / "c", by=import_named("har"))
                taken[who] = [(time.process_time() - begun) / count * 1e6]
        report.add(f"{shape}: import, for each", "µs", taken, base=sizes[counts[0]])


def measure(*, quick: bool) -> Report:
    """All of it."""
    report = Report(name="tape", title="The tape's proxy, beside none", machine=machine())
    size, kills = (64 << 20, 3) if quick else (1 << 30, 50)
    with _server(_PROVIDER) as url:
        with _server(_PUMP, url.rpartition(":")[2]) as pump, _proxy(url) as (proxy, base, _):
            bases = {DIRECT: url, PUMP: pump, PROXY: base}
            rounds = 10 if quick else 100
            asyncio.run(_streams(report, bases, rounds=rounds, at_once=1))
            asyncio.run(_streams(report, bases, rounds=max(1, rounds // 20), at_once=_STREAMS))
            changed = asyncio.run(_changed(base))
            report.add(f"{_STREAMS} at once: streams changed", "", {PROXY: [float(changed)]})
            process = psutil.Process(proxy._process.pid)  # noqa: SLF001 - to look at it
            before = process.memory_info().rss / 1e6
            direct_s, _most = _take(url, size, None)
            proxy_s, most = _take(base, size, process)
            taken = {DIRECT: [direct_s], PROXY: [proxy_s]}
            report.add(f"an answer of {size >> 20} MB", "s", taken, base=DIRECT)
            report.add("memory before it", "MB", {PROXY: [before]})
            report.add("memory during it, at most", "MB", {PROXY: [most]})
        moment = random.Random(7)  # noqa: S311 - the same moments
        lost = [float(_lost_at_kill(url, moment)) for _ in range(kills)]
        report.add(f"killed {kills} times: bytes lost that were served", "", {PROXY: lost})
    _matching(report, (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000))
    _importing(report, (100, 1_000) if quick else (100, 1_000, 10_000, 100_000))
    return report


if __name__ == "__main__":
    run(measure)
