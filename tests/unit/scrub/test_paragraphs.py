"""Rows that a program wrapped at a width of its own are read as the line that they were."""

from __future__ import annotations

import pytest

from ptycassette.model import Output, SessionMeta
from ptycassette.scrub import default_scrubber
from ptycassette.scrub.default import default_rules
from ptycassette.scrub.frames import scrubbed_rows
from ptycassette.scrub.known import KnownValues
from ptycassette.scrub.paragraphs import may_be_torn, unwrapped, unwrapped_again
from ptycassette.scrub.prefixes import begins_a_token
from ptycassette.scrub.rules import RuleSet
from ptycassette.scrub.search import Searcher
from ptycassette.testing import scrub_chunks

PASSWORD = "vbCDleQOyMMONEgz"
LOGIN = ("  look again machine api.co", "  rp.io login bob password", f"  {PASSWORD}")
WHOLE = (
    "Error 401: invalid key xoxp-055383473949-325272005972-057170463849-f4ac5242643c367c (check)"
)


def lines(rows: list[str]) -> list[str]:
    """What the rows were, each reading of them."""
    return [
        "".join(rows[row].ljust(200)[start:end] for row, start, end in pieces)
        for pieces in unwrapped(rows)
    ]


def cut(text: str, width: int) -> list[str]:
    """The rows of a text that is cut at a width, as they stand on a screen."""
    return [text[start : start + width].rstrip() for start in range(0, len(text), width)]


@pytest.mark.parametrize("width", range(14, 46))
@pytest.mark.parametrize("before", ["{}", "    {}", "\u2502 {}", "# {}"])
def test_a_line_cut_at_any_width_is_whole_again(width: int, before: str) -> None:
    """Also where a blank ends a row, or begins one."""
    rows = [before.format(row) for row in cut(WHOLE, width)]
    rows = ["Some words", "", *rows, "", "$"]

    assert any("xoxp-055383473949-325272005972-057170463849-f4ac5242643c367c" in line
               for line in lines(rows))  # fmt: skip


def test_numbers_before_the_rows_are_left_off() -> None:
    """They go up by one from row to row."""
    rows = [f"{number:3} \u2502 {row}" for number, row in enumerate(cut(WHOLE, 17), 98)]

    assert any("key xoxp-055383473949-325272005972-" in line for line in lines(rows))


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (["the key sk-ant-", "oat01-8WBcKJhtgz9-", "khtbaWOeARQAu7raZ_alzP", "-",
          "8JhJIuKWWRf5PuMiZo5Gcp", "xZ"],
         "the key sk-ant-oat01-8WBcKJhtgz9-khtbaWOeARQAu7raZ_alzP-8JhJIuKWWRf5PuMiZo5GcpxZ"),
        (["again", 'PERPLEXITY_API_KEY="ppl', "x-", "v96AXu1rMC0QAvelPo5q059", 'khW2gT"'],
         'PERPLEXITY_API_KEY="pplx-v96AXu1rMC0QAvelPo5q059khW2gT"'),
        (["look look Cookie:", "theme=dark;", "sessionid=uhST2N02S4", "qiItYyMCIu2; lang=en"],
         "look look Cookie: theme=dark; sessionid=uhST2N02S4qiItYyMCIu2; lang=en"),
        (["again look SG", ".2R-", "4trhTEK3s20yK", "EqzVh6HJhhOhT", "zx"],
         "again look SG.2R-4trhTEK3s20yKEqzVh6HJhhOhTzx"),
        (["log look again log", "export DB_PASSWORD=I", "^pzFuEZYZuihA"],
         "log look again log export DB_PASSWORD=I^pzFuEZYZuihA"),
        (["  look again machine api.co", "  rp.io login bob password", "  vbCDleQOyMMONEgz"],
         "look again machine api.corp.io login bob password vbCDleQOyMMONEgz"),
        (["  7 invalid key ntn_nzxxXe4bzzLyh0UdXukE", "  8 euDDydlmzPQ (check)"],
         "7 invalid key ntn_nzxxXe4bzzLyh0UdXukEeuDDydlmzPQ (check)"),
        (["  K7Wd28D8S9mqs", "  A9H6ssAjSzZZR", "Then x1 other"], "K7Wd28D8S9mqsA9H6ssAjSzZZR"),
        (["+    return parse(tokens, start=0)", "diff --git a/main.py b/main.py",
          "  again look again https://discord.", "  com/api/webhooks/6053823068110675",
          "  16/HwG2qIGT7kWShZRixlNqIL7jxo690B", "  q7Z-", "  iXw94KO1U8fEXROoE7rSKlrJzmWXEM5qj",
          "  B"],
         ("again look again https://discord.com/api/webhooks/605382306811067516/"
          "HwG2qIGT7kWShZRixlNqIL7jxo690Bq7Z-iXw94KO1U8fEXROoE7rSKlrJzmWXEM5qjB")),
        (["  again log look nvap", "  i-", "  9Dk35NuFBjK_D4EyeIb", "  AAW6nEs"],
         "again log look nvapi-9Dk35NuFBjK_D4EyeIbAAW6nEs"),
        (["  again log look g", "  lft-", "  W7Rj6UBjpfSuw"], "again log look glft-W7Rj6UBjpfSuw"),
        (["+    return parse(tokens, start=0)", "    log https://discord.com/api/w",
          "    ebhooks/803268348622009938/cb", "    -zQ0s0OLfYq1Y00MNlV3zD2Nsbzuo", "    wuvecd"],
         ("log https://discord.com/api/webhooks/803268348622009938/"
          "cb-zQ0s0OLfYq1Y00MNlV3zD2Nsbzuowuvecd")),
        (["again look log x-api-", "key: pQcYXnh3Ctq75tkjI", "mRT1v8ZL3"],
         "again look log x-api-key: pQcYXnh3Ctq75tkjImRT1v8ZL3"),
    ],
)  # fmt: skip
def test_a_line_broken_between_words_and_at_hyphens_is_whole_again(
    rows: list[str], line: str
) -> None:
    """A word that fills its row goes on, what had no room in the row above does too."""
    assert line in lines(rows)


