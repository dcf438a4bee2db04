"""Views: decoded text, the print stream, keys, JSON, traffic, and the bytes behind each of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from ptycassette.keys.reader import typed_text
from ptycassette.scrub.match import canonical
from ptycassette.scrub.placeholders import Patches
from ptycassette.scrub.rules.rule_set import default_rules
from ptycassette.scrub.views.structured import (
    BESIDE,
    BLOCK,
    Blocks,
    Joined,
    Messages,
    StreamText,
    around,
    rewrite,
    strings_of,
)
from ptycassette.scrub.views.view import RunsView, TypedView, View, input_views, printed_views


def test_the_print_stream_has_no_colours() -> None:
    """Attributes vanish, moves and line ends end a word, and every character knows its byte."""
    raw = "ab\x1b[31mcd\x1b[0m\x1b[5;5Hef\r\ngh\x1b(Bi"
    printed, strings = printed_views(raw, base=100)

    assert printed.text == "abcd\nef\ngh" + "i"
    assert list(printed.pieces(1, 4)) == [(1, 1, 101), (2, 2, 107)]
    assert strings.text == ""


@pytest.mark.parametrize(
    "control",
    [
        "\x1bc", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b7", "\x1b#8", "\x1b(B", "\x1b\\",
        "\x1bn", "\x1b~", "\x1b[3", "\x1b[3\x00m", "\x1b[?25l", "\xc2\x9b31m", "\x1b",
        "\x1bP\x01body\x1b\\", "\x1b]0;t\x07",
    ],
)  # fmt: skip
def test_no_part_of_a_control_function_is_printed_text(control: str) -> None:
    """What steers a terminal is never searched, and so never masked."""
    printed, _ = printed_views("a" + control, base=0)

    assert printed.text.strip() == "a"


def test_strings_are_searched_by_themselves() -> None:
    """Titles, links and clipboards are no printed text."""
    printed, strings = printed_views("a\x1b]0;title\x07b\x1bP1$rbody\x1b\\c", base=0)

    assert printed.text == "abc"
    assert strings.text == "0;title\nbody\n"
    assert list(strings.pieces(2, 7)) == [(2, 5, 5)]


def test_output_is_cut_at_the_same_bytes_however_it_comes() -> None:
    """Chunks change no view."""
    data = (b"some words and \x1b[31mcolours\x1b[0m\r\n" * 5000)[: 2 * BLOCK]

    def views(step: int) -> list[str]:
        channel = Blocks(printed_views)
        found = [v for i in range(0, len(data), step) for v in channel.feed(data[i : i + step])]
        return [view.text for view in [*found, *channel.rest()]]

    assert views(997) == views(len(data))


@pytest.mark.parametrize("views_of", [printed_views, input_views])
def test_blocks_overlap(views_of: Callable[..., tuple[View, ...]]) -> None:
    """What lies on a cut is in one piece in the next view."""
    channel = Blocks(views_of)
    data = b"x" * (BLOCK - 5) + b" needle-in-one-piece " + b"y" * 100
    views = [*channel.feed(data), *channel.rest()]

    assert any("needle-in-one-piece" in view.text for view in views)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        # Rubout, kill keys and keyboard protocols are done with.
        ("seX\x7fcret\r", "secret\n"),
        ("oops\x15secret", "secret"),
        ("one\rtwo\x15secret", "one\nsecret"),
        ("echo oops \x17secret", "echo secret"),
        ("\x1b[115u\x1b[101;1:1u\x1b[67u\x1b[200~t\x1b[201~\x1bOA", "seCt"),
        ("\x1b[27;2;115~\x1b[101;2u", "SE"),
        ("ab\x1b[119;5uc", "c"),
        ("\x7f\x15\x17a", "a"),
        ("\x1b[57441;2u", ""),
        # A character of several bytes is removed whole, by terminals that know UTF-8 (IUTF8).
        (canonical("pass\u00e9\u4e2d\x7f\x7fword\U0001f600\x7f!\x7f\x7f"), "passwor"),
        # A repeat types again, a release does not; alternates and text tell which character.
        ("\x1b[104;1:1u\x1b[104;1:2u\x1b[104;1:3u", "hh"),
        ("h\x1b[104;1:3u\x1b[13u\x1b[13;1:3u", "h\n"),
        ("\x1b[104:72;2u\x1b[49:33;2u\x1b[49;2u", "H!1"),
        ("\x1b[1089::99;1u", "\xd1\x81"),
        ("\x1b[104;65u\x1b[104;66u", "Hh"),
        ("\x1b[104;;104u\x1b[0;;104:105u\x1b[;;106u", "hhij"),
        ("\x1b[57441;2u\x1b[57441;2:3u\x1b[u\x1b[99999999u", ""),
        ("\x1b[104;1:3u", ""),
        # What the terminal says is not typed.
        ("a\x1b]11;rgb:1e1e/1e1e/1e1e\x07b\x1b]4;1;red\x1b\\c", "abc"),
        ("a\x1bP>|xterm(380)\x1b\\b\x1b_Gi=1;OK\x1b\\c\x1b[M abc!", "abcc!"),
        ("a\x1b]bc\r", "abc\n"),
    ],
)
def test_typed_text_is_what_keys_and_editing_leave(raw: str, text: str) -> None:
    """Each key says once what it types."""
    assert typed_text(raw).text == text


def test_typed_text_without_editing_keeps_what_was_killed() -> None:
    """A secret that was typed and killed was typed."""
    assert typed_text("\x1b[115ua\x15b", editing=False).text == "sab"


def test_a_typed_key_is_masked_in_its_sequence() -> None:
    """The digits of its code become those of x, or of X where there are two."""
    view = TypedView(typed_text("\x1b[115u\x1b[65ub\x1b[9;1u", base=10))

    assert list(view.patches(0, 4, "text")) == [(12, b"120"), (18, b"88"), (21, b"x")]
    assert view.offset(0, 1) == 12
    assert view.offset(1, 1) is None


def test_views_know_their_bytes() -> None:
    """Each root view leads back to offsets in its channel."""
    piecewise = RunsView([("ab", 10), ("cd", -1), ("ef", 20)])

    assert list(View("abc", base=7).pieces(1, 3)) == [(1, 2, 8)]
    assert list(piecewise.pieces(1, 6)) == [(1, 1, 11), (4, 2, 20)]
    assert piecewise.offset(2, 3) is None


def test_patches_are_written_wherever_chunks_are_cut() -> None:
    """A patch may lie on a cut; the longer one at a place wins."""
    patches = Patches()

    assert patches.cover([(3, b"xxxx")])
    assert not patches.cover([(3, b"xx")])
    assert patches.apply(b"abcde", 0) == b"abcxx"
    assert patches.apply(b"fghij", 5) == b"xxhij"
    assert patches.apply(b"later", 500) == b"later"
    assert len(patches) == 1


def test_strings_of_json_are_met_in_the_order_in_which_they_are_rewritten() -> None:
    """Keys and values, as deep as they are."""
    value = {"a": ["b", {"c": "d"}], "e": 1, "f": None}

    assert [text for _, text in strings_of(value)] == ["a", "b", "c", "d", "e", "f"]
    assert rewrite(value, str.upper) == {"A": ["B", {"C": "D"}], "E": 1, "F": None}
    assert rewrite(("a",), str.upper) == ("A",)


def test_strings_at_one_place_are_joined_over_events() -> None:
    """Messages of one message make one text; other messages in between do not disturb it."""
    joined = Joined()
    for index, text in ((0, "se"), (1, "xx"), (0, "cret")):
        list(joined.add(strings_of({"index": index, "delta": {"text": text}})))
    texts = [view.text for view in joined.rest()]

    assert "secret" in texts


def test_strings_of_one_key_are_joined_from_all_its_places() -> None:
    """Also those that came before a second place was seen."""
    joined = Joined(several=True)
    for value in ({"a": {"t": "se"}}, {"a": {"t": "cr"}}, {"b": {"t": "et"}}, {"b": [{"t": "!"}]}):
        list(joined.add(strings_of(value)))

    assert "secret!" in [view.text for view in joined.rest()]


def test_long_joined_strings_are_handed_out_in_parts() -> None:
    """Memory is bounded: a view comes when enough is there, and begins with the end of the last."""
    joined = Joined()
    views = [view for _ in range(40) for view in joined.add(strings_of({"t": "ab" * 1000}))]
    huge = list(joined.add(strings_of({"u": "c" * 100_000})))

    assert views
    assert max(map(len, (view.text for view in views))) < 50_000
    assert huge


def test_many_places_are_forgotten_in_time() -> None:
    """Payloads whose keys are data do not fill the memory."""
    joined = Joined()
    views = [
        view for number in range(10_000) for view in joined.add(strings_of({f"key{number}": "v"}))
    ]

    assert len(views) >= 4096


def test_messages_with_ids_of_their_own_give_one_text() -> None:
    """A text for each would be searched for nothing: the one without ids has them all."""
    joined = Joined()
    views = [
        view
        for number in range(9000)
        for view in joined.add(strings_of({"id": f"m{number}", "said": f"word{number};"}))
    ]
    texts = [view.text for view in [*views, *joined.rest()]]

    assert len(texts) < 100
    assert any("word8000;word8001;" in text for text in texts)


@pytest.mark.parametrize(
    ("raw", "masked"),
    [
        ("\x1b[104;1:1u\x1b[104;1:3u", "\x1b[120;1:1u\x1b[120;1:3u"),
        ("\x1b[104:72:104;2;72u", "\x1b[120:88:120;2;88u"),
        ("\x1b[0;;104:1078u", "\x1b[0;;120:1093u"),
        ("hi\x1b[104;1:3u\x1b[105;1:3u", "xx\x1b[120;1:3u\x1b[120;1:3u"),
        ("!\x1b[49;2:3u", "x\x1b[88;2:3u"),
        ("\x1b[32u\x1b[32;1:3u", "\x1b[32u\x1b[32;1:3u"),
    ],
)
def test_a_key_is_masked_wherever_it_is_said(raw: str, masked: str) -> None:
    """Shifted and base alternates, text, and the release of the key."""
    view = TypedView(typed_text(raw))
    out = raw.encode()
    patches = Patches()
    for offset, data in view.patches(0, len(view.text), "text"):
        patches.cover([(offset, data)])

    assert patches.apply(out, 0).decode() == masked


def test_what_objects_in_lines_say_together_is_one_text() -> None:
    """Each block for itself, however its events are printed; offsets lead to the bytes."""
    said = ["se", "--", "cre", "--", "t\\u0021"]
    raw = "$ curl -N\r\n" + "".join(
        f'event: delta\r\ndata: {{"delta":{{"text":"{text}"}},"index":{number % 2}}}\r\n\r\n'
        for number, text in enumerate(said)
    )
    channel = Messages()
    views = [*channel.feed(raw.encode()), *channel.rest()]
    (view,) = [view for view in views if view.text == "secret\\u0021"]

    assert [raw[at : at + length] for _, length, at in view.pieces(0, len(view.text))] == said[::2]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", [1, 997, 1 << 20])
def test_deltas_are_the_same_however_output_comes(step: int) -> None:
    """Blocks end at the same bytes, and an object that lies on the end of one is read whole."""
    raw = b"".join(
        b'{\r\n  "text": "\x1b[32m%04d\x1b[0m",\r\n  "n": [1]\r\n}\r\nplain words\r\n' % number
        for number in range(4000)
    )
    channel = Messages()
    found = [v for at in range(0, len(raw), step) for v in channel.feed(raw[at : at + step])]
    text = "".join(view.text for view in [*found, *channel.rest()])

    assert all(f"{number:04d}{number + 1:04d}" in text for number in range(3999))


@pytest.mark.parametrize(
    "raw",
    [
        '{"version": "1.0", "of": {"version": "2.0"}}\n',
        '{"a": "same"}\n{"a": "same"}\n',
        '{"a": 1}\n{"a": 2}\n',
        '{"a": "one\n',
        '{"a": ' * 5000,
        '{"a": ' + "1" * 5000 + "}\n",
        "x" * 600_000 + '"a":',
    ],
)
def test_what_no_values_say_together_is_no_message(raw: str) -> None:
    """One document, the same again, no strings, and what is no JSON."""
    channel = Messages()

    assert [*channel.feed(raw.encode()), *channel.rest()] == []


def test_objects_with_a_key_twice_go_by_their_keys() -> None:
    """The decoder would say only the last value of that key."""
    channel = Messages()
    raw = b"".join(b'{"t": "%s", "a": "-", "a": "+"}\n' % part for part in (b"sec", b"ret"))
    views = [*channel.feed(raw), *channel.rest()]

    assert "secret" in [view.text for view in views]


@pytest.mark.parametrize("step", [997, 1 << 20])
def test_messages_of_blocks_that_are_not_wanted_are_kept_for_the_next(step: int) -> None:
    """A block is wanted or not as a whole, however output comes, and forgets nothing."""
    raw = b"".join(b'{"n": %d, "t": "%06d"}\n' % (number, number) for number in range(16_000))
    asked = []

    def wanted(start: int, end: int) -> bool:
        asked.append((start, end))
        return start <= 300_000 < end

    channel = Messages(wanted)
    found = [v for at in range(0, len(raw), step) for v in channel.feed(raw[at : at + step])]

    assert found
    assert all("00" in view.text for view in found)
    assert all(before[1] == after[0] for before, after in pairwise(asked))
    assert f"{15_998:06d}{15_999:06d}" in "".join(view.text for view in channel.rest())


@pytest.mark.slow
def test_a_message_outlives_many_places() -> None:
    """What was put last is given up last."""
    joined = Joined(several=True)
    for number in range(9000):
        list(joined.add(strings_of({f"key{number}": "v"})))
        if number % 1000 == 0:
            list(joined.add(strings_of({"text": f"part{number};"})))

    assert "part7000;part8000;" in "".join(view.text for view in joined.rest())


def test_a_place_is_no_longer_than_it_may_be() -> None:
    """Keys are data: deep and long ones must not fill the memory."""
    value = {"k" * 5000: {"l" * 5000: ["text"] * 3}}

    assert max(len(place) for place, _ in strings_of(value)) <= 512


@pytest.mark.parametrize(
    "wanted", [[], [0], [70], [5000], [12_000, 40_000], [30_000, 34_000], [65_535]]
)
def test_of_a_block_only_what_is_near_to_the_wanted_bytes_is_read(wanted: list[int]) -> None:
    """Half a kilobyte and more on each side, whole words, and hardly more than that."""
    raw = b"".join(b"line %06d of it\r\n" % number for number in range(3600))[:BLOCK]
    stream = StreamText(wanted=lambda start, end: any(start <= place < end for place in wanted))
    views = [view for batch in stream.feed(raw, 0) for view in batch] + [*stream.rest()]
    read = {
        place + at
        for view in views
        for _, length, place in view.pieces(0, len(view.text))
        for at in range(length)
    }

    ends = frozenset(place for place, byte in enumerate(raw) if byte in b"\r\n")
    for place in wanted:
        around = range(max(0, place - 2000), min(len(raw), place + 2000))
        assert read.issuperset(place for place in around if place not in ends)
    assert len(read) <= 16_000 * len(wanted)


def test_around_a_mask_long_lines_are_read_as_far_as_blocks_overlap() -> None:
    """A header or a token may fill such a line; over the ends of lines no rule reaches so far."""
    place = 30_000
    long = "name value " * 6000
    short = "\n".join(long[at : at + 60] for at in range(0, len(long), 61))
    [(first, last)] = around(long[:BLOCK], lambda start, end: start <= place < end)
    [(begin, end)] = around(short[:BLOCK], lambda start, end: start <= place < end)

    assert first <= place - 4000 < place + 4000 <= last
    assert first < begin <= place - BESIDE < place + BESIDE <= end < last


def test_no_rule_reaches_over_more_lines_than_are_read_around_a_mask() -> None:
    """But for headers and queries, which are on one line, and keys, which are found by line."""
    far = {one.name for one in default_rules(volatile=True) if one.lead + one.reach > BESIDE}

    on_one_line = {"bearer", "authorization-header", "api-key-header", "cookie-header"}
    assert far <= {*on_one_line, "url-query-secret", "private-key", "putty-private-key"}
