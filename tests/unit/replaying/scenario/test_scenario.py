"""Scenarios: what a file may say, and what each predicate holds to be true."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ptycassette.errors import UsageError
from ptycassette.model.records import (
    Event,
    ExitStatus,
    FinalRecord,
    Finished,
    FrameRecord,
    Noted,
    Output,
    Resized,
    Typed,
)
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.replaying.scenario.evaluation import (
    Normaliser,
    check_scenario,
    outcome_lines,
    parse_scenario,
    scenario_schema,
)
from ptycassette.replaying.scenario.predicate import (
    Evidence,
    draft_scenario,
    normaliser_of,
    repin_scenario,
)
from ptycassette.testing import events_of, fixed_id, manifest_of

PINS = f"""
name: t
cassette_path: x.cassette
expected_manifest_id: {fixed_id()}
expected_content_digest: "{"0" * 64}"
"""
CLIP = b"\x1b]52;c;" + base64.b64encode(b"copied text") + b"\x07"
LINK = b"\x1b]8;;https://example.org/a\x1b\\link\x1b]8;;\x1b\\"


def frame(t_ms: int, *rows: str, **fields: Any) -> FrameRecord:
    """A frame of four rows and twenty columns."""
    given: dict[str, Any] = {
        "seq": 0,
        "t_ms": t_ms,
        "size": Size(rows=4, cols=20),
        "text": (*rows, *("",) * (4 - len(rows))),
        "cursor": Cursor(row=0, col=2),
        "raw_start": 0,
        "raw_end": 0,
        "parser_offset": 0,
    }
    return FrameRecord(**{**given, **fields})


RED = ((StyleRun(2, 3, Style(fg=1, bold=True)),), (), (), ())


def recording() -> Evidence:
    """One session with a bit of everything."""
    events = events_of(
        Output(0, b"> " + CLIP + LINK),
        frame(100, "> ready", "time 12:30:55", title="start"),
        Typed(200_000, b"he"),
        Typed(210_000, b"x\x7fllo"),
        Typed(220_000, b"\r", key="enter"),
        Output(300_000, b"hello"),
        frame(400, "> red one", "hello", styles=RED, alt_screen=True, title="now"),
        Resized(500_000, Size(rows=6, cols=30)),
        Typed(550_000, b"\x1b[200~pasted\x1b[201~"),
        Noted(600_000, {"type": "usage", "tokens": {"in": 6}, "ok": True, "list": ["a", "b"]}),
        Output(690_000, b"bye"),
        frame(700, "bye", size=Size(rows=6, cols=30), cursor=Cursor(row=1, col=0, visible=False)),
        Finished(t_us=900_000, exit=ExitStatus(code=3, exited=True, signaled=False)),
    )
    last = events[-1].record
    assert isinstance(last, FinalRecord)
    final = msgspec.structs.replace(
        last, metadata={"case": "x", "n": 2, "none": None}, final_text="all done"
    )
    events[-1] = msgspec.structs.replace(events[-1], record=final)
    manifest = manifest_of(size=Size(rows=4, cols=20))
    return Evidence(manifest, lambda: events, artifacts=["manifest.json"])


def judged(predicate: str, extra: str = "") -> tuple[bool, str]:
    """Whether one predicate passes, and what it says."""
    scenario = parse_scenario(
        f"{PINS}{extra}\ngroups:\n  g:\n    - {predicate}\n".encode(), where="t.yaml"
    )
    outcome = check_scenario(scenario, recording())
    return outcome.passed, "; ".join(check.message for check in outcome.failures)


HOLDS = [
    "{type: frame_contains, text: ready}",
    "{type: frame_contains, text: hello, at_ms: 450}",
    "{type: frame_contains, text: READY, ignore_case: true}",
    "{type: frame_contains, regex: 'r.d one'}",
    "{type: frame_contains, text: hello, row: 1, at_ms: 450}",
    "{type: frame_contains, text: bye, row: -6}",
    "{type: frame_contains, text: red, region: {left: 2, right: 5, bottom: 1}}",
    "{type: frame_contains, text: 'time 01:02:03', normalise: [clock]}",
    "{type: frame_contains, text: hello, exchange: 1, at_ms: 200}",
    "{type: frame_contains, text: nothing, not: true}",
    "{type: frame_never_contains, text: forbidden}",
    "{type: frame_never_contains, text: ready, at_ms: 400}",
    "{type: frame_never_contains, text: bye, within_ms: 500}",
    "{type: frame_eventually_contains, text: bye, within_ms: 5000}",
    "{type: frame_eventually_contains, text: bye}",
    "{type: frame_eventually_contains, text: ready, at_ms: 300, within_ms: 10}",
    "{type: frame_stable_for, text: hello, at_ms: 450, stable_for_ms: 200}",
    "{type: frame_stable_for, at_ms: 450, stable_for_ms: 200}",
    "{type: cursor, at_ms: 450, cursor_row: 0, cursor_col: 2, cursor_visible: true}",
    "{type: cursor, at_ms: 800, cursor_visible: false}",
    "{type: size, at_ms: 450, rows: 4, cols: 20}",
    "{type: size_eventually, rows: 6, cols: 30}",
    "{type: style, at_ms: 450, text: red, fg: 1, bold: true, underline: false}",
    "{type: style, at_ms: 450, text: one, fg: 1, not: true}",
    "{type: alt_screen, at_ms: 450}",
    "{type: alt_screen, at_ms: 150, equals: false}",
    "{type: title, text: now, at_ms: 450}",
    "{type: title, regex: '^st'}",
    "{type: clipboard, text: copied}",
    "{type: link, regex: 'example[.]org'}",
    "{type: raw_output_order}",
    "{type: input_bytes, bytes_hex: '6865'}",
    "{type: input_bytes, bytes_hex: '6865787f6c6c6f0d'}",
    "{type: input_bytes, key: enter}",
    "{type: paste_boundary, bytes_hex: '1b5b3230307e7061737465641b5b3230317e'}",
    "{type: input_text, text: hello}",
    "{type: resize_order, before_kind: output, after_kind: frame}",
    "{type: service_json, json_path: $.type, equals: usage}",
    "{type: service_json, json_path: $.tokens.in, at_least: 6, less_than: 7, not_equals: 5}",
    "{type: service_json, json_path: $.tokens.in, at_most: 6, greater_than: 5, one_of: [6]}",
    "{type: service_json, json_path: '$.list[*]', equals: b}",
    "{type: service_json, json_path: $.list, contains: a}",
    "{type: service_json, json_path: $.type, matches: '^us', contains: sag}",
    "{type: service_json, json_path: $.nothing, exists: false}",
    "{type: service_json, json_path: $.type, exists: true}",
    "{type: final_metadata, metadata_key: case, equals: x, text: done}",
    "{type: final_metadata, metadata_key: nothing, exists: false}",
    "{type: final_metadata, metadata_key: none}",
    "{type: exit_status, exit_code: 3, signaled: false, signal: ''}",
    "{type: timeout_cancel_status, exit_code: 3}",
    "{type: timing_gap, kind: frame, min_ms: 300, max_ms: 300}",
    "{type: timing_gap, kind: service-event}",
    "{type: timing_gap, max_ms: 300}",
]

FAILS = [
    ("{type: frame_contains, text: hello, at_ms: 399}", "'hello' is not there at 399 ms"),
    ("{type: frame_contains, text: ready, at_ms: 50}", "not there"),
    ("{type: frame_contains, text: ready, not: true}", "it holds, and must not"),
    ("{type: frame_contains, text: hello, row: 0, at_ms: 450}", "not there"),
    ("{type: frame_contains, text: hello, row: 9, at_ms: 450}", "not there"),
    ("{type: frame_contains, text: hello, exchange: 9}", "there is no input 9; there are 2"),
    ("{type: frame_never_contains, text: bye}", "there at 700 ms"),
    ("{type: frame_eventually_contains, text: bye, within_ms: 100}", "from 0 to 100 ms"),
    ("{type: frame_stable_for, text: hello, at_ms: 450, stable_for_ms: 400}", "not there all"),
    ("{type: frame_stable_for, at_ms: 450, stable_for_ms: 400}", "the screen changed"),
    ("{type: frame_stable_for, text: bye, at_ms: 800, stable_for_ms: 9000}", "ends at 900 ms"),
    ("{type: frame_stable_for, text: x, at_ms: 0, stable_for_ms: 10}", "no frame at 0 ms"),
    ("{type: frame_stable_for, text: x, at_ms: 0, stable_for_ms: 0}", "must be above 0"),
    ("{type: cursor, at_ms: 450, cursor_row: 1}", "expected row 1"),
    ("{type: cursor, cursor_visible: false}", "there is no frame at 0 ms"),
    ("{type: size, at_ms: 450, rows: 6, cols: 30}", "got 4 rows x 20 columns"),
    ("{type: size_eventually, rows: 6, cols: 30, within_ms: 600}", "did not come"),
    ("{type: style, at_ms: 450, text: red, fg: 2}", "painted otherwise"),
    ("{type: style, at_ms: 450, text: red, bg: 2}", "painted otherwise"),
    ("{type: style, at_ms: 450, text: red, bold: false}", "painted otherwise"),
    ("{type: style, at_ms: 450, text: red, underline: true}", "painted otherwise"),
    ("{type: style, at_ms: 450, text: ''}", "painted otherwise"),
    ("{type: alt_screen, at_ms: 150}", "expected alternate screen True, got False"),
    ("{type: title, text: now, at_ms: 150}", "there was 'start'"),
    ("{type: title, text: now, at_ms: 5}", "there was nothing"),
    ("{type: clipboard, text: other}", "there was 'copied text'"),
    ("{type: link, text: other}", "no link with 'other'"),
    ("{type: input_text, regex: '^x'}", "no input with /^x/"),
    ("{type: input_bytes, bytes_hex: '6868'}", "was not sent"),
    ("{type: input_bytes, key: escape}", "key 'escape' was not sent"),
    ("{type: resize_order, before_kind: service-event}", "no service-event before the resize"),
    ("{type: resize_order, after_kind: nothing}", None),
    ("{type: service_json, json_path: $.ok, equals: 1}", "there was True"),
    ("{type: service_json, json_path: $.type, less_than: 5}", "there was 'usage'"),
    ("{type: service_json, json_path: $.type}", "no service event"),
    ("{type: final_metadata, metadata_key: case, equals: y}", "metadata 'case' is 'x'"),
    ("{type: final_metadata, metadata_key: nothing}", "metadata 'nothing' is None"),
    ("{type: final_metadata, text: nope}", "does not contain 'nope'"),
    ("{type: exit_status, exit_code: 0}", "exit_code is 3, expected 0"),
    ("{type: exit_status, signaled: true}", "signaled is False"),
    ("{type: timing_gap, kind: frame, min_ms: 301}", "a gap of 300 ms is below 301 ms"),
    ("{type: timing_gap, kind: frame, max_ms: 299}", "above 299 ms"),
    ("{type: timing_gap, kind: service-event, max_ms: 1}", "there are 1 events"),
]


@pytest.mark.parametrize("predicate", HOLDS)
def test_a_predicate_holds(predicate: str) -> None:
    """On the recording that it describes."""
    assert judged(predicate) == (True, "")


@pytest.mark.parametrize(("predicate", "message"), [f for f in FAILS if f[1]])
def test_a_predicate_fails_and_says_why(predicate: str, message: str) -> None:
    """Each can fail."""
    passed, said = judged(predicate)

    assert not passed
    assert message in said


def test_every_predicate_fails_without_a_recording_behind_it() -> None:
    """Nothing recorded is no ground for anything; what forbids holds, and order is trivial."""
    empty = Evidence(manifest_of(), list)
    vacuous = {"frame_never_contains", "raw_output_order"}
    scenario = parse_scenario(
        f"{PINS}groups:\n  g:\n".encode()
        + "".join(f"    - {holds}\n" for holds in HOLDS if "not: true" not in holds).encode(),
        where="t",
    )
    for tag, check in zip(
        [re.findall(r"type: (\w+)", holds)[0] for holds in HOLDS if "not: true" not in holds],
        check_scenario(scenario, empty).checks,
        strict=True,
    ):
        assert check.passed is (tag in vacuous), (tag, check)


# Frames made by another emulator have cells and no style runs.
CELLS = frame(0, "hi", cells=[[{"Char": 104, "FG": 1, "BG": 7}, {"Char": 105, "FG": 1, "BG": 7}]])
OTHER_CELLS = frame(0, "ho", cells=[[{"Char": 104}, {"Char": 111}, {"Char": 0}]])
RESIZED = (Output(0, b"x"), Resized(1, Size(rows=2, cols=2)))


@pytest.mark.parametrize(
    ("events", "predicate", "message"),
    [
        (events_of(CELLS), "{type: style, text: hi, fg: 1, bg: 7}", None),
        (events_of(CELLS), "{type: style, text: hi, fg: 2, bg: 7}", "painted otherwise"),
        (events_of(CELLS), "{type: style, text: hi, fg: 1, bg: 8}", "painted otherwise"),
        (events_of(OTHER_CELLS), "{type: style, text: hi}", "painted otherwise"),
        (events_of(Output(0, b"x")), "{type: resize_order, after_kind: final}", "resize"),
        (events_of(*RESIZED), "{type: resize_order, after_kind: output}", "no output behind the"),
        # A reader would refuse it; evidence of another kind may hold it.
        (
            events_of(Output(0, b"x"), Output(1, b"y"))[::-1],
            "{type: raw_output_order}",
            "output 1 is out of order",
        ),
    ],
)
def test_evidence_of_other_kinds(events: list[Event], predicate: str, message: str | None) -> None:
    """Cells instead of styles, no resize or nothing behind it, and disorder."""
    scenario = parse_scenario(f"{PINS}groups: {{g: [{predicate}]}}".encode(), where="t")
    outcome = check_scenario(scenario, Evidence(manifest_of(), lambda: events))

    assert outcome.passed is (message is None)
    assert (message or "") in "".join(check.message for check in outcome.failures)


def test_a_clipboard_that_is_no_base64_is_left_out() -> None:
    """Terminals ignore it as well."""
    events = events_of(Output(0, b"\x1b]52;c;abc\x07" + CLIP))
    evidence = Evidence(manifest_of(), lambda: events)

    assert evidence.clipboard == ["copied text"]


def test_a_draft_of_a_silent_recording_checks_its_end_alone() -> None:
    """No screen, no input, no exit status: the order of output is left."""
    events = events_of(Typed(0, b"***\r", masked=True))
    text = draft_scenario(Evidence(manifest_of(), lambda: events), name="s", cassette_path="c")

    assert yaml.safe_load(text)["groups"] == {"streams": [{"type": "raw_output_order"}]}


def test_the_reference_scenarios_load_and_hold(reference: Path) -> None:
    """``less.yaml`` on a recording that is made to its measure; on another it does not hold."""
    data = (reference / "scenarios" / "less.yaml").read_bytes()
    scenario = parse_scenario(data, where="less.yaml", bound=False)
    events = events_of(
        Output(0, b"x"), frame(10, "less-line-001"), Typed(20_000, b" "),
        frame(900, "less-line-030"), Typed(1_000_000, b"q"),
        Noted(1_100_000, {"type": "tui-conformance", "case": "less"}),
        Finished(t_us=1_200_000, exit=ExitStatus(code=0, exited=True, signaled=False)),
    )  # fmt: skip
    last = events[-1].record
    assert isinstance(last, FinalRecord)
    final = msgspec.structs.replace(last, metadata={"case": "less"})
    events[-1] = msgspec.structs.replace(events[-1], record=final)
    manifest = manifest_of(size=Size(rows=20, cols=72))
    evidence = Evidence(manifest, lambda: events, artifacts=scenario.expected_artifacts)

    assert check_scenario(scenario, evidence).failures == ()
    assert len(check_scenario(scenario, recording()).failures) > 5
    for name in ("top", "vim"):
        other = (reference / "scenarios" / f"{name}.yaml").read_bytes()
        assert not check_scenario(parse_scenario(other, where=name, bound=False), evidence).passed


def _json_path(path: str) -> str:
    return f"{PINS}groups: {{g: [{{type: service_json, json_path: {json.dumps(path)}}}]}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: t\ngroups: {g: [{type: raw_output_order}]}", "cassette_path is missing"),
        (f"{PINS}groups: {{}}", "there is no group"),
        (f"{PINS}groups: {{g: []}}", "group 'g' is empty"),
        (f"{PINS}group: {{}}\ngroups: {{}}", "unknown field `group`"),
        (f"{PINS}groups: {{g: [{{type: nonsense}}]}}", "nonsense"),
        (f"{PINS}groups: {{g: [{{type: size, rows: 1, cols: 2, txt: x}}]}}", "unknown field `txt`"),
        (f"{PINS}groups: {{g: [{{type: frame_contains}}]}}", "give text or regex"),
        (f"{PINS}groups: {{g: [{{type: title, text: a, regex: b}}]}}", "give text or regex"),
        (f"{PINS}groups: {{g: [{{type: frame_contains, text: ''}}]}}", "an empty text"),
        (f"{PINS}groups: {{g: [{{type: frame_contains, regex: '('}}]}}", "regex '('"),
        (f"{PINS}groups: {{g: [{{type: frame_contains, text: a, normalise: [x]}}]}}", "no normal"),
        (
            f"{PINS}groups: {{g: [{{type: frame_contains, text: a, row: 1, region: {{}}}}]}}",
            "row or region",
        ),
        (f"{PINS}groups: {{g: [{{type: input_bytes}}]}}", "give bytes_hex or key"),
        (f"{PINS}groups: {{g: [{{type: input_bytes, bytes_hex: xyz}}]}}", "not hexadecimal"),
        (
            f"{PINS}groups: {{g: [{{type: timing_gap, kind: frames}}]}}",
            "kind 'frames' is not one of",
        ),
        (_json_path("$..[?("), "unexpected end of expression"),
        (_json_path("$[?@.a =~ /(a+)+$/]"), "no regular expressions here; use matches"),
        (_json_path("$[?search(@.a, '(a+)+$')]"), "no regular expressions here; use matches"),
        (_json_path("$..*..*"), "at most one '..'"),
        (_json_path("$" + ".a" * 500), "is longer than 1000 characters"),
        (
            f"{PINS}groups: {{g: [{{type: final_metadata, metadata_key: a, matches: '('}}]}}",
            "matches: regex '(': not a regular expression: missing )",
        ),
        (f"{PINS}replay_mode: fast\ngroups: {{g: [{{type: raw_output_order}}]}}", "replay_mode"),
        (f"{PINS}normalisers: {{clock: {{pattern: x}}}}\ngroups: {{g: []}}", "built in"),
        (f"{PINS}normalisers: {{own: {{pattern: '('}}}}\ngroups: {{g: []}}", "normaliser 'own'"),
        ("a: &x 1\nb: *x", "anchors and aliases"),
        ("a: &x {b: 1}", "anchors and aliases"),
        ("a: {<<: {b: 1}}", "merge keys"),
        ("a: 1\na: 2", "occurs twice"),
        ("1: 2", "is not text"),
        ("a: !!python/name:os.system x", "not YAML"),
        ("a: 1\n---\nb: 2", "not YAML"),
        ("[" + "1," * 10_001 + "1]", "more than 10000 values"),
        ("[" * 65, "nested deeper than 64 levels"),
        ("[1, 2", "not YAML"),
        ("just text", "not a scenario"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused_with_a_reason(text: str, message: str) -> None:
    """The message names the file and what is wrong."""
    with pytest.raises(UsageError) as caught:
        parse_scenario(text.encode(), where="t.yaml")

    assert message in str(caught.value)
    assert "t.yaml" in str(caught.value)


def test_times_of_day_and_endless_digits_are_text() -> None:
    """YAML 1.1 would make numbers of them."""
    data = f"{PINS}groups: {{g: [{{type: frame_contains, text: 12:30}}]}}".encode()

    assert parse_scenario(data, where="t").groups["g"][0].text == "12:30"  # type: ignore[union-attr]


def test_a_file_that_is_too_long_is_refused() -> None:
    """Before it is parsed."""
    with pytest.raises(UsageError, match="longer than"):
        parse_scenario(b"#" * (5 << 20), where="t")


def test_bytes_that_are_no_text_are_refused() -> None:
    """With the same error."""
    with pytest.raises(UsageError, match="not YAML"):
        parse_scenario(b"name: \xff\xfe", where="t")


def test_a_json_file_is_a_scenario_as_well() -> None:
    """JSON is YAML."""
    document = {
        "name": "j", "cassette_path": "c", "expected_manifest_id": fixed_id(),
        "expected_content_digest": "0" * 64, "groups": {"g": [{"type": "raw_output_order"}]},
    }  # fmt: skip

    assert parse_scenario(msgspec.json.encode(document), where="t.json").name == "j"


def test_a_normaliser_of_the_users_is_applied_and_listed() -> None:
    """The report says what was rewritten."""
    extra = 'normalisers: {ready: {pattern: "rea.*", replace: "<r>"}}'
    scenario = parse_scenario(
        f"{PINS}{extra}\ngroups: {{g: [{{type: frame_contains, text: 'reaXX', "
        f"normalise: [ready]}}]}}".encode(),
        where="t",
    )

    outcome = check_scenario(scenario, recording())

    assert outcome.passed
    assert outcome.normalisers == ("ready",)
    assert "normalised before comparing: ready" in "\n".join(outcome_lines(outcome))


@pytest.mark.parametrize(
    ("pattern", "replace", "screen", "normalised"),
    [
        (r"(\w+)-(?P<n>\d+)", r"\g<n>:\1:\g<0>", "build-7", "7:build:build-7"),
        ("(a)|b", r"[\1]", "ab", "[a][]"),
        ("x*", "-", "axb", "-a--b-"),
        ("b", r"\\\tü", "abc", "a\\\tüc"),
    ],
)
def test_a_replacement_has_groups_and_escapes(
    pattern: str, replace: str, screen: str, normalised: str
) -> None:
    """As Python's ``re.sub`` has them."""
    own = Normaliser(pattern=pattern, replace=replace)

    assert normaliser_of(["own"], {"own": own})(screen) == normalised
    assert re.sub(pattern, replace, screen) == normalised