def test_a_line_of_code_below_a_token_is_no_rest_of_it() -> None:
    """Though there was no room for its first word: one row alone tells no width."""
    token = "csk-7hm6a1ighwu7iulrvpyprtq4iquk7c0i30opzb"
    rows = ["an answer that is nearly as long as it", token, "tokens = sorted(found, key=len)"]

    assert not any(f"{token}tokens" in line for line in lines(rows))


@pytest.mark.parametrize("width", range(10, 18))
def test_rows_of_hexadecimal_digits_alone_are_no_dump(width: int) -> None:
    """The offsets of one have blanks behind them."""
    token = "xoxp-157898701234-998877665544-8b0e7153bf7c3706d85c524e44006655"

    assert any(token in line for line in lines(cut(f"export SLACK_TOKEN={token}", width)))


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (["I set API-18Q5IPEDI86BENBPVG60G", "VZQJO (check it)"],
         "API-18Q5IPEDI86BENBPVG60GVZQJO"),
        (["> pdl_live_apikey_lmtixn4hrpl16qt9gskh8wnkh", "> w (check it)"],
         "pdl_live_apikey_lmtixn4hrpl16qt9gskh8wnkhw"),
        (["pdl_live_apikey_lmtixn4hrpl16qt9gskh8", "wnkhw", "ok"],
         "pdl_live_apikey_lmtixn4hrpl16qt9gskh8wnkhw"),
        (["BVC0uF_x2IWMqt6mQoluVDP2vWZ9qalkEhE", "Y_mmk"],
         "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"),
        (["it printed this while it ran: jm48", "Q~S.ZS0CCPs0WnYHrFH2y3pWVmyrciHAF38M"],
         "jm48Q~S.ZS0CCPs0WnYHrFH2y3pWVmyrciHAF38M"),
        (["line 3: BSAn", "CHlMiLdlJbstEhC3MF_Mk_yD1MO"], "BSAnCHlMiLdlJbstEhC3MF_Mk_yD1MO"),
        (["while it ran:", "login bob", "password VWJLyY", "1kXOMxYnOn and", "then it"],
         "password VWJLyY1kXOMxYnOn and then it"),
        (['I set "accou', 'ntUuid": "d2', "a3295f-53c4-", "4571-ad0f-", "cfc66b77efbf", '" and'],
         'I set "accountUuid": "d2a3295f-53c4-4571-ad0f-cfc66b77efbf" and'),
        (["I set SG.6am", "zc-", "f3DetqbgprXy", "rUcz.MXvrDFK"],
         "I set SG.6amzc-f3DetqbgprXyrUcz.MXvrDFK"),
        ([" 381 \u2502 DATABASE_URL=amqp", "     \u2502 ://guest:joNujeZg",
          "     \u2502 D5o9Hd0@mq.exampl", "     \u2502 e.com:5672//"],
         "381 \u2502 DATABASE_URL=amqp://guest:joNujeZgD5o9Hd0@mq.example.com:5672//"),
        (["failed with", "6303264265:", "AA1SjROsDK6", "PH-", "3WXaWviWR1M", "I8sMsQlxCL",
          "(check)"],
         "6303264265:AA1SjROsDK6PH-3WXaWviWR1MI8sMsQlxCL (check)"),
        (["I set machine", "api.corp.io", "login bob", "password Vsvwx", "OdwvxMYIJ3I"],
         "I set machine api.corp.io login bob password VsvwxOdwvxMYIJ3I"),
        (["passphrase: p", "ickle-horse-a", "nchor-correct", "55 and then i"],
         "passphrase: pickle-horse-anchor-correct55 and then i"),
    ],
)  # fmt: skip
def test_what_only_both_rows_are_is_whole_again(rows: list[str], line: str) -> None:
    """A token that is none without the other half, however short that is; strings, numbers."""
    assert line in lines(rows)


