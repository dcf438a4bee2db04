"""Law: text inside JSON is read as a terminal would show it, in every channel, and masked there."""

from __future__ import annotations

import html
import json
import quopri
import random
import re
from base64 import b32decode, b32encode, b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest

from ptycassette.model.records import (
    Finished,
    Harness,
    JournalEvent,
    Noted,
    Output,
    SessionMeta,
    StreamKinds,
    Traffic,
)
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
PIECE = 8
MARK, PLAIN = "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x9b[0-9;]*m")


def cut(text: str, width: int) -> list[str]:
    """Pieces of a width."""
    return [text[at : at + width] for at in range(0, len(text), width)]


def wrapped(token: str, width: int) -> str:
    """A sentence with the token, broken at a width."""
    return "\n".join([*cut(f"the value is {token}", width), "word " * 5])


def boxed(token: str) -> str:
    """The token in a box, over two rows."""
    rows = "\n".join(f"│ {row:28} │" for row in cut(f"token {token}", 28))
    return f"╭{'─' * 30}╮\n{rows}\n╰{'─' * 30}╯"


def in_panes(token: str) -> str:
    """The token in the left one of two columns."""
    rows = zip([*cut(f"tok {token}", 24), "end"], ["one two", "three four", "five"], strict=False)
    return "\n".join(f"│ {left:24} │ {right:12} │" for left, right in rows)


def numbered(token: str, sign: str) -> str:
    """Rows with numbers, as tools show files."""
    rows = cut(f"the token is here: {token}", 36)
    return "\n".join(f"{at:5}{sign}{row}" for at, row in enumerate(rows, 1))


def utf_16(text: str, order: str) -> str:
    """The bytes of UTF-16, each as a character."""
    return text.encode(f"utf-16{order}").decode("latin-1")


HIDDEN: dict[str, Callable[[str], str]] = {
    "as it is": lambda t: f"saw {t} here",
    "the prefix in colour": lambda t: f"cfg.py:3: {MARK}{t[:4]}{PLAIN}{t[4:]}\n",
    "a part in colour": lambda t: f"saw {t[:10]}\x1b[7m{t[10:13]}\x1b[27m{t[13:]} ok",
    "a colour for each character": lambda t: "".join(
        f"\x1b[3{at % 8}m{char}" for at, char in enumerate(t)
    ),
    "C1 controls": lambda t: f"saw {t[:10]}\x9b1m{t[10:]} ok",
    "a hyperlink": lambda t: f"\x1b]8;;https://h/?t={t}\x07link\x1b]8;;\x07",
    "painted with cursor moves": lambda t: f"\x1b[2J\x1b[3;5H{t[:10]}\x1b[3;15H{t[10:]}\x1b[5;1Hok",
    "overstruck": lambda t: "".join(f"{char}\b{char}" for char in t),
    "escaped for Markdown": lambda t: t.replace("_", "\\_"),
    "escaped for Markdown, in colour": lambda t: f"ghp\\_\x1b[1m{t[4:]}\x1b[0m ok",
    "bold": lambda t: f"saw **{t[:12]}**{t[12:]} ok",
    "a hit of a search": lambda t: f"saw {t[:8]}<em>{t[8:14]}</em>{t[14:]} ok",
    "a zero-width space": lambda t: f"saw {t[:10]}\u200b{t[10:]} ok",
    "a soft hyphen": lambda t: f"saw {t[:10]}\u00ad{t[10:]} ok",
    "wrapped at 40": lambda t: wrapped(t, 40),
    "wrapped at 24": lambda t: wrapped(t, 24),
    "in a box": boxed,
    "in one of two panes": in_panes,
    "numbered lines": lambda t: numbered(t, "\t"),
    "lines with arrows": lambda t: numbered(t, "→"),
    "quoted lines": lambda t: "\n".join(f"> {row}" for row in cut(f"the token is: {t}", 36)),
    "\\uXXXX": lambda t: "".join(f"\\u{ord(char):04x}" for char in t),
    "some \\uXXXX": lambda t: t[:8] + "".join(f"\\u{ord(char):04x}" for char in t[8:12]) + t[12:],
    "JSON in it": lambda t: json.dumps({"a": f"x {t}\n"}),
    "JSON in JSON in it": lambda t: json.dumps({"a": json.dumps({"t": f"x {t}\n"})}),
    "JSON in JSON, in colour": lambda t: json.dumps(
        {"a": json.dumps({"t": f"{MARK}{t[:4]}{PLAIN}{t[4:]}"})}
    ),
    "UTF-16, little end first": lambda t: utf_16(f"saw {t}", "-le"),
    "UTF-16, big end first": lambda t: utf_16(f"saw {t}", "-be"),
    "UTF-16 with a mark": lambda t: utf_16(f"saw {t}", ""),
    "base64": lambda t: b64encode(f"t={t}".encode()).decode(),
    "UTF-16 in base64": lambda t: b64encode(utf_16(f"$t='{t}'", "-le").encode("latin-1")).decode(),
    "big UTF-16 in base64": lambda t: b64encode(
        utf_16(f"$t='{t}'", "-be").encode("latin-1")
    ).decode(),
    "UTF-16 in hexadecimal": lambda t: utf_16(f"t={t}", "-le").encode("latin-1").hex(),
    "base32": lambda t: b32encode(f"t={t}".encode()).decode(),
    "base32 in small letters": lambda t: b32encode(f"to={t}".encode()).decode().lower().strip("="),
    "percent": lambda t: "q=" + "".join(f"%{ord(char):02X}" for char in t),
    "quoted-printable": lambda t: quopri.encodestring(
        f"café = {'word ' * 11}{t}".encode()
    ).decode(),
    "character references": lambda t: "".join(f"&#{ord(char)};" for char in t),
}


