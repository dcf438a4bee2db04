"""The recorder's side of its proxy: start it, watch it, end it."""

from __future__ import annotations

import os
import secrets
import ssl
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from ptycassette import errors
from ptycassette.errors import CassetteError, PreflightError, StorageError, UsageError
from ptycassette.extras import need_extra
from ptycassette.profiles.profile import Profile
from ptycassette.system.interpreter import python_command
from ptycassette.system.network import NETWORK_VARIABLE, network_disabled
from ptycassette.system.ownership import Closing
from ptycassette.tape.consent.terms import Terms, approved, is_local
from ptycassette.tape.io._proxy_messages import (
    NotStarted,
    Order,
    Ready,
    Reported,
    Stopped,
    read_reply,
    written,
)
from ptycassette.tape.pointing import CA_VARIABLES, Pointing, pointing
from ptycassette.tape.retries import Retries
from ptycassette.tape.routing import base_url, known_providers

PROVIDER_VARIABLE = "PTYCASSETTE_PROVIDER"
"""Environment variable: the provider of what is recorded. ``ptycassette offline`` sets it."""
_END_S = 5.0
_NEEDED = ("h11", "trustme", "wsproto")
_TOKEN_BYTES = 24


def base_url_variables(url: str) -> dict[str, str]:
    """The usual variables that point programs at a provider.

    Args:
        url: the base URL without a version.
    """
    return known_providers().base_url_variables(url)


def proxy_variables(profile: Profile | None, *, proxy: str, ca: str) -> dict[str, str]:
    """The variables that make a program send everything through an HTTP proxy.

    Args:
        profile: the program's profile, if it has one.
        proxy: the URL of the proxy.
        ca: the file with the certificate to trust.
    """
    where = pointing(
        known_providers(), profile=profile, provider=None, proxy_env=True, environment={}
    )
    return where.at("", proxy=proxy, ca=ca)[0]


