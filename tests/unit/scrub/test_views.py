"""Views: decoded text, the print stream, keys, JSON, traffic, and the bytes behind each of them."""

from __future__ import annotations

import base64
import hashlib
import json
import textwrap

import pytest

from ptycassette.model import Size
from ptycassette.screen import PyteEmulator
from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.channels import BLOCK, InputChannel, OutputText
from ptycassette.scrub.decode import Decoder
from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.dumps import Dumps, dump_columns
from ptycassette.scrub.mask import ESCAPED, NUMBERS, QUOTED, TEXT, mask
from ptycassette.scrub.messages import Messages
from ptycassette.scrub.patches import Patches
from ptycassette.scrub.printed import printed_views
from ptycassette.scrub.slid import slid
from ptycassette.scrub.structured import Joined, rewrite, strings_of
from ptycassette.scrub.traffic import TrafficChannel
from ptycassette.scrub.typed import typed_view
from ptycassette.scrub.views import PiecewiseView, SourcedView, View, squeezed_stretches
from ptycassette.testing import scrub_chunks

WORDS = "the readable words"


def decoded(text: str, *, fast: bool = True) -> list[Decoded]:
    """What ``text`` decodes to."""
    return list(Decoder(fast=fast).views(text))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("skip", range(4))
def test_base64_is_read_at_every_alignment(skip: int, fast: bool) -> None:
    """What stands before the encoded text shifts it by any number of characters."""
    text = "A" * skip + base64.b64encode(WORDS.encode()).decode()
    (view,) = [v for v in decoded(text, fast=fast) if WORDS in v.text]
    start = view.text.index(WORDS)

    assert view.source(start, start + len(WORDS)) == (skip, skip + 24)


def test_unreadable_base64_is_skipped() -> None:
    """An image is no text."""
    assert decoded(base64.b64encode(bytes(60)).decode()) == []


@pytest.mark.parametrize(
    "text",
    [
        WORDS.encode().hex(),
        WORDS.encode().hex(" "),
        WORDS.encode().hex().upper(),
        "0" + WORDS.encode().hex(),
    ],
)
def test_hexadecimal_is_read_in_all_its_forms(text: str) -> None:
    """Pairs may be apart, in upper case, and begin at an odd digit."""
    (view,) = [v for v in decoded(text) if WORDS in v.text]
    start = view.text.index(WORDS)
    first, last = view.source(start, start + 3)

    assert bytes.fromhex(text[first:last]) == b"the"


def test_a_hex_dump_is_one_text() -> None:
    """Its lines belong together, and so do its columns of characters."""
    raw = WORDS.encode()
    lines = [
        f"{at:08x}: {raw[at : at + 8].hex(' ', 2):40}  {raw[at : at + 8].decode()}"
        for at in range(0, len(raw), 8)
    ]
    text = "\n".join(lines)
    columns = dump_columns(text)

    assert any(WORDS in view.text for view in decoded(text))
    assert columns is not None
    assert columns.text == WORDS


def test_characters_of_a_dump_that_could_be_digits_are_no_bytes() -> None:
    """As many characters as there are bytes are the column beside them."""
    text = "00000000: 6b65 792d 3334 3131  key-3411\n00000008: 3330 6166  30af"
    columns = dump_columns(text)

    assert columns is not None
    assert columns.text == "key-341130af"
    assert any(view.text == "key-341130af" for view in decoded(text))


def test_characters_of_a_dump_may_be_bars() -> None:
    """As many as there are bytes stand between two bars; what has none ends where it ends."""
    lines = ["00000000  61 7c 62 7c  |a|b||", "00000004  63 7c 64  |c|d|", "00000007  65  e"]
    columns = dump_columns("\n".join(lines))

    assert columns is not None
    assert columns.text == "a|b|c|de"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a%20b%41", "a bA"),
        (r"\u0061\u00e9", "a\xc3\xa9"),
        (r"\x41\x42", "AB"),
        (r"\U00000041\U0001F600\U00110000", "A\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
        (r"\101\102", "AB"),
        (r"say \"hi\"\/\n", 'say "hi"/\n'),
    ],
)
def test_escapes_are_read(text: str, meaning: str) -> None:
    """Each kind of escape stands for its character."""
    assert [view.text for view in decoded(text)] == [meaning]


def test_escapes_lead_back_to_where_they_stand() -> None:
    """A character from an escape leads to the whole escape."""
    (view,) = decoded("ab%41cd")

    assert view.source(1, 4) == (1, 6)
    assert view.source(2, 3) == (2, 5)
    assert view.source(4, 5) == (6, 7)


