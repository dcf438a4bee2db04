"""Verification: a leak planted in any view is found, and its value never said."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ptycassette.model import (
    Finished,
    Harness,
    Noted,
    Output,
    Probed,
    QuotaRecord,
    Resized,
    SessionMeta,
    Size,
    Typed,
)
from ptycassette.scrub import default_scrubber


def _forms() -> tuple[str, ...]:
    spec = importlib.util.spec_from_file_location(
        "secret_cases_of_verify", Path(__file__).with_name("secret_cases.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return tuple(module.FORMS)


def _events(case: Any) -> list[Any]:
    if case.channel == "service":
        return [Noted(n * 1000, payload) for n, payload in enumerate(case.payloads)]
    if case.channel == "input":
        return [Typed(n * 1000, chunk) for n, chunk in enumerate(case.chunks)]
    events: list[Any] = []
    for number, chunk in enumerate(case.chunks):
        if number in case.resizes:
            events.append(Resized(number * 1000, Size(*case.resizes[number])))
        events.append(Output(number * 1000, chunk))
    return events


@pytest.mark.parametrize("form", ["apc", "dcs", "scrolled-field"])
@pytest.mark.parametrize("kind", ["crates", "replicate", "github-oauth", "grafana", "xai"])
def test_rules_alone_find_a_leak_in_a_string_and_in_a_field(
    cases: ModuleType, meta: SessionMeta, kind: str, form: str
) -> None:
    """What begins a string does not touch what it says."""
    case = cases.make_case(kind, form, 11)

    assert default_scrubber().verify(meta, lambda: iter(_events(case))) != ()


@pytest.mark.parametrize("form", _forms())
def test_a_planted_leak_is_found(cases: ModuleType, meta: SessionMeta, form: str) -> None:
    """In each view, and the finding does not hold the value."""
    case = cases.make_case("openai-project", form, 3)
    scrubber = default_scrubber(known=[case.secret.value])
    findings = scrubber.verify(meta, lambda: iter(_events(case)))

    assert findings
    assert case.secret.value not in "".join(findings)


@pytest.mark.parametrize("form", _forms())
def test_a_scrubbed_case_passes(cases: ModuleType, meta: SessionMeta, form: str) -> None:
    """What the scrubber made is what the verification wants."""
    case = cases.make_case("github-classic", form, 4)
    scrubber = default_scrubber(known=[case.secret.value])
    after = list(scrubber.events(meta, lambda: iter(_events(case))))

    assert scrubber.verify(meta, lambda: iter(after)) == ()


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_a_key_file_that_comes_byte_by_byte_passes(meta: SessionMeta, rows: int) -> None:
    """Half of its END line on the screen is no secret: it must not keep anybody from publishing."""
    body = "\r\n".join("MIIEvQ" + "Zq7Lm2Xc9Vb4Nn8K" * 3 + "d3Fg6Hj1Wp" for _ in range(rows))
    label = "YEK ETAVIRP"[::-1]
    page = f"-----BEGIN {label}-----\r\n{body}\r\n-----END {label}-----\r\n".encode()
    scrubber = default_scrubber()
    events = [Output(at, page[at : at + 1]) for at in range(len(page))]
    after = list(scrubber.events(meta, lambda: iter(events)))

    assert scrubber.verify(meta, lambda: iter(after)) == ()


@pytest.mark.parametrize(
    "code",
    [
        "workspace.get(name)", "self.s3tables_backend.list_tables()", "access-token", "expired.",
        "Ed25519PrivateKey.generate()", "refreshTokenIfExpired", "_TokenType()",
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", range(6, 11))
def test_code_stands_where_a_row_or_a_look_cuts_it(code: str, at: int) -> None:
    """What is no value as a whole is none where only its beginning is to be seen."""
    meta = SessionMeta(
        id="x", argv=("x",), size=Size(24, 40), recorded_at="", harness=Harness(name="x")
    )
    rows = b" " * (40 - at) + f"token={code} and more".encode()
    looks = f"token={code}\r\n".encode()
    events = [Output(0, rows + b"\r\n"), Output(1, looks[: 6 + at]), Output(2, looks[6 + at :])]
    after = list(default_scrubber().events(meta, lambda: iter(events)))

    assert after == events
    assert default_scrubber().verify(meta, lambda: iter(after)) == ()


def test_what_was_kept_on_purpose_stands_where_a_row_cuts_it() -> None:
    """An address that stays goes on in the next row."""
    meta = SessionMeta(
        id="x", argv=("x",), size=Size(24, 40), recorded_at="", harness=Harness(name="x")
    )
    address = "bob.smith@desk.corp.community"
    events = [Output(0, b" " * 20 + f"{address} and more\r\n".encode())]
    scrubber = default_scrubber(preserved=[address])
    after = list(scrubber.events(meta, lambda: iter(events)))

    assert after == events
    assert default_scrubber(preserved=[address]).verify(meta, lambda: iter(after)) == ()


def test_the_beginning_of_what_stands_elsewhere_is_a_value_in_another_session(
    meta: SessionMeta,
) -> None:
    """What one look let stand does not count for the next one."""
    scrubber = default_scrubber()

    def left(text: bytes) -> bool:
        return bool(scrubber.verify(meta, lambda: iter([Output(0, text)])))

    assert not left(b"token=md5_hash(key)\r\n")
    assert left(b"token=md5_hash\r\n")


def test_findings_are_counted_when_they_are_too_many_to_be_kept(
    meta: SessionMeta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost."""
    monkeypatch.setattr("ptycassette.scrub.verify._MOST_CUT", 3)
    texts = [Noted(0, {"text": f"token=aB3x9Q{number}"}) for number in range(10)]
    (finding,) = default_scrubber().verify(meta, lambda: iter(texts))

    assert finding.endswith("(10 times)")


