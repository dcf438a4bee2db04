"""Columns of the screen: what goes on in the row below, beside other text."""

from __future__ import annotations

import re

import pytest

from ptycassette.model import Size
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.columns import KEY_BEGINS, chained, columns, key_below, tight
from ptycassette.testing import scrub_chunks


def views(data: bytes, cols: int = 30) -> list[str]:
    """The lines that are read from the screen."""
    cells = OutputCells(Size(6, cols))
    found = [*cells.feed(data), *cells.rest()]
    return [line for view in found for line in view.text.split("\n")]


def test_a_pane_beside_another_is_read_down_its_columns() -> None:
    """A token that goes on in the same columns is joined."""
    pane = b"left one  abcdefgh12345678ijkl\r\nleft two  mn90op          \r\n"

    assert any("abcdefgh12345678ijklmn90op" in line for line in views(pane))


def test_a_pane_is_read_down_from_the_words_before_a_token() -> None:
    """What names the token may stand before it in the pane."""
    pane = b"left one  Bearer: abcdef\r\nleft two  a2QtlNQKQj_25Z\r\nleft     fJ1raJ \r\n"

    assert any("Bearer: abcdefa2QtlNQKQj_25Z" in line for line in views(pane))


@pytest.mark.parametrize(
    ("token", "rest"),
    [
        ("aB3dE5gH7jK9mN1pQ3", "OOxsf_xV"),
        ("aB3dE5gH7jK9mN1pQ3", "lhGZnJvWXg="),
        ("aB3dE5gH7jK9mN1pQ3", "QBTupvt@git.io/a"),
        ("aB3dE5gH7jK9mN1pQ3", "bcfghjk"),
        ("BhMgnZHGourNIX", "EBiac/Tk3U/el"),
        ("secret_key = Bhmgn", "bhmgx"),
        ("https://ab.example", "/hooks/6370885"),
    ],
)
def test_what_stands_alone_below_a_token_is_its_rest(token: str, rest: str) -> None:
    """In a column, whatever the rest of it happens to look like."""
    pane = f"left one  {token}\r\nleft two  {rest}\r\n".encode()

    assert any(token + rest in line for line in views(pane))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("aB3dE5gH7jK9mN1pQ3", "now read"),
        ("configuration-of-a-thing", "Makefile"),
        ("a sentence here", "OOxsf"),
    ],
)
def test_a_sentence_below_a_token_is_not_its_rest(above: str, below: str) -> None:
    """Nor is anything the rest of words."""
    lines = views(f"left one  {above}\r\nleft two  {below}\r\n".encode())

    assert not any(above + below[:4] in line for line in lines)


@pytest.mark.parametrize(
    ("above", "below", "line"),
    [
        ("of bobby, the p", "assword aQt4lN", "of bobby, the password aQt4lN"),
        ("as bob.b@butcl", "hxrl.io (Pro)", "as bob.b@butclhxrl.io"),
    ],
)
def test_a_column_may_break_names_and_addresses(above: str, below: str, line: str) -> None:
    """Neither half of them looks like a piece of a token."""
    assert line in views(f"left one  {above}\r\nleft two  {below}\r\n".encode())


def test_the_first_row_of_a_column_may_be_indented() -> None:
    """As of what is broken at a width and not by its structure."""
    lines = views(
        b"left one      aB3dE5gH7jK9mN\r\nleft two  1pQ3rS5tU7vW9xY1zA\r\nleft      3bC5\r\n"
    )

    assert any("aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5" in line for line in lines)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_value_stands_in_the_column_below_its_name(blank: str) -> None:
    """With the blank between them in either row."""
    pane = f"left 1  login bob password\r\nleft 2  {blank}KInvCccWXVcFBq\r\n".encode()

    assert "login bob password KInvCccWXVcFBq" in views(pane)