def unhidden(text: str) -> Iterator[str]:
    """What ``text`` may say, read in every way that the table above writes."""
    yield text
    text = text.replace("\0", "")
    text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"(.)\x08\1", r"\1", SEQUENCE.sub("", text))
    text = re.sub(r"\*\*|</?em>|[\u200b\u00ad]", "", text.replace("\\_", "_"))
    text = html.unescape(unquote(text))
    yield text
    yield quopri.decodestring(text.encode()).decode("latin-1")
    yield re.sub(r"[│>\s]+|\n\s*\d\s*[→\t]?", "", re.sub(r"\n\s*\d[\t→]", "", text))
    for digits in re.findall(r"[A-Za-z0-9+/]{16,}", text):
        padded = digits + "=" * (-len(digits) % 8)
        for decode in (b64decode, lambda word: b32decode(word, casefold=True), bytes.fromhex):
            try:
                yield decode(padded).decode("latin-1").replace("\0", "")
            except ValueError:
                continue


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, in the JSON in its strings too; the strings of lists as one."""
    if isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        yield from strings(inner) if isinstance(inner, (dict, list)) else ()
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
        yield "".join(item["text"] for item in value if isinstance(item, dict) and "text" in item)


def token(seed: str) -> str:
    """A synthetic token."""
    rng = random.Random(seed)
    return "ghp_" + "".join(rng.choices(ALPHABET, k=36))


def pieces_left(secret: str, value: Any) -> list[str]:
    """The pieces of a secret that a value still says."""
    said = [reading for text in strings(value) for reading in unhidden(text)]
    pieces = (secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1))
    return [piece for piece in pieces if any(piece in text for text in said)]


def scrubbed(*events: JournalEvent, piped: bool = False) -> list[JournalEvent]:
    """Events as they are published; nothing may be left in them."""
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
        streams=StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe") if piped else None,
    )
    scrubber = default_scrubber()
    masked = [*scrubber.events(meta, lambda: iter([*events, Finished(t_us=2)]))]
    assert scrubber.left == ()
    return masked


def traffic(body: bytes) -> bytes:
    """A body of the tape."""
    piece = scrubbed(Traffic(t_us=1, entry=1, side="question", data=body, last=True))[0]
    assert isinstance(piece, Traffic)
    return piece.data


def in_a_tape(text: str) -> Any:
    """A tool result in a question."""
    return json.loads(
        traffic(json.dumps({"messages": [{"role": "tool", "content": text}]}).encode())
    )


def in_a_tape_in_utf_8(text: str) -> Any:
    """The same in a body that spells characters out."""
    body = {"messages": [{"role": "tool", "content": text}]}
    return json.loads(traffic(json.dumps(body, ensure_ascii=False).encode()))


def in_two_parts(text: str) -> Any:
    """Text in two content blocks."""
    parts = [text[: len(text) // 2], text[len(text) // 2 :]]
    content = [{"type": "text", "text": part} for part in parts]
    return json.loads(traffic(json.dumps({"messages": [{"content": content}]}).encode()))


def in_deltas(text: str) -> Any:
    """Text in server-sent events."""
    deltas = [{"delta": {"type": "text_delta", "text": part}} for part in cut(text, 11)]
    body = "".join(f"data: {json.dumps(delta)}\n\n" for delta in deltas)
    lines = traffic(body.encode()).decode().splitlines()
    return [json.loads(line[6:])["delta"] for line in lines if line]


def in_a_service_event(text: str) -> Any:
    """A tool result in a service event."""
    noted = scrubbed(Noted(t_us=1, payload={"type": "tool-result", "output": text}))[0]
    assert isinstance(noted, Noted)
    return noted.payload


def in_a_message(text: str) -> Any:
    """A message over pipes."""
    line = json.dumps({"jsonrpc": "2.0", "result": {"output": text}}) + "\n"
    output = scrubbed(Output(1, line.encode(), stream="stdout"), piped=True)[0]
    assert isinstance(output, Output)
    return json.loads(output.data)


def in_a_live_question(text: str) -> Any:
    """What a rerun compares."""
    body = json.dumps({"messages": [{"role": "tool", "content": text}]}).encode()
    return json.loads(default_scrubber().traffic([body])[0])


def in_the_final_text(text: str) -> Any:
    """The last text of an agent."""
    masked = default_scrubber().value({"final_text": text}, channel="final")
    assert isinstance(masked, dict)
    return masked


CHANNELS = (
    in_a_tape, in_a_tape_in_utf_8, in_two_parts, in_deltas, in_a_service_event, in_a_message,
    in_a_live_question, in_the_final_text,
)  # fmt: skip


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("how", HIDDEN)
def test_a_token_in_a_string_is_masked_however_it_is_written(
    how: str, channel: Callable[[str], Any]
) -> None:
    """No piece of it is left, in whatever way one reads what is stored."""
    secret = token(how)
    text = HIDDEN[how](secret)
    assert pieces_left(secret, [text])
    assert not pieces_left(secret, channel(text))


@pytest.mark.parametrize("how", HIDDEN)
def test_masks_leave_control_sequences_and_the_rest_of_the_string(how: str) -> None:
    """Colours stay colours; what is before and behind stays."""
    text = f"before\n\n{HIDDEN[how](token(how))}\n\nand behind"
    masked = in_a_tape(text)["messages"][0]["content"]
    assert SEQUENCE.findall(masked) == SEQUENCE.findall(text)
    assert masked.startswith("before\n\n")
    assert masked.endswith("\n\nand behind")


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda one: one.__name__)
def test_text_without_secrets_stays(channel: Callable[[str], Any]) -> None:
    """Colours, tables, markup and encoded text alone are no secrets."""
    text = (
        f"{MARK}src/app.py{PLAIN}:12: def run(self, count: int) -> None:\n"
        "│ name         │ state   │\n│ left-pad     │ installed and up to date │\n"
        "a \\_b\\_ c**2 <em>done</em> soft\u00adhyphen N\bNO\bO \x1b[2;3Hmoved\n"
        "JBSWY3DPEBLW64TMMQQQ==== aGVsbG8gd29ybGQgb2YgdGVzdHM=\n"
    )
    assert text in [*strings(channel(text))]
