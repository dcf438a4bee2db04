"""Load matching rules, and answer from another recording when a provider does not answer."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.tape_lines import tape_facts
from ptycassette.errors import UsageError
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.profiles.io import own_folder
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.items import kept_target
from ptycassette.tape.matching.checking import tape_damage
from ptycassette.tape.matching.matcher import Matcher
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question, Rules
from ptycassette.tape.unpacking import unpacked_body

if TYPE_CHECKING:
    from ptycassette.tape.io._wire import RecordedAnswer
    from ptycassette.tape.routing import OutgoingRequest

# The files with matching rules: ``tape/rules``, and the user's own.


_BUILT_IN = Path(__file__).parent.parent / "rules"
_ALWAYS = ("common", "anthropic", "google", "openai")
"""The rules of all providers, because a CLI may use several."""


def load_matching_rules(
    names: Iterable[str] = (),
    *,
    tape: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> Rules:
    """The rules of all providers, of some CLIs, and the user's own.

    Args:
        names: names of CLIs, as in their profiles; a CLI without rules adds nothing.
        tape: the manifest's entry for a tape (``optional.tape``). An imported tape may lack some
            headers; only the headers that it has are compared.
        env: the environment that locates the user's rules; this process's environment when None.

    Raises:
        UsageError: a file is wrong.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
    """
    folder = own_folder("tape-rules", os.environ if env is None else env)
    own = {path.name: path for path in sorted(folder.glob("*.toml"))}
    wanted = [f"{name}.toml" for name in (*_ALWAYS, *dict.fromkeys(names))]
    built_in = [_BUILT_IN / name for name in wanted if (_BUILT_IN / name).is_file()]
    paths = [path for path in built_in if path.name not in own] + list(own.values())
    rules = _parsed(*((_text(path), str(path)) for path in paths))
    compared = (tape or {}).get("compared_headers")
    return rules if compared is None else rules.comparing(map(str, compared))


def published_damage(cassette: Cassette) -> list[str] | None:
    """How the tape of a cassette differs from what was published (see ``tape_damage``).

    None if the rules of matching have changed since then, or if the check did not finish then.
    """
    tape, facts = cassette.tape(), tape_facts(cassette.manifest)
    harness = facts.get("harness") or cassette.manifest.harness.name
    rules = load_matching_rules((str(harness),), tape=facts)
    return tape_damage(list(tape), rules, key=bytes.fromhex(tape.key), facts=facts)


@lru_cache(maxsize=8)
def _parsed(*files: tuple[str, str]) -> Rules:
    """Cached, because a test run opens many tapes with the same rules."""
    return Rules.parse(*files)


def _text(path: Path) -> str:
    try:
        return read_plain(path, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise UsageError("the rules are not UTF-8 text", where=str(path)) from wrong


_ERRORS = 400


class RecordedAnswers:
    """The answers of a cassette's tape. Each is used once. Open until ``close``.

    Args:
        path: the cassette.

    Raises:
        CassetteError: it cannot be read, or has no tape.
    """

    def __init__(self, path: Path) -> None:
        self._cassette = open_cassette(path)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the cassette; safe to call twice."""
        self._cassette.close()

    def _read(self) -> None:
        tape = self._cassette.tape()
        exchanges = list(tape)
        self._upstreams = {
            one.entry.target.partition("?")[0]: one.entry.upstream for one in exchanges
        }
        harness = self._cassette.manifest.harness.name
        self._matcher = Matcher(
            exchanges,
            load_matching_rules(
                (harness,) if harness else (), tape=tape_facts(self._cassette.manifest)
            ),
            key=bytes.fromhex(tape.key),
        )

    def find(self, question: OutgoingRequest) -> RecordedAnswer | None:
        """The answer to a question; None if the tape has no such question, or no answer to it."""
        # It loads asyncio, which readers of the matching rules do not need.
        from ptycassette.tape.io._wire import RecordedAnswer  # noqa: PLC0415

        target = kept_target(question.target)[0]
        upstream = self._upstreams.get(target.partition("?")[0])
        if upstream is None:
            return None
        answer = self._matcher.ask(
            Question(
                kind="http",
                method=question.method,
                upstream=upstream,
                target=target,
                headers=question.headers,
                body=unpacked_body(question.body, question.packing),
            )
        )
        if isinstance(answer, Miss) or answer.status is None or answer.status >= _ERRORS:
            return None
        if answer.entry.outcome != "complete":
            return None
        kind = dict(answer.headers).get("content-type", "application/json")
        body = b"".join(data for _, data in answer.pieces)
        return RecordedAnswer(answer.status, kind, body)


# The owner of a connection: other users of the machine are refused.


_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST = 4, 20, 1
_NO_COOKIE = 0xFFFFFFFF
_ALL_STATES = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
# inet_diag_req_v2: family, protocol, extensions, states; inet_diag_sockid: ports, addresses,
# interface, cookie.
_REQUEST = struct.Struct("=BBBxI2s2s4s12x4s12xIII")
_UID_AT = _HEADER.size + 64  # in inet_diag_msg
_TIMEOUT_S = 1.0


def belongs_to_another_user(peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Whether the client's end of a connection belongs to another user.

    False for root, who can read everything anyway. Also False if the owner is unknown, because the
    connection is gone or the system does not report it.

    Args:
        peer: address and port of the client, IPv4.
        own: address and port of this end.
    """
    owner = _owner(peer, own)
    return owner not in {None, 0, os.geteuid()}


def _owner(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    if sys.platform != "linux":
        return None
    ports = [struct.pack(">H", port) for _, port in (peer, own)]
    addresses = [socket.inet_aton(host) for host, _ in (peer, own)]
    request = _REQUEST.pack(
        *(socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES),
        *(*ports, *addresses, 0, _NO_COOKIE, _NO_COOKIE),
    )
    header = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_TIMEOUT_S)
            kernel.send(header + request)
            answer = kernel.recv(4096)
    except OSError:
        return None
    if len(answer) < _UID_AT + 4 or _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    return int.from_bytes(answer[_UID_AT : _UID_AT + 4], sys.byteorder)