@pytest.mark.parametrize(
    ("before", "width", "after"),
    [("", 39, "│foo bar"), ("│ ", 37, "│ foo bar │"), ("  ", 22, "| foo bar")],
)
def test_a_token_wrapped_in_the_left_pane_is_found(
    key: str, before: str, width: int, after: str
) -> None:
    """What stands in the pane beside it keeps its rows from running up to the margin."""
    text = f"the value is {key}"
    rows = [text[at : at + width - 3] for at in range(0, len(text), width - 3)]
    page = "\r\n".join(f"{before}{row.ljust(width)}{after}" for row in rows).encode()
    (scrubbed,) = scrub_chunks([page], rows=24, cols=80)

    assert re.sub(rb"[^A-Za-z0-9]|foo bar", b"", scrubbed).strip(b"x") == b"thevalueis"


@pytest.mark.parametrize("beside", ["other text", "\u2502 text"])
def test_the_first_column_may_be_parted_by_blanks_only(beside: str) -> None:
    """Or by a border in some of its rows."""
    rows = f"TOKEN=aB3dE5gH7j  {beside}\r\nkL2mN4pQ6r        text\r\n"

    assert "TOKEN=aB3dE5gH7jkL2mN4pQ6r" in views(rows.encode())


def test_a_column_may_have_nothing_beside_it_in_its_first_row() -> None:
    """What stands beside it begins in the row below."""
    rows = b"TOKEN=aB3dE5gH7jK9\r\nkL2mN4pQ6r        text\r\n"

    assert "TOKEN=aB3dE5gH7jK9kL2mN4pQ6r" in views(rows)


def test_a_row_of_a_box_is_no_pane() -> None:
    """Its words and those below them are no token together."""
    page = "│ aws_instance.token: created after 33s [i │\r\n│ d=i-a619edd8bf7201317]{:21}│\r\n"
    page = page.format("")

    assert scrub_chunks([page.encode()], rows=24, cols=80) == [page.encode()]


def test_one_blank_may_part_columns() -> None:
    """Where the rows run up to the margin, and the rest of a token stands in the same column."""
    rows = b"some words here TOKEN=aB3dE5g\r\nand other more  \r\x1b[16ChJ7kL2mN4pQ6\r\n"

    assert "TOKEN=aB3dE5ghJ7kL2mN4pQ6" in views(rows)


def test_a_value_may_stand_below_its_name_behind_one_blank_more() -> None:
    """As where a text is cut at the blank between them."""
    rows = b"over the lazy d login bob password\r\ndog and a quick  XJEk2SQDSexTAaha\r\n"

    assert "login bob password XJEk2SQDSexTAaha" in views(rows, cols=35)


@pytest.mark.parametrize(
    "below", ["and the others more words", "and other things aB3dE5gH", "and other th"]
)
def test_words_in_other_columns_are_not_joined(below: str) -> None:
    """Nor what looks like a token, but begins where nothing begins above."""
    assert list(tight("some words here TOKEN=aB3dE5g", below, 30)) == []


def test_columns_one_blank_apart_run_up_to_the_margin() -> None:
    """Else any two words could be such."""
    texts = ["some words here TOKEN=aB3dE5g", "and other more  hJ7kL2mN4pQ6"]

    assert list(chained(texts, 30)) == [0]
    assert list(chained(["in words TOKEN=aB3dE5g", "or words hJ7kL2mN4pQ6"], 60)) == []


def test_text_may_stand_beside_a_token_only_further_down() -> None:
    """The first rows of the token have nothing beside them and are no panes by themselves."""
    rows = [
        "key: aB3dE5gH7", "jK9mN1pQ3rS5tU", "7vW9xY1zA3bC5d  \u2502 text", "E7fG9hJ1   \u2502 more",
    ]  # fmt: skip

    assert "key: aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5dE7fG9hJ1" in "\n".join(
        views("\r\n".join(rows).replace("  \u2502", "\u2502", 1).encode())
    )


def test_a_border_at_the_end_is_no_part_of_a_token() -> None:
    """The row below has text behind its border."""
    rows = "export KEY=aB3dE5g\u2502\r\nhJ7kL2mN4pQ6rS8tU9\u2502lazy dog\r\n"

    assert "export KEY=aB3dE5ghJ7kL2mN4pQ6rS8tU9" in views(rows.encode())