@pytest.mark.parametrize(
    ("screen", "normalised"),
    [
        ("4e180e37-d7a6-4601-907d-45f936bac8a6", "<uuid>"),
        ("1234567d-1234-4601-8123-12345678901d", "<uuid>"),
        ("took 907d, 3-5s, 1m 20s", "took <duration>, 3-<duration>, <duration>"),
    ],
)
@pytest.mark.parametrize("names", [("uuid", "duration"), ("duration", "uuid")])
def test_a_group_of_a_uuid_is_no_duration(
    screen: str, normalised: str, names: tuple[str, ...]
) -> None:
    """In whatever order they are named; one uuid in twenty has such a group."""
    assert normaliser_of(names)(screen) == normalised


@pytest.mark.parametrize("replace", [r"\2", r"\g<no>", r"\q", "a\\", r"\g<", r"\0"])
def test_a_replacement_that_is_none_is_refused(replace: str) -> None:
    """When the file is read."""
    own = {"own": {"pattern": "(a)", "replace": replace}}
    text = json.dumps({"normalisers": own, "name": "t", "groups": {"g": [{"type": "title"}]}})

    with pytest.raises(UsageError, match="normaliser 'own': "):
        parse_scenario(text.encode(), where="t", bound=False)


@pytest.mark.parametrize(
    ("names", "replace"), [(["own"] * 24, r"\g<0>\g<0>"), (["own"], "x" * 5_000_000)]
)
def test_a_normaliser_may_not_fill_the_memory(names: list[str], replace: str) -> None:
    """Neither at once nor one after the other."""
    normalise = normaliser_of(names, {"own": Normaliser(pattern="(?s).+", replace=replace)})

    with pytest.raises(UsageError, match="normaliser 'own' makes the text longer than 4000000"):
        normalise("a")