@pytest.mark.parametrize("word", ["and", "Then", "is"])
def test_a_token_that_is_whole_has_no_rest(word: str) -> None:
    """Nor is a word the rest of what is none with it."""
    token = "gh" + "p_Ik2zwEQHfwcepYyNGfB51YbmwxAscRuzOl8Q"

    assert not any(word in line for line in lines([f"see {token}", f"{word} more of it"]))
    assert not any(word in line for line in lines([f"see {token[:34]}", f"{word} more of it"]))


@pytest.mark.parametrize(
    ("above", "below"),
    [("see aB3d", "words"), ("words", "x7y"), ("run --t", "oken v"), ("my passwo", "rd is"),
     ("export KEY=", "words"), ("see sk-", "ant-words"), ("at http:", "//words"), ("a word", "aB")],
)  # fmt: skip
def test_a_token_may_be_torn_where_no_words_end_and_begin(above: str, below: str) -> None:
    """Nor the names of values."""
    assert may_be_torn(above, below)


@pytest.mark.parametrize(("above", "below"), [("some words", "and more"), ("Done.", "See it")])
def test_between_words_nothing_is_torn(above: str, below: str) -> None:
    """Most rows are such."""
    assert not may_be_torn(above, below)


def test_other_rows_around_are_no_part_of_it() -> None:
    """What is indented less begins no line in which the token would be glued to its words."""
    token = "ghr_8S9mqsK7Wd28DA9H6ssAjSzZZRuDj7M6XhxWkQ7b0H9B6dh3wOF2jhYCopJwn9HvP0AjRIqtnQqa"
    rows = ["listing of the docs", *(f"  {row}" for row in cut(token, 17))]

    assert token in lines(rows)


@pytest.mark.parametrize(
    "rows",
    [
        ["a1b2c3d4 first one", "e5f6a7b8 other two", "c9d0e1f2 third six"],  # a table
        ["API_TOKEN=aB3dE5gH7jK9", "APP_TOKEN=mN1pQ3rS5tU7", "APQ_TOKEN=vW9xY1zA3bC5"],
        ["http://h/?token=a1b2c3d4", "http://h/?token=a5b6c7d8"],
        ["this is state-of-the-", "art for everybody"],
        ["a1b2c3d4e5 here it is ok", "short", "next a1b2c3"],
        ["word", "", "aB3dE5gH7jK9"],
        ["ERROR_TOKEN = 58", "COLON_EQUAL = 59", "NUMBER_OF_IT = 60"],
        [
            ">>> C = cookies.SimpleCookie()",
            '>>> print(C.output(header="Cookie:"))',
            "Cookie: rocky=road; Path=/cookie",
        ],
        ["  7 \u2502 xK7Wd28D8S9mqs", " 12 \u2502 A9H6ssAjSzZZRq"],
    ],
)
def test_lists_are_left_as_they_are(rows: list[str]) -> None:
    """Columns in a row, names of their own, URLs, words, rows that had room."""
    assert lines(rows) == []