def test_letters_of_other_scripts_are_part_of_a_token() -> None:
    """A pass word may hold any."""
    rows = "left 0    PASSWORD=\u0142X9LWD\r\nleft 1    f\u0431FPAZ\u044f\u00f8i\u00f1R\r\n"
    joined = "PASSWORD=\u0142X9LWDf\u0431FPAZ\u044f\u00f8i\u00f1R"

    assert joined.encode().decode("latin-1") in views(rows.encode())


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("xoxp-530340054015", "-765409317620-622"),
        ("aB3dE5gH7jK9mN1pQ3", "qDpzW+Xfef/FWKbC"),
        ("aB3dE5gH7jK9mN1pQ3", "417649613"),
    ],
)
def test_digits_and_base64_go_on(above: str, below: str) -> None:
    """Though words follow them."""
    rows = f"left 0  {above:20}\r\nleft 1  {below} now and then\r\n"

    assert any(above + below in line for line in views(rows.encode(), cols=60))


def test_a_border_ends_what_stands_alone() -> None:
    """Whatever is right behind it."""
    rows = "https://ab.example/servic\u2502dog\r\nes/T9R6RQUR8NP/BT929E4E2\u2502the\r\n"

    assert "https://ab.example/services/T9R6RQUR8NP/BT929E4E2" in views(rows.encode(), cols=40)


def test_a_row_of_a_token_may_look_like_a_digest() -> None:
    """It goes on, though a digest by itself is whole."""
    digest = "e0f67221a877d3327978885e470cda15"
    rows = ["key: aB3dE5gH7jK9mN1pQ3rS5tU7vW9\u2502dog", f"{digest}\u2502the"]
    rows.append(f"{'ded126042ec256f76':32}\u2502and")

    assert list(chained(rows, 60)) == [0, 1]
    assert list(chained(rows[1:], 60)) == []


def test_the_end_of_a_string_goes_on() -> None:
    """Though more of the text stands behind it, and it has no digit."""
    rows = b'left 0  {"secret": "qYr8Q~zkx67\r\nleft 1  zQ.XWTwSi", "n": 1}\r\n'

    assert any('qYr8Q~zkx67zQ.XWTwSi",' in line for line in views(rows, cols=40))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("email=bob@trd", "ux.com            | the"),
        ("as bob@trdux.c", "om                | the"),
        ("as bob@trdux.", "com for help      | the"),
    ],
)
def test_an_address_may_be_broken_in_its_last_label(above: str, below: str) -> None:
    """Or before it."""
    lines = views(f"{above:18}| dog\r\n{below}".encode())

    assert any("bob@trdux.com" in line for line in lines)


@pytest.mark.parametrize("beside", ["  ", " "])
def test_a_private_key_may_be_broken_in_its_first_line(beside: str) -> None:
    """Its other lines are shorter than the column, and none of them ends the key."""
    dashes = "-" * 5
    lines = [
        f"{dashes}BEGIN RSA PRIVATE", f"KEY{dashes}", "MIIEogIBAAKCAQEAx3", "r5Tt",
        "zQ8Ww2Lk9Pp4Mm7Nn1", f"{dashes}END RSA PRIVATE K", f"EY{dashes}",
    ]  # fmt: skip
    page = "".join(f"some words {n}{beside}{line}\r\n" for n, line in enumerate(lines))
    (scrubbed,) = scrub_chunks([page.encode()], rows=24, cols=34 + len(beside))

    assert re.findall(rb"MIIE\w+|zQ8\w+", scrubbed) == []


def test_a_blank_parts_the_lines_of_a_key() -> None:
    """That fill their column; what is broken in its first line is put together."""
    dashes = "-" * 5
    lines = [f"{dashes}BEGIN RSA PRIVATE KEY-", "-" * 4, "MIIEogIBAAKCAQEAx3AB5a", "r5Tt", "end"]
    page = "".join(f"words {n} {line}\r\n" for n, line in enumerate(lines)).encode()
    key = f"{dashes}BEGIN RSA PRIVATE KEY{dashes} MIIEogIBAAKCAQEAx3AB5a r5Tt"

    assert any(line.startswith(key) for line in views(page, cols=35))