def test_a_file_with_too_many_patterns_is_refused() -> None:
    """All of them are compiled."""
    many = [{"type": "title", "regex": f".{{900}}{number}"} for number in range(40)]
    text = json.dumps({"name": "t", "groups": {"g": many}})

    with pytest.raises(UsageError, match="compile to more than 200000 instructions"):
        parse_scenario(text.encode(), where="t", bound=False)


def test_pins_that_are_not_met_are_failures() -> None:
    """Each by its name."""
    text = """
name: t
cassette_path: x
expected_manifest_id: other
expected_content_digest: other
required_emulator: {name: xterm, version: "1"}
terminal_size: {rows: 1, cols: 1}
expected_artifacts: [manifest.json, nothing.json]
resolution_ms: 1
groups: {g: [{type: raw_output_order}]}
"""
    evidence = recording()
    timing = msgspec.structs.replace(evidence.manifest.timing, resolution_ms=100)
    evidence.manifest = msgspec.structs.replace(evidence.manifest, timing=timing)

    outcome = check_scenario(parse_scenario(text.encode(), where="t"), evidence)

    assert [check.name for check in outcome.failures] == [
        "expected_manifest_id",
        "expected_content_digest",
        "terminal_size",
        "required_emulator",
        "expected_artifacts",
        "resolution_ms",
    ]