def test_escapes_far_apart_are_two_stretches() -> None:
    """Ordinary text between them is read once, as it stands."""
    assert len(decoded("%41" + " " * 1000 + "%42")) == 2


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

    assert printed.text == "a\nb\nc"
    assert strings.text == "0;title\nbody\n"
    assert list(strings.pieces(2, 7)) == [(2, 5, 5)]


def test_output_is_cut_at_the_same_bytes_however_it_comes() -> None:
    """Chunks change no view."""
    data = (b"some words and \x1b[31mcolours\x1b[0m\r\n" * 5000)[: 2 * BLOCK]

    def views(step: int) -> list[str]:
        channel = OutputText()
        found = [v for i in range(0, len(data), step) for v in channel.feed(data[i : i + step])]
        return [view.text for view in [*found, *channel.rest()]]

    assert views(997) == views(len(data))


def test_output_blocks_overlap() -> None:
    """What lies on a cut is in one piece in the next view."""
    channel = OutputText()
    data = b"x" * (BLOCK - 5) + b" needle-in-one-piece " + b"y" * 100
    views = [*channel.feed(data), *channel.rest()]

    assert any("needle-in-one-piece" in view.text for view in views)


def test_input_blocks_overlap() -> None:
    """What lies on a cut is in one piece in the next view."""
    channel = InputChannel()
    data = b"x" * (BLOCK - 5) + b" needle-in-one-piece " + b"y" * 100
    views = [*channel.feed(data), *channel.rest()]

    assert any("needle-in-one-piece" in view.text for view in views)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("seX\x7fcret\r", "secret\n"),
        ("oops\x15secret", "secret"),
        ("one\rtwo\x15secret", "one\nsecret"),
        ("echo oops \x17secret", "echo secret"),
        ("\x1b[115u\x1b[101;1:1u\x1b[67u\x1b[200~t\x1b[201~\x1bOA", "seCt"),
        ("\x1b[27;2;115~\x1b[101;2u", "SE"),
        ("ab\x1b[119;5uc", "c"),
        ("\x7f\x15\x17a", "a"),
        ("\x1b[57441;2u", ""),
    ],
)
def test_typed_text_is_what_editing_leaves(raw: str, text: str) -> None:
    """Rubout, kill keys and keyboard protocols are done with."""
    assert typed_view(raw, base=0).text == text


def test_typed_text_without_editing_keeps_what_was_killed() -> None:
    """A secret that was typed and killed was typed."""
    assert typed_view("\x1b[115ua\x15b", base=0, editing=False).text == "sab"


def test_a_typed_key_is_masked_in_its_sequence() -> None:
    """The digits of its code become those of x, or of X where there are two."""
    view = typed_view("\x1b[115u\x1b[65ub\x1b[9;1u", base=10)

    assert list(view.patches(0, 4, "text")) == [(12, b"120"), (18, b"88"), (21, b"x")]
    assert view.offset(0, 1) == 12
    assert view.offset(1, 1) is None


def test_views_know_their_bytes() -> None:
    """Each root view leads back to offsets in its channel."""
    sourced = SourcedView("abcd", sources=[5, 6, -1, 9])
    piecewise = PiecewiseView("abcdef", starts=[0, 2, 4], offsets=[10, -1, 20])

    assert list(View("abc", base=7).pieces(1, 3)) == [(1, 2, 8)]
    assert list(sourced.pieces(0, 4)) == [(0, 2, 5), (3, 1, 9)]
    assert list(piecewise.pieces(1, 6)) == [(1, 1, 11), (4, 2, 20)]
    assert piecewise.offset(2, 3) is None


def test_stretches_of_squeezed_text_are_found_in_the_text() -> None:
    """A span of the squeezed form may be several stretches."""
    assert squeezed_stretches("a b|cd  e", [(0, 2), (2, 5)]) == [
        [(0, 1), (2, 3)],
        [(4, 6), (8, 9)],
    ]
    assert squeezed_stretches("abc", []) == []


def test_patches_are_written_wherever_chunks_are_cut() -> None:
    """A patch may lie on a cut; the longer one at a place wins."""
    patches = Patches()

    assert patches.add(3, b"xxxx")
    assert not patches.add(3, b"xx")
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
        list(joined.add({"index": index, "delta": {"text": text}}))
    texts = [view.text for view in joined.rest()]

    assert "secret" in texts