def test_the_lines_of_a_key_end_with_its_last_one() -> None:
    """What stands below is no part of it."""
    dashes = "-" * 5
    rows = [f"a {dashes}BEGIN PRIVATE KEY{dashes}", "a MIIEx9", f"a {dashes}END PRIVATE", "a word"]

    assert [rows[n][slice(*span)] for n, span in enumerate(key_below(rows, 2), 1)] == [
        "MIIEx9",
        f"{dashes}END PRIVATE",
    ]
    assert list(key_below(["a word", "b"], 2)) == []


def test_a_piece_that_begins_with_dashes_is_no_option() -> None:
    """No blank stands between it and its rest, as between an option and its value."""
    rows = b"left 0  KEY=aB3dE5gH\r\nleft 1  --W09yk4Y7QK\r\nleft 2  JRdKnfTH1N0g\r\n"

    assert "KEY=aB3dE5gH--W09yk4Y7QKJRdKnfTH1N0g" in views(rows)


def test_a_setting_that_is_secret_names_the_value_below() -> None:
    """A value that looks generated, behind a blank; not the next word of a list."""
    rows = "aws_secret_access_key | dog\r\n{:21} | the\r\n"
    value = "TZLEpgTaHKEcq2eHr1"

    assert f"aws_secret_access_key {value}" in views(rows.format(f" {value}").encode())
    assert not any(
        "keyaws" in line.replace(" ", "") for line in views(rows.format("aws_region").encode())
    )


def test_a_row_of_words_has_no_column_that_may_go_on() -> None:
    """It costs time."""
    assert not columns("some words in a row")
    assert columns("export TOKEN aB3dE5gH7")


def test_a_gutter_may_be_a_sign_of_its_own() -> None:
    """Not of ASCII."""
    rows = "\u00bb TOKEN=aB3dE5gH7jK9mN1pQ3rS\r\n\u00bb 5tU7vW9xY1z\r\n"

    assert any("TOKEN=aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1z" in line for line in views(rows.encode()))


def test_a_pane_may_begin_with_a_blank_in_its_first_row() -> None:
    """As where a text is broken at a width; the border is right before the rest."""
    rows = "the jum\u2502 --token aB3dE5gH7jK9\r\nand the\u25027a0383b7c9390aa1efd6\r\n"

    assert any("--token aB3dE5gH7jK97a0383b7c9390aa1efd6" in line for line in views(rows.encode()))


def test_a_gutter_stands_before_both_rows() -> None:
    """Else it is the beginning of a row."""
    rows = b"TOKEN=aB3dE5gH7jK9mN1pQ3rS\r\n# 5tU7vW9xY1z\r\n"

    assert not any("rS5tU7" in line for line in views(rows))


def test_a_name_may_stand_before_the_first_piece_of_its_value() -> None:
    """Though that is short, and has nothing beside it."""
    rows = b"key: sk-\r\naB3dE5gH   lazy dog\r\n"

    assert "key: sk-aB3dE5gH" in views(rows)


def test_rows_behind_a_gutter_go_on_behind_it() -> None:
    """As comments do."""
    rows = b"# TOKEN=aB3dE5gH7jK9mN1pQ3rS\r\n# 5tU7vW9xY1z\r\n"

    assert "# TOKEN=aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1z" in views(rows)


def test_a_prefix_of_a_token_ends_the_row_of_a_pane() -> None:
    """With the rest of the token below, and more of it there."""
    rows = (
        "The key AGE-SECRET-KEY-\u2502\r\n1YTTD6FML9N5MQVL7U0PU4P\u2502jumps\r\n2K20TR keep it\r\n"
    )

    assert any(
        "AGE-SECRET-KEY-1YTTD6FML9N5MQVL7U0PU4P2K20TR" in line for line in views(rows.encode())
    )


def test_the_first_line_of_a_key_may_be_broken_before_its_blank() -> None:
    """The row below begins with it."""
    above = ["a " + KEY_BEGINS + "RSA PRIVATE", "   KEY-----", "  aB3dE5", "  -----END RSA", "  no"]

    assert list(key_below(above, 2)) == [(3, 11), (2, 8), (2, 14)]
    assert list(key_below([above[0], "    KEY-----"], 2)) == []
    assert list(key_below([*above[:2], "   aB3dE5"], 2)) == [(3, 11)]
    assert list(key_below(["  -----BEGIN RSA PRIVATE KEY-----", "   aB3dE5"], 2)) == []