def test_rows_that_fill_the_screen_are_left_to_what_joins_them() -> None:
    """A cell that turns beside them would have all of them read again at every turn."""
    rows = cut("".join(chr(65 + index * 7 % 26) + str(index % 10) for index in range(300)), 40)

    assert lines(rows)
    assert list(unwrapped(rows, cols=40)) == []


def test_what_a_long_paragraph_costs_stays_in_proportion() -> None:
    """Rows are read a few times, however many there are."""
    token = "".join(chr(65 + index * 7 % 26) + str(index % 10) for index in range(20_000))
    read = lines(cut(token, 40))

    assert token in read
    assert sum(map(len, read)) < 3 * len(token)


@pytest.mark.parametrize(("start", "end"), [(0, 24), (3, 40)])
def test_the_value_is_masked_and_nothing_else(start: int, end: int) -> None:
    """Rows on the screen, and with others around."""
    text = "\r\n".join([*["one line"] * start, "", *LOGIN, "", *["one line"] * end, ""])
    out = b"".join(scrub_chunks([text.encode()], rows=8, cols=60)).decode()

    assert out == text.replace(PASSWORD, "x" * len(PASSWORD))


def test_a_row_that_comes_later_belongs_to_those_that_were_read() -> None:
    """Rows are read whenever something is erased; the last of these comes behind that."""
    first = "\r\n".join(LOGIN[:-1])
    text = f"{first}\x1b[9;1Hbusy\r\x1b[2K\x1b[3;1H{LOGIN[-1]}\r\n\x1b[2J\x1b[H$ "
    out = b"".join(scrub_chunks([text.encode()], rows=12, cols=60)).decode()

    assert out == text.replace(PASSWORD, "x" * len(PASSWORD))


def test_a_token_glued_to_the_row_above_is_read_for_itself() -> None:
    """A row that runs up to the margin is joined with what comes; the token is no part of it."""
    token = "ghr_8S9mqsK7Wd28DA9H6ssAjSzZZRuDj7M6XhxWkQ7b0H9B6dh3wOF2jhYCopJwn9HvP0AjRIqtnQqa"
    rows = ["total 48  drwxr-xr-x 2 dev dev 4096 Jan  3 10:11 docs",
            *(f"  {row}" for row in cut(token, 18)), "", "$ "]  # fmt: skip
    out = b"".join(scrub_chunks(["\r\n".join(rows).encode()], rows=24, cols=60)).decode()

    assert [row.strip(" x") for row in out.split("\r\n")] == [rows[0], *[""] * (len(rows) - 2), "$"]


def test_verifying_reads_paragraphs_too(meta: SessionMeta) -> None:
    """With screens of its own."""
    shown = "\r\n".join([*LOGIN, ""])

    assert default_scrubber().verify(meta, lambda: iter([Output(0, shown.encode())]))


def test_frames_are_read_as_paragraphs_too() -> None:
    """Those that another terminal made."""
    masked, matches = scrubbed_rows(
        Searcher(rules=RuleSet(default_rules()), known=KnownValues()), LOGIN
    )

    assert masked == (*LOGIN[:-1], LOGIN[-1].replace(PASSWORD, "x" * len(PASSWORD)))
    assert matches


@pytest.mark.parametrize(
    ("word", "begins"),
    [
        ("key=sk-a", True), ("d", True), ("dck", True), ("AKIAWNB", True), ("(ghp_", True),
        ("TOKEN=g", True), ("hello", False), ("skip", False), ("", False), ("zz", False),
    ],
)  # fmt: skip
def test_beginnings_of_tokens(word: str, begins: bool) -> None:
    """Whole prefixes with more behind them, and pieces of prefixes alone."""
    assert begins_a_token(word) is begins


def test_what_is_looked_at_again_gives_the_same() -> None:
    """However wide the screen is, and where there is too much to be remembered."""
    for rows in (cut(WHOLE, 30), [*cut(WHOLE, 30), *["some words"] * 500]):
        for cols in (30, 40):
            once = list(unwrapped(rows, cols))
            assert [list(unwrapped_again(rows, cols)) for _ in range(2)] == [once, once]
        assert once != list(unwrapped_again(rows, 30))
