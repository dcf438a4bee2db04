"""The tape in a cassette: the lines of ``tape.jsonl``, and where their bodies are.

An *entry* is one question with its answer: an HTTP request, the handshake of a WebSocket, or one
message that the CLI sent over a WebSocket with all that came back before its next. So all that is
matched and served later has the same shape. Bodies are stored unpacked and scrubbed, length for
length, so that every position in them stays true.
"""

from __future__ import annotations

from typing import Literal

import msgspec

TAPE = "tape.jsonl"
TAPE_BODIES = "tape-bodies.bin"

ExchangeOutcome = Literal["complete", "client-gone", "provider-gone", "unreachable", "refused"]
"""``complete``: to its last byte. ``client-gone``: the CLI went away before that.
``provider-gone``: the provider broke off, maybe before its head. ``unreachable``: no connection
to the provider. ``refused``: the proxy did not send it on (forbidden input, budget)."""


class BodyPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a body is: ``packed`` bytes from ``at`` in ``tape-bodies.bin``, deflated (zlib).

    ``sha256`` and ``bytes`` are those of the body itself. Equal bodies are stored once. An empty
    body has no place: the field that would hold it is absent.
    """

    sha256: str
    bytes: int
    at: int
    packed: int


class VolatileToken(msgspec.Struct, frozen=True, array_like=True):
    """A place in a question that may differ in another run.

    ``type`` is a name of the matching rules (``uuid``, ``call-id``, ``cwd``, ``secret``, ...).
    ``name`` numbers the values of one type over the whole tape, so that equal values can be
    recognised although they are masked. ``where`` is the text in which ``offset`` counts: "" for
    the body, ``target``, or the name of a header.
    """

    offset: int
    length: int
    type: str
    name: int = 0
    where: str = ""


class MaskedDigest(msgspec.Struct, frozen=True, array_like=True):
    """The digest of a masked value of a question, with the type and the name of its token.

    8 hexadecimal digits, see ``ptycassette.cassette.timeline.match.digest_of``. A value that could
    be guessed has no digest.
    """

    type: str
    name: int
    digest: str


class Chunk(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A piece of an answer's body, in order: ``[t_us, length]``, and what a message was.

    ``form`` is ``text`` or ``binary`` for a message of a WebSocket, ``""`` for bytes of HTTP.
    """

    t_us: int
    length: int
    form: Literal["", "text", "binary"] = ""


class TapeAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer. ``seq`` is that of the service event for its beginning.

    ``packing`` is the content encoding that was undone (``gzip``, ``zstd``, ``br``).
    """

    seq: int
    t_us: int
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: BodyPlace | None = None
    chunks: tuple[Chunk, ...] = ()
    packing: str = ""


class TapeEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``tape.jsonl``.

    Attributes:
        entry: its number, from 1 in the order in which the questions were complete.
        seq: the ``seq`` of the service event for the question; its place in the cassette's order.
        kind: ``http``, ``websocket`` for a handshake, ``message`` for one over a WebSocket.
        within: the entry of the handshake, for a message.
        connection: the client's connection, numbered from 1.
        upstream: scheme and authority of the provider.
        headers: the headers on the list of kept headers, in order.
        packing: the content encoding of the request that was undone.
        form: ``text`` or ``binary`` for a message.
        key: HMAC-SHA-256 (hex) of the stored question without its volatile tokens.
        tokens: the volatile tokens of the body, in order.
        digests: the digests of the tokens with masked values, made with the key of the tape.
        answer: None if no answer began.
        outcome: how the exchange ended; for messages, how the WebSocket ended.
        end_seq: the ``seq`` of the service event for its end.
    """

    entry: int
    seq: int
    t_us: int
    kind: Literal["http", "websocket", "message"]
    connection: int
    method: str = ""
    upstream: str = ""
    target: str = ""
    within: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: BodyPlace | None = None
    form: Literal["", "text", "binary"] = ""
    packing: str = ""
    key: str = ""
    tokens: tuple[VolatileToken, ...] = ()
    digests: tuple[MaskedDigest, ...] = ()
    answer: TapeAnswer | None = None
    outcome: ExchangeOutcome = "complete"
    detail: str = ""
    close_code: int | None = None
    end_seq: int | None = None
    end_us: int | None = None


TAPE_OPTION = "tape"
"""The option in the head of a journal that says that model traffic was recorded: an object with
``key``, the cassette's key in hexadecimal, ``secrets``, what only the proxy and the program
knew, ``address``, where the proxy was, and ``described``, what the manifest says besides."""