def test_long_joined_strings_are_handed_out_in_parts() -> None:
    """Memory is bounded: a view comes when enough is there, and begins with the end of the last."""
    joined = Joined()
    views = [view for _ in range(40) for view in joined.add({"t": "ab" * 1000})]
    huge = list(joined.add({"u": "c" * 100_000}))

    assert views
    assert max(map(len, (view.text for view in views))) < 50_000
    assert huge


def test_many_places_are_forgotten_in_time() -> None:
    """Payloads whose keys are data do not fill the memory."""
    joined = Joined()
    views = [view for number in range(5000) for view in joined.add({f"key{number}": "v"})]

    assert len(views) >= 4096


def test_traffic_is_searched_as_it_stands_and_by_key() -> None:
    """Strings of one key and block make one text."""
    lines = [
        '{"index":0,"delta":{"text":"se"}}',
        '{"index":1,"delta":{"text":"--"}}',
        '{"index":0,"delta":{"text":"cret"}}',
    ]
    channel = TrafficChannel()
    views = [*channel.feed("\n".join(lines).encode()), *channel.rest()]

    assert "secret" in [view.text for view in views]
    assert views[0].text == "\n".join(lines)


def test_traffic_blocks_overlap() -> None:
    """Traffic of any length is searched in blocks."""
    channel = TrafficChannel()
    data = b"x" * ((1 << 20) - 5) + b" needle-in-one-piece " + b"y" * 100
    views = [*channel.feed(data), *channel.rest()]

    assert sum("needle-in-one-piece" in view.text for view in views) == 1


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"\\u{{{ord(char):x}}}" for char in WORDS),
        "".join(f"&#{ord(char)};" for char in WORDS),
        "".join(f"&#x{ord(char):04X};" for char in WORDS),
        str([ord(char) for char in WORDS]),
        "Uint8Array(18) [\n  " + ",\n  ".join(str(ord(char)) for char in WORDS) + "\n]",
        json.dumps(list(WORDS)),
        str(list(WORDS)),
        json.dumps([WORDS[at : at + 3] for at in range(0, len(WORDS), 3)], indent=2),
    ],
)
def test_lists_and_escapes_of_javascript_and_html_are_read_and_masked(
    text: str, fast: bool
) -> None:
    """What they say decodes to a mask then, and nothing else of them changes."""
    (view,) = [v for v in decoded(text, fast=fast) if WORDS in v.text]
    start = view.text.index(WORDS)
    masked = list(text)
    for first, last in view.sources(start, start + len(WORDS)):
        masked[first:last] = mask(text[first:last], view.form_at(start))
    again = decoded("".join(masked), fast=fast)

    assert len(masked) == len(text)
    assert any(not set(v.text.replace(" ", "")) - set("xX") for v in again)


def octal_dump(text: str, offset: str = "{:07o}") -> str:
    """As ``od -c`` prints it."""
    names = {"\n": "\\n", "\t": "\\t", "\0": "\\0", "\xe9": "351"}
    cells = [f"{names.get(char, char):>4}" for char in text]
    lines = [cells[at : at + 16] for at in range(0, len(cells), 16)]
    return "\n".join(
        f"{offset.format(16 * number)}{''.join(line)}" for number, line in enumerate(lines)
    )


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("offset", ["{:07o}", "{:07x}", ""])
@pytest.mark.parametrize("text", [WORDS, f"a\n\t{WORDS}", f"\xe9\0{WORDS} and\nmore of it"])
def test_a_dump_of_characters_is_one_text(text: str, offset: str, fast: bool) -> None:
    """With names and octal digits for what has no picture; what is masked there stays apart."""
    dump = octal_dump(text, offset)
    (view,) = [v for v in decoded(dump, fast=fast) if WORDS in v.text]
    start = view.text.index(WORDS)
    masked = list(dump)
    for first, last in view.sources(start, start + len(WORDS)):
        masked[first:last] = mask(dump[first:last], view.form_at(start))

    assert view.text == text
    assert "".join(masked) == octal_dump(text.replace(WORDS, "xxx xxxxxxxx xxxxx"), offset)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_bare_pairs_go_on_in_the_next_line(line_end: str, fast: bool) -> None:
    """As ``xxd -p`` prints them."""
    digits = (WORDS * 3).encode().hex()
    text = line_end.join(digits[at : at + 40] for at in range(0, len(digits), 40))

    assert any(view.text == WORDS * 3 for view in decoded(text, fast=fast))