def test_a_finding_says_channel_time_and_rule(meta: SessionMeta, key: str) -> None:
    """And how often."""
    findings = default_scrubber().verify(
        meta,
        lambda: iter(
            [
                Output(0, b"fine\r\n"),
                Noted(5_000, {"text": key}),
                Probed(6_000, QuotaRecord(source="x", status=key)),
                Finished(t_us=7_000, final_text=key),
            ]
        ),
    )

    assert findings == (
        "final: 6 ms: rule anthropic-token matches (2 times)",
        "service-events: 5 ms: rule anthropic-token matches (once)",
    )


def test_long_sessions_are_looked_at_in_batches(meta: SessionMeta, key: str) -> None:
    """A leak on a batch's edge is found."""
    filler = b"nothing to see here, move along\r\n" * 600
    half = key.encode()
    events = [Output(0, filler), Output(1, half[:30]), Output(2, half[30:]), Output(3, filler * 4)]
    keys = [Typed(4, b"a" * 40_000), Typed(5, half), Typed(6, b"b" * 40_000)]

    assert len(default_scrubber().verify(meta, lambda: iter([*events, *keys]))) >= 2


def test_a_screen_is_looked_at_in_the_size_that_it_has(key: str) -> None:
    """Two pieces, the second painted first: they meet on a screen that became wide enough."""
    meta = SessionMeta(
        id="x", argv=("x",), size=Size(1, 10), recorded_at="", harness=Harness(name="x")
    )
    painted = f"\x1b[1;31H{key[20:]}\x1b[1;11H{key[:20]}".encode()
    wide = Resized(0, Size(1, 200))

    assert default_scrubber().verify(meta, lambda: iter([Output(7_000, painted)])) == ()
    (finding,) = default_scrubber().verify(meta, lambda: iter([wide, Output(7_000, painted)]))
    assert finding.startswith("screen: 7 ms")


def test_what_is_masked_passes_whenever_the_screen_is_looked_at(meta: SessionMeta) -> None:
    """A look may come right behind the sign of assignment; the next look begins with other rows."""
    line = b"http://h/?token=xxxxxxxxxxxx\r\n"
    events = [Output(0, line * 200)]

    assert 512 * 8 % len(line) == len(b"http://h/?token=")
    assert default_scrubber().verify(meta, lambda: iter(events)) == ()


@pytest.mark.parametrize("channel", ["output", "input"])
def test_a_finding_says_the_time_of_its_event_not_of_its_batch(
    meta: SessionMeta, key: str, channel: str
) -> None:
    """Also behind sequences, which are cut out before the search, and in typed keys."""
    before = "\x1b[31m\x1b[2;3Hx\x1b[0m\x1b]0;title\x07" if channel == "output" else "ab\x7f"
    texts = [before * 9, f"{before}{key} ", before * 9, "y" * 100]
    events: list[Any] = [
        Output(number * 1000, text.encode())
        if channel == "output"
        else Typed(number * 1000, text.encode())
        for number, text in enumerate(texts)
    ]
    findings = default_scrubber().verify(meta, lambda: iter(events))
    (found,) = [line for line in findings if line.startswith(f"{channel}: ")]

    assert found.startswith(f"{channel}: 1 ms: ")


