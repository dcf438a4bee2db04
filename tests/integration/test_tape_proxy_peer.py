"""Whose connection the proxy serves, as the kernel says."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys

import pytest

from ptycassette.tape.io._peer import _owner, belongs_to_another_user

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