def test_dumps_far_apart_are_two() -> None:
    """And one that says nothing is none."""
    one = "0000: 7468 6520 7265\n0006: 6164 6162 6c65"
    none = "0000: 0001 0203\n0004: 0405 0607"

    text = f"\n{'-' * 100}\n".join((one, one, none))

    assert [view.text for view in Dumps().read(text)] == ["the readable", "the readable"]


def test_digests_in_lines_are_no_dump() -> None:
    """Next to none of them is made of printable characters alone."""
    lines = "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200))  # noqa: S324

    assert list(Dumps().read(lines)) == []


BEFORE = "and so forth, on and on, to the end of a line of seventy-six char"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{BEFORE}the rea=\ndable words", f"{BEFORE}the readable words"),
        (f"{BEFORE}the rea=\r\ndable words", f"{BEFORE}the readable words"),
        (f"key=3D{WORDS}=21", f"key={WORDS}!"),
    ],
)
def test_quoted_printable_is_read_and_masked(text: str, meaning: str) -> None:
    """A line goes on behind the sign at its end, which stays where it is."""
    (view,) = decoded(text)
    start = view.text.index(WORDS)
    first, last = view.source(start, start + len(WORDS))
    masked = text[:first] + mask(text[first:last], view.form_at(start)) + text[last:]

    assert view.text == meaning
    assert [v.text for v in decoded(masked)] == [meaning.replace(WORDS, "xxx xxxxxxxx xxxxx")]


@pytest.mark.parametrize(
    "text", ["KEY=\nfirst a=12", "a=12 b=3F", f"{BEFORE}{BEFORE}=\n", "a short line=\nand one more"]
)
def test_other_equals_signs_are_no_quoted_printable(text: str) -> None:
    """Lines of another length end in one, and names of all kinds are followed by one."""
    assert decoded(text) == []


def test_escapes_of_quoted_printable_are_masked_as_such() -> None:
    """A sign of equality without digits is a character like any other."""
    assert mask("a=3Db=\nc=\r\nd==g", QUOTED) == "x=78x=\nx=\r\nxxxx"


@pytest.mark.parametrize("star", ["*", "\u2022"])
def test_characters_shown_for_a_moment_are_one_text(star: str) -> None:
    """With the last of them, behind which the line goes on."""
    shown = "".join(f"{char}\n{star}" for char in "aB3dE5")
    texts = [view.text for view in decoded(canonical(f"//me:{shown}@host.example"))]

    assert "//me:aB3dE5@host.example" in texts


def test_text_typed_behind_a_cursor_is_one_text() -> None:
    """The cursor stands behind each character until the next one takes its place."""
    shown = "".join(f"{char}\u258b\n" for char in "token=aB3dE5")
    bars = "\u2588\n\u2588\u2588\n50%\u258b\nend"

    assert "token=aB3dE5" in [view.text.strip() for view in decoded(canonical(f"{shown} "))]
    assert not any("50%end" in view.text for view in decoded(canonical(bars)))


def test_changed_words_are_read_as_they_were_and_as_they_are() -> None:
    """As git shows them in a line."""
    text = "the [-old-]{+new+} words, [-gone -]and {+some +}more"
    old, new = decoded(text)

    assert old.text == "the old words, gone and more"
    assert new.text == "the new words, and some more"
    assert old.sources(4, 9) == ((6, 9), (18, 20))
    assert decoded("usage: x [-h] [--all] {+}") == []
    assert [view.text for view in decoded("a {+b+} c")] == ["a b c"]


@pytest.mark.parametrize(
    ("left", "right"), [("", ""), ("> ", ""), ("<", ">"), ("\xe2\x94\x82 ", "|")]
)
@pytest.mark.parametrize("step", [1, 3, 10])
def test_what_moves_through_a_field_is_one_text(left: str, right: str, step: int) -> None:
    """Its edges are no part of it, and neither are lines of other lengths between."""
    said = "a field of twenty characters shows this text"
    shown = [said[at : at + 20] for at in range(0, len(said) - 19, step)]
    text = "\n\nother\n".join(f"{left}{part}{right}" for part in shown)
    (view,) = slid(f"first\n{text}\nlast")
    whole = said[: 20 + (len(shown) - 1) * step]
    place = view.source(len(whole) - 1, len(whole))[0]

    assert view.text == whole
    assert place == len(f"first\n{text}") - len(right) - 1