def _findings(meta: SessionMeta, events: list[Any], known: str) -> tuple[str, ...]:
    return default_scrubber(known=[known]).verify(meta, lambda: iter(events))


_VALUE = base64.b64encode(bytes(range(40, 229, 9))).decode()  # nobody's


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", [0, 5000])
def test_deltas_in_output_are_put_together(
    meta: SessionMeta, before: int, indent: int | None
) -> None:
    """The finding says when the value began; a broken object before it does not matter."""
    lines = [
        json.dumps({"index": n % 2, "delta": {"text": text}}, indent=indent) + "\n"
        for at in range(0, len(_VALUE), 3)
        for n, text in enumerate(("é--", _VALUE[at : at + 3]))
    ]
    events = [
        Output(0, b'{"a": [\nwords and no object {\n{"b" 1}\n' + b"more words\r\n" * before),
        *(Output(7_000 + number * 1000, line.encode()) for number, line in enumerate(lines)),
        Output(900_000, b"x" * 300_000 + b'{"c": ' * 3000),
    ]
    findings = _findings(meta, events, _VALUE)

    assert findings == ("output: 8 ms: rule declared matches (once)",)


@pytest.mark.parametrize("field", ["up", "base", "text", "shifted"])
def test_each_field_of_keys_is_read(meta: SessionMeta, field: str) -> None:
    """A field that was forgotten spells the value, whatever the others say; cut anywhere."""
    keys = {
        "up": "\x1b[120;1:1u\x1b[{0};{1}:3u",
        "base": "\x1b[120::{0};{1}u",
        "text": "\x1b[120;;{2}u",
        "shifted": "\x1b[120:{0};{1}u",
    }
    raw = "".join(
        keys[field].format(ord(c.lower()), 2 if c.isupper() else 1, ord(c)) for c in _VALUE
    ).encode()
    whole = _findings(meta, [Typed(3_000, raw)], _VALUE)
    cut = _findings(meta, [Typed(3_000, raw[at : at + 1]) for at in range(len(raw))], _VALUE)

    assert [line[:11] for line in whole] == ["input: 3 ms"]
    assert cut == whole


def test_the_names_of_keys_are_read(meta: SessionMeta) -> None:
    """Names of letters spell what was typed, others end a word; in batches, when many."""
    keys = [Typed(n * 1000, b"x", key=c) for n, c in enumerate(_VALUE)]
    many = [Typed(0, b"y", key="y") for _ in range(40_000)]

    assert _findings(meta, keys, _VALUE) == ("input: 0 ms: rule declared matches (once)",)
    assert len(_findings(meta, [*many, *keys], _VALUE)) == 1


def test_the_beginning_of_a_key_that_is_painted_is_no_leak(meta: SessionMeta) -> None:
    """What stands in the next picture is none of it, though the rest of its line has not come."""
    begin, end = (f"-----{word} EC PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
    lines = ["text above the key", "and more of it", begin, "t7Qa9Z0k" * 8, "Qa9Z0kt7" * 7, end, ""]
    shown = "\r\n".join(lines).encode()
    events = [Output(number, bytes([byte])) for number, byte in enumerate(shown)]
    scrubber = default_scrubber()
    after = [*scrubber.events(meta, lambda: iter(events))]

    assert not any(line in b"".join(event.data for event in after).decode() for line in lines[3:5])
    assert scrubber.verify(meta, lambda: iter(after)) == ()


@pytest.mark.parametrize("between", ["\b*", "\xc2\x9b1m", "\x1b[1m", "\xc2\x9bC"])
def test_what_steers_between_masked_letters_is_no_value(meta: SessionMeta, between: str) -> None:
    """A character that is shown for a moment, a sequence that is introduced by one of two bytes."""
    value = "aB3" + "dE6gH9jK2mN5pQ8s"
    shown = f"export API_KEY={between.join(value)}{between}\r\n".encode("latin-1")
    scrubber = default_scrubber()
    after = [*scrubber.events(meta, lambda: iter([Output(0, shown)]))]

    assert scrubber.verify(meta, lambda: iter(after)) == ()
