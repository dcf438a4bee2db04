"""What is read at the side of the bytes that pass: heads, answers, frames of WebSockets."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, Message, Ping, TextMessage
from wsproto.extensions import PerMessageDeflate

from ptycassette.tape._heads import (
    answer_follower,
    end_of_head,
    events,
    head_for_provider,
    own_answer,
    read_request,
)
from ptycassette.tape.io.proxy import MessageFollower, NotFollowedError, WholeMessage
from ptycassette.tape.journal_codec import MAX_ITEM_BYTES
from ptycassette.tape.routing import Destination, Origin

TO = Destination(Origin("https", "a.example", 443), "/v1/x")
ANSWER = (
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nX-After: 1\r\n\r\n"
)


@given(st.lists(st.integers(1, len(ANSWER) - 1), max_size=6, unique=True).map(sorted))
def test_an_answer_split_anywhere_is_read_the_same(cuts: list[int]) -> None:
    """Blocks are as the network makes them."""
    request, _ = read_request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    follower = answer_follower(request)
    body, kinds = b"", []
    for begin, end in zip([0, *cuts], [*cuts, len(ANSWER)], strict=True):
        follower.receive_data(ANSWER[begin:end])
        for event in events(follower):
            kinds += [type(event)] if not isinstance(event, h11.Data) else []
            body += bytes(event.data) if isinstance(event, h11.Data) else b""

    assert body == b"abc0123456789abcdef"
    assert kinds == [h11.InformationalResponse, h11.Response, h11.EndOfMessage]


@pytest.mark.parametrize(
    ("data", "length"),
    [(b"GET / HTTP/1.1\r\n\r\nrest", 18), (b"a\n\nb", 3), (b"a\r\n", 0), (b"", 0)],
)
def test_a_head_ends_at_an_empty_line(data: bytes, length: int) -> None:
    """With and without carriage returns, as h11 takes it."""
    assert end_of_head(data) == length


def test_only_target_and_host_of_a_head_change() -> None:
    """Another protocol is not offered, and the password of the proxy stays here."""
    request, _ = read_request(
        b"POST http://a.example/x HTTP/1.1\r\nhOST: me\r\nX-A:  1\r\nx-a: 2\r\n"
        b"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n"
        b"Connection: keep-alive, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AA\r\nContent-Length: 3\r\n\r\n"
    )

    assert head_for_provider(request, TO) == (
        b"POST /v1/x HTTP/1.1\r\nhOST: a.example\r\nX-A: 1\r\nx-a: 2\r\n"
        b"Connection: keep-alive\r\nContent-Length: 3\r\n\r\n"
    )


def test_a_websocket_is_offered_as_it_was() -> None:
    """The one protocol beside HTTP that can be noted."""
    head = (
        b"GET /v1/x HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: k\r\n\r\n"
    )

    assert head_for_provider(read_request(head)[0], TO) == head


def test_a_changed_body_has_its_own_length() -> None:
    """And no packing any more."""
    request, _ = read_request(
        b"POST /x HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Encoding: gzip\r\nExpect: 100-continue\r\n\r\n"
    )

    assert head_for_provider(request, TO, expects=False, length=7) == (
        b"POST /v1/x HTTP/1.1\r\nHost: a.example\r\ncontent-length: 7\r\n\r\n"
    )


def test_an_answer_of_our_own_is_an_answer() -> None:
    """It can be read back."""
    request, _ = read_request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    follower = answer_follower(request)
    follower.receive_data(own_answer(403, b"no", ("x-a", "1")))
    found = list(events(follower))

    assert isinstance(found[0], h11.Response)
    assert (found[0].status_code, dict(found[0].headers)[b"x-a"]) == (403, b"1")


words = st.lists(st.text(max_size=300) | st.binary(max_size=300), min_size=1, max_size=6)
DEFLATE = {
    "": None,
    "permessage-deflate": "",
    "permessage-deflate; client_no_context_takeover; server_max_window_bits=10": "",
}


@settings(deadline=None)
@given(words, st.sampled_from(list(DEFLATE)), st.sampled_from(["client", "provider"]), st.data())
def test_messages_split_anywhere_are_read_the_same(
    content: list[str | bytes], extension: str, sender: str, data: st.DataObject
) -> None:
    """Packed or not, in fragments, with pings between them."""
    role = ConnectionType.CLIENT if sender == "client" else ConnectionType.SERVER
    deflate = PerMessageDeflate()
    if extension:
        deflate.finalize(extension)
    writer = Connection(role, [deflate] if extension else [])
    sent = b""
    for word in content:
        half = len(word) // 2
        kind: type[Message] = TextMessage if isinstance(word, str) else BytesMessage
        sent += writer.send(kind(data=word[:half], message_finished=False))
        sent += writer.send(Ping(payload=b"p"))
        sent += writer.send(kind(data=word[half:]))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)), max_size=8)))
    follower = MessageFollower("client" if sender == "client" else "provider", extension)
    found = [
        message
        for begin, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)
        for message in follower.feed(sent[begin:end])
    ]

    assert found == [
        WholeMessage(word.encode() if isinstance(word, str) else word, isinstance(word, bytes))
        for word in content
    ]
    assert not follower.within_message


@pytest.mark.parametrize("extension", ["x-unknown", "permessage-deflate; server_max_window_bits=x"])
def test_what_cannot_be_unpacked_is_not_followed(extension: str) -> None:
    """So nothing passes that is not noted."""
    with pytest.raises(NotFollowedError, match="extension"):
        MessageFollower("client", extension)


def test_a_message_of_any_size_would_fill_the_memory() -> None:
    """It is packed to a thousandth."""
    deflate = PerMessageDeflate()
    deflate.finalize("permessage-deflate")
    writer = Connection(ConnectionType.CLIENT, [deflate])
    packed = writer.send(BytesMessage(data=bytes(MAX_ITEM_BYTES + 1)))

    with pytest.raises(NotFollowedError, match="larger than"):
        MessageFollower("client", "permessage-deflate").feed(packed)