def test_a_line_that_jumps_sideways_is_one_text() -> None:
    """As readline shows one that is wider than the screen: less-than, and the end of it again."""
    (view,) = slid("$ a line of which the first part\n\n<ch the first part and the rest\n")

    assert view.text == "$ a line of which the first part and the rest"
    assert (
        list(slid("$ a line of which the first part\n<b>the first part</b> and the rest\n")) == []
    )


def test_a_line_that_jumps_again_and_again_is_one_text() -> None:
    """Each time something of the line before is there again."""
    said = "$ a line of eighty characters that is shown in parts of thirty, half of it again"
    parts = [said[:30], *(f"<{said[at : at + 30]}" for at in (18, 36, 54))]
    (view,) = (view for view in slid("\n".join(parts)) if view.text == said)
    (last,) = view.sources(len(said) - 5, len(said))

    assert "\n".join(parts)[slice(*last)] == "again"


def test_a_spinner_beside_a_field_may_turn() -> None:
    """It stands before the field and looks otherwise in each picture."""
    text = "| a field of twenty char\n/ field of twenty charac\n- eld of twenty characte"
    (view,) = slid(text)

    assert view.text == "a field of twenty characte"


LONG = "".join(map(str, range(200)))


def test_two_fields_are_two_texts() -> None:
    """Each picture goes on with the one before it, or begins anew."""
    one, other = "one field shows these words", "and another one shows those"
    text = "\n".join([one[:24], one[1:25], one[2:26], "-" * 30, other[:24], other[3:27]])

    assert [view.text for view in slid(text)] == [one[:26], other[:27]]


@pytest.mark.parametrize(
    "text",
    [
        "the same line here\nthe same line here",
        "=====>            \n======>           ",
        "a line of its own\nno line like that",
        "name     size  age\nother    17    3 d",
        f"{LONG[:-1]}\n{LONG[1:]}",
        "abcdefghijklmnopqrst\nbcdefghijklmnopqrst",
        "abcdefghijklmnopqr\nxxxxefghijklmnopqr",
        "0123456789 abcdefg\n9999456789 abcdefh",
        "1234567890abcdefgh\nabcdabcdefgh123456",
        "",
    ],
)
def test_other_lines_of_one_length_do_not_move(text: str) -> None:
    """Repeats, bars that grow, columns, and lines that share a part."""
    assert list(slid(text)) == []


def test_fields_end_where_an_ampersand_is_not_escaped() -> None:
    """In a value it would be. What a rule looks for before the name of a field stays there."""
    text = "?password%3DaB3%26c=d&z=1&amp;y=2 &c=3"
    (view,) = decoded(text)

    assert view.text == "?password=aB3&c=d\n&z=1&y=2 \n&c=3"
    assert view.source(10, 17) == (12, 21)


def test_base64_is_masked_in_its_own_form_wherever_it_is_read() -> None:
    """In lines, beside others, in quoted-printable text: no plain letters come among its digits."""
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for before in range(4):
        digits = base64.b64encode(f"{' ' * before}the token {token}".encode() + b" and so on" * 9)
        lines = "\r\n".join(textwrap.wrap(digits.decode(), 76)).encode() + b"=\r\nmore of it\r\n"
        (after,) = scrub_chunks([lines], rows=24, cols=80)

        assert b"xxx" not in after.replace(b"eHh4", b"")
        assert b"xxxx" in base64.b64decode(after.partition(b"=")[0] + b"==")


def test_base64_in_quoted_printable_keeps_its_phase() -> None:
    """An escape is one digit, the end of a line is none."""
    assert mask("QUJD=\nREVG=3DQUJD", f"base641{QUOTED}") == "Hh4e=\nHh4e=78h4eH"


def test_a_selector_keeps_what_is_before_it_wide() -> None:
    """A digit before U+FE0F is as wide as an emoji, and so is what stands for it."""
    text = "pin 7\xef\xb8\x8f4\xef\xb8\x8f"
    (whole,) = View(text).patches(4, len(text), TEXT)
    (digit,) = View(text).patches(4, 5, TEXT)

    assert whole == (4, b"0\xef\xb8\x8f0\xef\xb8\x8f")
    assert digit == (4, b"0")


@pytest.mark.parametrize(
    "text",
    ["a7\ufe0fb#\ufe0f\u20e3", "\u2764\ufe0f", "\u26a0\ufe0fx", "\xe9\ufe0f", "\u4e00\ufe0f"],
)
def test_a_mask_takes_as_many_cells_before_a_selector(text: str) -> None:
    """And as many bytes; the emulator decides."""
    masked = mask(canonical(text)).encode("latin-1")
    shown = []
    for data in (text.encode(), masked):
        screen = PyteEmulator(Size(rows=2, cols=20))
        screen.feed(data)
        shown.append((len(data), screen.snapshot().cursor))

    assert shown[0] == shown[1]
    assert not set(masked.decode()) & set("a7b#\u2764\u26a0\xe9\u4e00")