def point_at_provider(
    profile: Profile | None, provider: str, environment: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variables and arguments that point a program at a provider without a proxy.

    Args:
        profile: the program's profile, if it has one.
        provider: the name of the provider, or its base URL.
        environment: the environment that the program will have.

    Raises:
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and the provider is not on this machine.
        UsageError: there is no known way to point the program there, or no such provider.
    """
    where = pointing(
        known_providers(),
        profile=profile,
        provider=provider,
        proxy_env=False,
        environment=environment,
    )
    for url in where.upstreams.values():
        base_url(url)
    if network_disabled():
        _refuse_provider(where.upstreams[where.main])
    return where.at_upstreams()


def start_proxy(
    *,
    journal: Path,
    profile: Profile | None = None,
    provider: str | None = None,
    proxy_env: bool = False,
    environment: Mapping[str, str],
    terms: Terms | None = None,
    retries: Retries | None = None,
    origin_us: int = 0,
) -> RunningProxy:
    """Start a proxy for one program that is not started yet.

    Args:
        journal: the new file for its notes, in a private directory. The certificate of an HTTP
            proxy is written beside it, with ``.pem`` added to the name.
        profile: the program's profile, if it has one.
        provider: the name of the provider, or its base URL; the profile's when None.
        proxy_env: be an HTTP proxy for all that the program sends.
        environment: the environment that the program will have.
        terms: what may leave the machine; nothing by default. Providers on it need no approval.
        retries: how to repeat failed requests; None to pass errors of providers on.
        origin_us: the moment of the monotonic clock at which ``t_us`` is 0.

    Raises:
        CassetteError: the recording with fallback answers cannot be read.
        UsageError: there is no known way to point the program at it, no such provider, or the
            extra ``tape`` is not installed.
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and something would leave the machine.
        ApprovalNeededError: something would leave the machine without an approval.
        StorageError: the journal cannot be made, or the process cannot be started.
    """
    need_extra("tape", *_NEEDED)
    where = pointing(
        known_providers(),
        profile=profile,
        provider=provider,
        proxy_env=proxy_env,
        environment=environment,
    )
    terms = terms or Terms()
    if network_disabled():
        _refuse_provider(where.upstreams.get(where.main, ""))
        terms = msgspec.structs.replace(terms, upstreams=())  # no other provider either
    approved(terms, where.upstreams, where.main)
    authorities = [environment[name] for name in CA_VARIABLES if environment.get(name)]
    if system := ssl.get_default_verify_paths().cafile:
        authorities.append(system)
    order = Order(
        journal=str(journal),
        terms=terms,
        token=secrets.token_urlsafe(_TOKEN_BYTES),
        upstreams=where.upstreams,
        forward=proxy_env,
        ca_file=f"{journal}.pem" if proxy_env else "",
        authorities=tuple(dict.fromkeys(authorities)),
        origin_us=origin_us,
        retries=retries,
    )
    return RunningProxy(order, where)


def refuse_network(profile: Profile, environment: Mapping[str, str]) -> None:
    """Refuse a CLI that would connect to a provider beyond this machine.

    Args:
        profile: the CLI's profile.
        environment: the environment that it will have, which may name another provider.

    Raises:
        PreflightError: it would, or its provider is unknown.
    """
    if url := environment.get(PROVIDER_VARIABLE):
        _refuse_provider(url)
        return
    try:
        where = pointing(
            known_providers(),
            profile=profile,
            provider=None,
            proxy_env=False,
            environment=environment,
        )
    except UsageError:  # only its own files say
        _refuse_provider("")
    else:
        _refuse_provider(where.upstreams.get(where.main, ""))


def _refuse_provider(url: str) -> None:
    """Refuse a provider that is not on this machine; ``url`` is empty for any host.

    Raises:
        PreflightError: the provider is not on this machine.
    """
    if url and is_local(base_url(url).origin):
        return
    whither = f"its model is at {url}" if url else "the program may ask any host"
    raise PreflightError(
        f"the network is disabled, and {whither}",
        where=NETWORK_VARIABLE,
        hint="unset the variable, or name a provider on 127.0.0.1",
    )


class RunningProxy(Closing):
    """A proxy in a process of its own, which ends with this object and with this process.

    Args:
        order: the settings of the proxy; its journal is a new file in a private directory.
        where: how the program is pointed at it.

    Raises:
        UsageError: an upstream is not a base URL.
        StorageError: the journal cannot be made, or the process cannot be started.
    """

    def __init__(self, order: Order, where: Pointing) -> None:
        self.secrets = (order.token,)
        """Secrets in the program's environment that must not become public."""
        self.upstreams = dict(order.upstreams)
        """Base URLs of the providers that it serves; empty if it is an HTTP proxy for all."""
        self.reports: list[str] = []
        """Lines for the user that were read so far."""
        self._problem: str | None = None
        self._closed = False
        self._rest = b""
        try:
            self._process = subprocess.Popen(
                python_command("-m", "ptycassette.tape.io.proxy_process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except (OSError, ValueError) as failed:
            raise StorageError(f"the tape's proxy cannot be started: {failed}") from failed
        try:
            self.port = self._begin(order)
        except BaseException:
            self.close()
            raise
        address = f"127.0.0.1:{self.port}"
        self.address = address
        """Host and port: they change with each recording, and the program may show them."""
        self.environment, self.arguments = where.at(
            f"http://{address}/{order.token}",
            proxy=f"http://ptycassette:{order.token}@{address}",
            ca=order.ca_file,
        )
        os.set_blocking(self._output.fileno(), False)

    @property
    def problem(self) -> str | None:
        """Why nothing passes any more; None if all is well. Never waits."""
        with suppress(BlockingIOError, ValueError):
            while data := os.read(self._output.fileno(), 1 << 16):
                self._take(data)
        status = self._process.poll()
        if self._problem is None and status is not None and (status or not self._closed):
            self._problem = "the tape's proxy ended before the program did"
        return self._problem

    def close(self) -> None:
        """End the proxy. Its journal is then complete. Does nothing the second time."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        self._problem, self._closed = self.problem, True
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._problem = self.problem
        self._output.close()

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - narrows the type
        return self._process.stdout

    def _begin(self, order: Order) -> int:
        assert self._process.stdin is not None  # noqa: S101 - narrows the type
        with suppress(OSError):
            self._process.stdin.write(written(order))
            self._process.stdin.flush()
        line = self._output.readline()
        if not line:
            raise StorageError("the tape's proxy did not start")
        match read_reply(line):
            case Ready(port=port):
                return port
            case NotStarted() as failed:
                raise _error(failed)
            case _:
                raise StorageError("the tape's proxy did not start")

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            match read_reply(line):
                case Reported(text=text):
                    self.reports.append(text)
                case Stopped(problem=problem):
                    self._problem = problem
                case _:
                    pass


def _error(failed: NotStarted) -> CassetteError:
    kind = getattr(errors, failed.error, StorageError)
    error: CassetteError = kind(failed.message, where=failed.where, hint=failed.hint)
    return error