@pytest.mark.parametrize("sign", ["+", "/"])
def test_base64_may_go_on_with_a_sign(sign: str) -> None:
    """Where it fills row after row, narrower than the screen; a path is none."""
    key = "Ns6dtUVAr8jEkFlPoUO2kbIHnpc0EB"
    rows = f'TOKEN="{key[:23]}\r\n{key}\r\n{sign}gEHz6f/edakx+AnP9zaRIno/RW1Af\r\n'

    assert any(f"EB{sign}gEHz6f/edakx" in line for line in views(rows.encode(), 60))
    path = f"{key}\r\n/usr/lib/x is there\r\n".encode()
    assert not any("EB/usr" in line for line in views(path, 60))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("AWS_ACCESS_KEY_ID=AKIA5gH7jK9mN1pQ", "AWS_SECRET_ACCESS_KEY=aB3dE5gH"),
        ("TOKEN=aB3dE5gH7jK9mN1pQ3rS", "OPEN4"),
    ],
)
def test_lines_that_begin_alike_are_a_list(first: str, second: str) -> None:
    """The same column of each is no column."""
    rows = f"export {first}\r\nexport {second}\r\n".encode()

    assert not any(f"{first}{second}" in line for line in views(rows, 60))


@pytest.mark.parametrize("indent", ["", "  ", "| "])
@pytest.mark.parametrize("cut", range(1, 25))
def test_a_url_with_a_password_may_be_broken_anywhere(indent: str, cut: int) -> None:
    """In its scheme, too, far from any margin."""

    def broken(url: str) -> str:
        above = f"{indent}the proxy for all of them is {url[:cut]}"
        return f"{above}\r\n{indent}{url[cut:]} and more of it"

    shown = broken("http://svc:aB3dE5gH7jK9@10.0.0.5:3128").encode()
    scrubbed = b"".join(scrub_chunks([shown], rows=24, cols=120)).decode()

    assert scrubbed == broken("http://svc:xxxxxxxxxxxx@10.0.0.5:3128")


def test_what_names_its_own_value_is_no_rest_of_a_column() -> None:
    """Whatever stands beside it."""
    rows = "one  AWS_ACCESS_KEY_ID=AKIA5gH7jK9mN1pQ\r\ntwo  AWS_SECRET_ACCESS_KEY=aB3dE5gH\r\n"

    assert not any("1pQAWS_SECRET" in line for line in views(rows.encode(), 60))