def test_rubout_removes_a_character_of_several_bytes() -> None:
    """Whole, as a terminal does that knows UTF-8 (termios: IUTF8)."""
    raw = canonical("pass\u00e9\u4e2d\x7f\x7fword\U0001f600\x7f!\x7f\x7f")

    assert typed_view(raw, base=0).text == "passwor"


def test_a_plus_is_a_blank_in_what_a_form_sends() -> None:
    """Beside the reading in which it is a plus."""
    assert [view.text for view in decoded("%22the+key%22")] == ['"the+key"', '"the key"']


def test_named_characters_of_html_are_read() -> None:
    """As they stand in what a page or a message shows."""
    assert [v.text for v in decoded("a&amp;b &lt;c&gt; &quot;d&apos; &nothing; &#233;")] == [
        "a&b <c> \"d' &nothing; \xc3\xa9"
    ]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"\u{68}\u{1F600}\u{9}\n", r"\u{78}\u{00078}\u{9}\n"),
        ("&#104;&#72;&#072;&#1078;&#9;&#128512;", "&#120;&#88;&#120;&#1093;&#9;&#120793;"),
        ("&#x68;&#X0048;&#xA;&amp;a&b", "&#x78;&#X0078;&#x78;&amp;xxx"),
        (r"\u0068\x68\150%68\\ %", r"\u0078\x78\170%78\\ x"),
        (r"\U00000068\U0001F600\Ux", r"\U00000078\U00000078\Ux"),
    ],
)
def test_masked_escapes_stay_escapes_of_the_same_length(text: str, masked: str) -> None:
    """They stand for x, or for what says as little and has as many digits."""
    masked = masked.replace("&#x78;&amp;", "&#xA;&amp;")  # one digit is a control, and stays

    assert mask(text, ESCAPED) == masked


def test_numbers_are_masked_with_as_many_digits() -> None:
    """What stands between them stays."""
    assert mask("104, 72,\n 9, 255", NUMBERS) == "120, 88,\n 9, 120"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[104;1:1u\x1b[104;1:2u\x1b[104;1:3u", "hh"),
        ("h\x1b[104;1:3u\x1b[13u\x1b[13;1:3u", "h\n"),
        ("\x1b[104:72;2u\x1b[49:33;2u\x1b[49;2u", "H!1"),
        ("\x1b[1089::99;1u", "\xd1\x81"),
        ("\x1b[104;65u\x1b[104;66u", "Hh"),
        ("\x1b[104;;104u\x1b[0;;104:105u\x1b[;;106u", "hhij"),
        ("\x1b[57441;2u\x1b[57441;2:3u\x1b[u\x1b[99999999u", ""),
        ("\x1b[104;1:3u", ""),
        ("a\x1b]11;rgb:1e1e/1e1e/1e1e\x07b\x1b]4;1;red\x1b\\c", "abc"),
        ("a\x1bP>|xterm(380)\x1b\\b\x1b_Gi=1;OK\x1b\\c\x1b[M abc!", "abcc!"),
        ("a\x1b]bc\r", "abc\n"),
    ],
)
def test_keys_say_what_they_type_once(raw: str, text: str) -> None:
    """A repeat types again, a release does not; alternates and text tell which character."""
    assert typed_view(raw, base=0).text == text


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
    view = typed_view(raw, base=0)
    out = raw.encode()
    patches = Patches()
    for offset, data in view.patches(0, len(view.text), "text"):
        patches.add(offset, data)

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


def test_a_message_outlives_many_places() -> None:
    """What was put last is given up last."""
    joined = Joined(several=True)
    for number in range(9000):
        list(joined.add({f"key{number}": "v"}))
        if number % 1000 == 0:
            list(joined.add({"text": f"part{number};"}))

    assert "part7000;part8000;" in "".join(view.text for view in joined.rest())


def test_a_place_is_no_longer_than_it_may_be() -> None:
    """Keys are data: deep and long ones must not fill the memory."""
    value = {"k" * 5000: {"l" * 5000: ["text"] * 3}}

    assert max(len(place) for place, _ in strings_of(value)) <= 512
