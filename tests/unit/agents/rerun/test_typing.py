"""How a rerun types, and how its answers are sent: nothing depends on how busy the machine is."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.rerun.io.driving import Typist
from ptycassette.agents.rerun.io.tape_server import Cork
from ptycassette.agents.rerun.screens import ScreenJudge
from ptycassette.agents.rerun.script import RerunScript, RerunStep
from ptycassette.model.records import InputRecord


class FakeSession:
    """Takes inputs; its screen is always the awaited one."""

    def __init__(self) -> None:
        self.log: list[object] = []

    def wait_for_predicate(self, *_: object, **__: object) -> None:
        """At once."""
        self.log.append("screen")

    def send(self, data: bytes) -> None:
        """Note it."""
        self.log.append(data)


def step(number: int, t_us: int, data: bytes, *, follows: bool = False) -> RerunStep:
    """An input."""
    record = InputRecord(seq=number, t_ms=t_us // 1000, kind="input", bytes=data)
    return RerunStep(number=number, record=record, t_us=t_us, screen=("$",), follows=follows)


def test_an_enter_does_not_come_right_behind_its_text() -> None:
    """A CLI takes it for a part of the text then. Keys that came faster come as they came."""
    session = FakeSession()
    steps = (
        step(1, 2_000_000, b"text"),
        step(2, 2_700_000, b"\r"),
        step(3, 2_701_000, b"q", follows=True),
    )
    Typist(ScreenJudge(), lambda _: None, 1.0, rest=session.log.append).type(
        cast("Any", session), RerunScript(steps=steps, last_screen=None)
    )

    assert session.log == ["screen", 0.5, b"text", "screen", 0.5, b"\r", 0.001, b"q"]


@pytest.mark.skipif(not hasattr(socket, "TCP_CORK"), reason="only Linux has TCP_CORK")
def test_a_cork_is_out_when_its_block_is_left() -> None:
    """What it held back has been sent then."""

    def corked() -> int:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK)

    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as connection:
            other, _ = server.accept()
            transport = asyncio.Transport({"socket": connection})
            with other, Cork(transport) as cork:
                states = [corked()]
                cork.put_in()
                states.append(corked())
            states.append(corked())
        cork.take_out()  # the connection is closed

    assert states == [0, 1, 0]


def test_without_a_connection_there_is_nothing_to_hold_back() -> None:
    """The client is gone."""
    with Cork(None) as cork:
        cork.put_in()
