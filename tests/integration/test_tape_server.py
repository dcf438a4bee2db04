"""The tape's server and clients that go away."""

from __future__ import annotations

import http.client
import logging
import threading

import pytest

pytest.importorskip("aiohttp", reason="the tape's server needs the extra `tape`")

from aiohttp import web

from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.tape_server import TapeServer
from ptycassette.agents.rerun.made_answers import made_hit
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.scrub.session import default_scrubber
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question
from tests.conftest import PATIENCE_S
from tests.tapes import KEY, rules

HANDSHAKE = {
    "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip


class Leaving(TapeServer):
    """A server whose clients are gone while it looks for the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(Gates([]))
        self.desk = TapeDesk([], rules(), key=KEY, declared={}, scrubber=default_scrubber)
        self._status = status
        self.over = threading.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """As ever, but say when it is over."""
        try:
            return await super().handle(request)
        finally:
            self.over.set()

    async def ask(self, request: web.Request, question: Question) -> Hit:
        """Too late."""
        assert request.transport is not None
        request.transport.close()
        return made_hit(question, self._status, (), ())


@pytest.mark.parametrize(("status", "headers"), [(101, HANDSHAKE), (200, {})])
def test_a_client_that_is_gone_is_no_error(
    status: int, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is printed: a program that ends closes what it has open."""
    caplog.set_level(logging.DEBUG)
    with Leaving(status) as server:
        asked = http.client.HTTPConnection("127.0.0.1", server.ports[0], timeout=PATIENCE_S)
        asked.request("GET", "/v1/responses", headers=headers)
        with pytest.raises((http.client.HTTPException, OSError)):
            asked.getresponse()
        assert server.over.wait(PATIENCE_S)
        asked.close()

    assert [one.message for one in caplog.records if one.levelno >= logging.WARNING] == []