def test_an_emulator_pin_without_a_version_allows_any() -> None:
    """The name alone."""
    scenario = parse_scenario(
        f"{PINS}required_emulator: {{name: none}}\n"
        "groups: {g: [{type: raw_output_order}]}".encode(),
        where="t",
    )

    assert check_scenario(scenario, recording()).passed


def test_a_failure_shows_the_screen_of_that_moment() -> None:
    """With nothing in it that acts on a terminal."""
    scenario = parse_scenario(
        f"{PINS}groups: {{g: [{{name: n, type: frame_contains, text: x, at_ms: 450}}]}}".encode(),
        where="t",
    )
    lines = "\n".join(outcome_lines(check_scenario(scenario, recording())))

    assert "FAILED g/n at 450 ms" in lines
    assert "    | > red one" in lines


def test_a_draft_holds_on_the_recording_it_was_made_from() -> None:
    """And fails on another."""
    evidence = recording()
    text = draft_scenario(evidence, name="first", cassette_path="x.cassette")
    other = Evidence(manifest_of(), lambda: events_of(Output(0, b"other")))
    drafted = parse_scenario(text.encode(), where="draft")

    assert (
        check_scenario(msgspec.structs.replace(drafted, expected_artifacts=()), evidence).failures
        == ()
    )
    assert not check_scenario(drafted, other).passed


