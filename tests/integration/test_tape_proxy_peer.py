"""Whose connection the proxy serves, as the kernel says."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="servers need the extra `tape`")

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.tape_server import TapeServer
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.scrub.session import default_scrubber
from ptycassette.tape.io.recorded_answers import _owner, belongs_to_another_user
from tests.tapes import KEY, rules

pytestmark = pytest.mark.integration

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose it is")


@needs_linux
def test_the_kernel_says_whose_a_connection_is() -> None:
    """Ours is ours; one that is not there is nobody's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = listener.getsockname()
        with socket.create_connection(own) as client:
            accepted, peer = listener.accept()
            with accepted:
                assert _owner(peer, own) == os.geteuid()
            assert client.getsockname() == peer

    assert _owner(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
    assert not belongs_to_another_user(("127.0.0.1", 1), ("127.0.0.1", 2))


@needs_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_a_stranger() -> None:
    """Though the connection comes from this machine."""
    program = shutil.which("setpriv")
    if program is None:
        pytest.skip("setpriv is not installed")
    nobody = pwd.getpwnam("nobody").pw_uid
    code = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = listener.getsockname()
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        with subprocess.Popen(
            [program, f"--reuid={nobody}", "--clear-groups", python, "-c",
             f"{code}; sys.stdin.read()", str(own[1])],
            stdin=subprocess.PIPE,
        ) as client:  # fmt: skip
            listener.settimeout(20)
            accepted, peer = listener.accept()
            with accepted:
                assert belongs_to_another_user(peer, own)
            client.communicate()


ASK = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], data=b"{}", timeout=90).status)
except urllib.error.HTTPError as refused:
    print(refused.code)
"""


def as_user(uid: int, url: str) -> str:
    """The status that a user of the machine gets at a URL."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed")
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    argv = [setpriv, f"--reuid={uid}", "--clear-groups", python, "-c", ASK, url]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.strip()


@needs_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("kind", ["fake provider", "tape of a rerun"])
def test_another_user_gets_no_recorded_or_scripted_answer(kind: str) -> None:
    """The one who started the server does."""
    script = 'version = 1\n[[replies]]\ntext = "hello"\n'
    with ExitStack() as stack:
        if kind == "fake provider":
            server: Any = stack.enter_context(FakeProviderServer(Script.parse(script)))
            answered = "200"
        else:
            server = stack.enter_context(TapeServer(Gates([]), hold_s=20))
            server.desk = TapeDesk([], rules(), key=KEY, declared={}, scrubber=default_scrubber)
            answered = "404"
        url = f"{server.url}/v1/responses"

        assert as_user(pwd.getpwnam("nobody").pw_uid, url) == "403"
        assert as_user(0, url) in {answered, "400"}