@pytest.mark.parametrize(
    ("above", "below", "joined"),
    [
        ("  KEY=sk-ant-", "  aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5", "sk-ant-aB3dE5"),
        ("  -e TOKEN=sk-", "  aB3dE5gH7jK9mN1pQ3rS image:latest", "sk-aB3dE5"),
        ("line 3: export DB_PASSWORD=v", "^tBhOVFqxnnds (check it)", "=v^tBh"),
        ("sgp_local_fb35b46d883f19f1cc871f4b3ad641", "1941529713 (see)", "641194152"),
        ("see xoxp-574911862527-", "601895559797-114710497465- and", "527-601895559797-"),
        ("invalid key gho", "_aB3dE5gH7jK9mN1pQ3rS5tU7 (see)", "gho_aB3dE5"),
        ("invalid key glpat", "-aB3dE5gH7jK9mN1pQ3rS (see)", "glpat-aB3dE5"),
        ("invalid key csk-heof", "1a3vtc9e5u1cse3vas4vgqfb4mpxyy14iv5", "heof1a3vtc"),
        ("Cookie: theme=dark; sess", "ionid=aB3dE5gH7jK9mN1p; lang=en", "sessionid=aB3"),
        ("Bearer aB3dE5gH7jK9\u21a9", "mN1pQ3rS5tU7vW9x and more", "jK9mN1p"),
        ("Bearer aB3dE5gH7jK9mN1pQ3rS", "\u21aa 5tU7vW9xY1zA3b", "3rS5tU7"),
        ("  7 KEY=aB3dE5gH7jK9mN1pQ3rS", "  8 5tU7vW9xY1zA3b", "3rS5tU7"),
        ("  9 \u2502 KEY=aB3dE5gH7jK9mN1pQ3rS", " 10 \u2502 5tU7vW9xY1zA3b", "3rS5tU7"),
        ('  7 \u2502 again  "DD_API_K', '  8 \u2502 EY": "4b9c1c07774220d1"', 'API_KEY": "4b9c'),
        ("Bearer aB3dE5gH7jK9mN1pQ3rS", "\u2026 5tU7vW9xY1zA3b", "3rS5tU7"),
        ("Bearer aB3dE5gH7jK9mN1pQ3rS", "\\ 5tU7vW9xY1zA3b", "3rS5tU7"),
        ("Bearer aB3dE5gH7jK9mN1pQ3rS", "\xbb 5tU7vW9xY1zA3b", "3rS5tU7"),
        ("web-1  | KEY=aB3dE5gH7jK9mN1pQ3rS", "web-1  | 5tU7vW9xY1zA3b", "3rS5tU7"),
        ('KEY="aB3dE5gH7jK9mN1p', '        Q3rS5tU7vW9xY1zA3bC5dE7f"', "1pQ3rS5"),
        ("Authorization: Bearer ASIA7XOT", "MB2MLTFUHABE", "7XOTMB2M"),
        ("login -p dck", "r_pat__xwC3ZiTfepmy3HMmNi5zRROe5k", "dckr_pat"),
        ("invalid key AKIAWNB", "FRGO2XYQOZJLW (see)", "AKIAWNBFRGO"),
        ("we log   dd_api_key", ": 54992d375d6742a409d8dd723de0c688", "key: 5499"),
        ('again "Account', '": "386518847582"', 'Account": "38'),
        ('again "Accoun', 't": "386518847582"', 'Account": "38'),
        ('look "Account": "372', '715954487"', "372715954487"),
        ("look ASIAJ5K7JSF4OKE", "INWUQ", "OKEINWUQ"),
        ("see the one in the log cio770", "MBvsbRE0IN0VKoLtQ69Pcwn", "cio770MBvs"),
        ("we sbp_600744e9ca86bab31496612", "28585702031145469", "49661228585"),
        ("export DB_PASSWORD=H", "VYw^tdt!*yakn", "D=HVYw^tdt"),
        ("again SK638041", "102ec00b62c3b5b47342985f2b", "SK638041102ec"),
        ('look   "password":', '"VnOdAWyEmSSuCO",', '": "VnOdAW'),
        ('look   "Account":', '"386518847582"', 'Account": "38'),
        ("export DD_API_KEY=6b938b9c1a87b77a1ea56", "86093476012", "1ea5686093"),
    ],
)
def test_rows_go_on_where_programs_break_them(above: str, below: str, joined: str) -> None:
    """At a hyphen, in a prefix, in the name of a cookie, with arrows, behind numbers."""
    assert any(joined in line for line in views(f"{above}\r\n{below}\r\n".encode(), 70))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("this is state-of-the-", "art for everybody"),
        ("an item -", "v2.3 is another one"),
        ("  7 KEY=aB3dE5gH7jK9mN1pQ3rS", "2026 5tU7vW9xY1zA3b"),
        ("2 Slack: xoxb-574911862527-aB3dE5gH7jK9mN1p", "3 GitLab"),
        ("the end of it", "_private_member of a class"),
        ("Accept: text", "a=b"),
        ("log fw_mZ12owq5CJzhTKb1BL", "Makefile"),
        ("export DB_PASSWORD=no", "src/main.py"),
        ("glrt-m522oAMCtDk5ebV9OBT7", "2033217c7347d mend the test"),
        ("an account of", "386518847582 bytes"),
        ("web-1 | KEY=aB3dE5gH7jK9mN1pQ3rS", "web-1 | and more"),
    ],
)
def test_others_do_not(above: str, below: str) -> None:
    """Words, signs of lists, other numbers."""
    joined = above.rpartition(" ")[2] + re.sub(r"^ *\d* ", "", below)[:4]

    assert not any(joined in line for line in views(f"{above}\r\n{below}\r\n".encode(), 70))
