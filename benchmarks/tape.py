"""What the tape's proxy costs a CLI, beside the same without it; and that it changes nothing.

``python -m benchmarks tape``: a provider streams lines that hold its own ``CLOCK_MONOTONIC``; a
client reads them directly and through the proxy, in turns. What a line is late by directly, the
machine is late by. A *pump* that only passes bytes, as small as one can be in Python, is the
control: what it is late by beside a direct line, any process in between is. Then 100 streams of
random bytes at once, one answer of 1 GB, and kills.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import psutil

from benchmarks.measuring import Report, machine, percentile, run
from ptycassette.tape import AnswerData
from ptycassette.tape.io import RunningProxy, TapeJournalReader, start_proxy

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
    return report


if __name__ == "__main__":
    run(measure)
