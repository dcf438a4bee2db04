"""Items of model traffic, and the cassettes that are made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ptycassette import open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.model.records import (
    Begun,
    ExitStatus,
    Finished,
    Harness,
    JournalEvent,
    SessionMeta,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    TapeItem,
)
from ptycassette.testing import fixed_id

META = SessionMeta(
    id=fixed_id(1), argv=("x",), size=Size(5, 80), recorded_at="2026-01-01T00:00:00Z",
    harness=Harness(name="x"), os="linux", arch="amd64", recorder_version="test",
    options={"tape": {"key": "ab" * 32, "secrets": []}},
)  # fmt: skip
SECRET = "sk-proj-" + "Zx4RkB9sQ7wLm2Nc8Vt5Yb1H"
END = Finished(
    t_us=90_000,
    exit=ExitStatus(code=0, exited=True, signaled=False),
    usage={"input_tokens": 7, "output_tokens": 5},
)
IDS = (
    "call_Kq81bZx0PpW3nR7tYv2mLc5d",
    "toolu_01A09q90qw90lq917835lq9s",
    "resp_68af0c1d2b3e8190a4c5d6e7f8091a2b",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "fc_0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "req_011CSHoEeqs5C35K2UUqR7Fy",
    "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "9b2f6c1e-8d4a-4f7b-a3c5-1e0d9f8b7a6c",
    "fp_44709d6fcb",
)


def http(
    exchange: int, question: Any, *answers: bytes, t_us: int = 1000, **more: Any
) -> list[TapeItem]:
    """The items of a request and its answer."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    headers = more.get("headers", (("content-type", "application/json"),))
    answer_headers = more.get("answer_headers", (("content-type", "text/event-stream"),))
    target = more.get("target", "/v1/responses")
    return [
        RequestBegun(
            t_us=t_us, exchange=exchange, connection=1, kind="http", method="POST",
            upstream="https://api.openai.com", target=target, headers=headers,
        ),
        RequestData(t_us=t_us, exchange=exchange, data=body),
        RequestComplete(t_us=t_us, exchange=exchange),
        AnswerBegun(t_us=t_us + 10, exchange=exchange, status=200, headers=answer_headers),
        *(
            AnswerData(t_us=t_us + 20 + number, exchange=exchange, data=data)
            for number, data in enumerate(answers)
        ),
        ExchangeEnded(
            t_us=t_us + 500, exchange=exchange, outcome=more.get("outcome", "complete"),
            detail=more.get("detail", ""),
        ),
    ]  # fmt: skip


def event(**fields: Any) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


class Saved:
    """A cassette that was made of events and items."""

    def __init__(
        self,
        folder: Path,
        items: list[TapeItem],
        *events: JournalEvent,
        meta: SessionMeta = META,
        unproved: bool = False,
    ) -> None:
        tape = folder / "1.tape"
        with TapeJournalFile(tape, origin_us=0) as file:
            for item in items:
                file.note(item)
        self.path = folder / "c"
        finaliser = Finaliser(tape=tape, unproved=unproved)
        journal = [Begun(0, 0), *events, END]
        self.manifest = finaliser.publish(meta, lambda: iter(journal), self.path)

    def exchanges(self) -> list[RecordedExchange]:
        """Its tape."""
        return list(open_cassette(self.path).tape())

    def events(self) -> list[Any]:
        """The payloads of its service events."""
        return [record.payload for record in open_cassette(self.path).service_events()]

    def everything(self) -> bytes:
        """All bytes of it, bodies unpacked."""
        files = b"".join(path.read_bytes() for path in sorted(self.path.iterdir()))
        return files + b"".join(one.question() + one.answer() for one in self.exchanges())