def test_repinning_changes_the_pins_alone() -> None:
    """Comments and order stay."""
    text = "# why\nname: t\nexpected_manifest_id: old  # was\nexpected_content_digest: old\n"
    evidence = recording()
    new = repin_scenario(text, evidence)

    assert new.startswith("# why\nname: t\n")
    assert yaml.safe_load(new)["expected_manifest_id"] == fixed_id()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: t\n", "is on 0 lines"),
        (
            "expected_manifest_id: a\nexpected_content_digest: b\nrequired_emulator: {name: x}\n",
            "change it by hand",
        ),
    ],
)
def test_repinning_refuses_what_it_cannot_do(text: str, message: str) -> None:
    """Rather than guess."""
    with pytest.raises(ValueError, match=message):
        repin_scenario(text, recording())


def test_the_schema_describes_every_predicate() -> None:
    """Editors complete and complain by it."""
    schema = scenario_schema()
    scenario = schema["$defs"]["Scenario"]
    pins = {"cassette_path", "expected_manifest_id", "expected_content_digest"}
    assert pins <= set(scenario["required"])
    assert scenario["properties"]["groups"]["minProperties"] == 1
    assert scenario["properties"]["groups"]["additionalProperties"]["minItems"] == 1
    tags = set(re.findall(r"'const': '(\w+)'", str(schema))) | set(
        re.findall(r"'enum': \['(\w+)'\]", str(schema))
    )

    assert {re.findall(r"type: (\w+)", holds)[0] for holds in HOLDS} <= tags
    assert schema["title"] == "ptycassette scenario"


def test_masked_input_is_no_text_that_was_sent() -> None:
    """Its bytes are not what was typed."""
    events = events_of(Typed(0, b"***\r", masked=True))
    scenario = parse_scenario(
        f"{PINS}groups: {{g: [{{type: input_text, text: '*'}}]}}".encode(), where="t"
    )

    assert not check_scenario(scenario, Evidence(manifest_of(), lambda: events)).passed
