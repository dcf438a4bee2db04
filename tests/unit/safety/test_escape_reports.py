"""Every escape vector against what reports are made of: traces of tests, checks, drift."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from markdown_it import MarkdownIt

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import check
from ptycassette.cli._present import error_lines
from ptycassette.errors import CassetteError
from ptycassette.formats.export.registry import export_named
from ptycassette.model.records import FrameRecord, Noted, Output, Typed
from ptycassette.model.screen import Cursor, Size
from ptycassette.pytest_plugin.traces.page import write_trace
from ptycassette.pytest_plugin.traces.trace import trace_object
from ptycassette.replaying.divergence import Side, drift_lines, drift_of_sides
from ptycassette.replaying.scenario.evaluation import check_scenario, outcome_lines, parse_scenario
from ptycassette.replaying.scenario.io import evidence_of
from ptycassette.testing import manifest_of, write_cassette

VECTORS: dict[str, bytes] = runpy.run_path(str(Path(__file__).with_name("escape_vectors.py")))[
    "VECTORS"
]
MARKUP = {
    "fence": "```\n# evil",
    "long fence": "`````` evil",
    "code": "a`b",
    "only ticks": "``",
    "cell": "a|b||",
    "link": "[x](http://evil) ![x](http://evil/i.png) <http://evil>",
    "element": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "script end": "</script><script>alert(1)</script><!--",
    "heading": "\n# evil\n> evil",
    "entity": "&lt;b&gt;&#60;",
    "backslash": "\\`\\|\\",
    "blank": " ",
}
TEXTS = {
    **{name: vector.decode("utf-8", "surrogateescape") for name, vector in VECTORS.items()},
    **MARKUP,
}
HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# What a trace in Markdown is made of; nothing of it loads, links or holds elements.
TOKENS = {
    "heading_open", "heading_close", "inline", "fence", "table_open", "table_close", "thead_open",
    "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close", "th_open", "th_close",
    "td_open", "td_close", "paragraph_open", "paragraph_close", "bullet_list_open",
    "bullet_list_close", "list_item_open", "list_item_close", "text", "code_inline",
}  # fmt: skip

JUNIT = {"testsuites", "testsuite", "testcase", "failure"}


def is_plain(text: str) -> bool:
    """Whether text holds nothing that acts or hides but newlines."""
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None and not HIDDEN.search(text)


def strings(value: Any) -> list[str]:
    """All strings of a tree of JSON, keys included."""
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def recorded(place: Path, text: str) -> Path:
    """A cassette that holds the text wherever it can."""
    clean = text.encode("utf-8", "replace").decode()
    manifest = manifest_of(size=Size(4, 30), argv=("sh", clean))
    harness = msgspec.structs.replace(manifest.harness, name=clean or "sh", binary_version=clean)
    manifest = msgspec.structs.replace(manifest, harness=harness)
    frame = FrameRecord(
        seq=1, t_ms=0, t_us=0, size=Size(4, 30), text=(clean.replace("\n", " "), "```"),
        cursor=Cursor(0, 0, visible=True), title=clean, raw_start=0, raw_end=0, parser_offset=0,
    )  # fmt: skip
    data = text.encode("utf-8", "surrogateescape")
    items = (Output(0, b"a" + data), frame, Typed(1000, data, key=clean), Noted(2000, {"a": clean}))
    write_cassette(place, *items, manifest=manifest)
    return place


def traced(place: Path, text: str) -> Path:
    """A trace that holds the text wherever it can."""
    said = {"text": text, "bytes": ""}
    run = {
        "cassette": str(recorded(place / "c", text)),
        "action": "replay",
        "divergences": [
            {
                "kind": text,
                "seq": 1,
                "t_ms": 1,
                "message": text,
                "expected": said,
                "got": said,
                "screen": [text, "```", text],
                "hint": text,
            }
        ],
        "unplayed": [],
        "notes": [text],
    }
    missing = {**run, "cassette": str(place / text.replace("\x00", "").replace("/", "_")[:80])}
    return write_trace(place / "t", trace_object(text, "failed", f"{text}\n{text}", [run, missing]))


class Elements(HTMLParser):
    """The elements and attributes of a page, and its script."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        """Text."""
        if self.lasttag == "script":
            self.script = self.script or data


PAGE_ELEMENTS = frozenset({
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "span",
    "section", "pre", "details", "summary", "small", "table", "tr", "th", "td", "div",
    "p", "code", "del", "ins", "figure", "figcaption", "i", "b", "button", "input",
    "script",
})  # fmt: skip
PAGE_ATTRIBUTES = frozenset({
    "lang", "charset", "http-equiv", "content", "name", "class", "open",
    "title", "rowspan", "data-frame", "data-shot", "type", "min", "max", "value",
    "hidden", "aria-label",
})  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_trace_shows_text_and_nothing_else(name: str, tmp_path: Path) -> None:
    """As a page, as Markdown and as JSON; whatever a test, a recording or a driver is called."""
    page = traced(tmp_path, TEXTS[name])
    text = page.read_text("utf-8")
    elements = Elements()
    elements.feed(text)
    digest = base64.b64encode(hashlib.sha256(elements.script.encode()).digest()).decode()

    assert is_plain(text)
    assert elements.names <= PAGE_ELEMENTS
    assert elements.attributes <= PAGE_ATTRIBUTES
    assert text.count("<script>") == 1
    assert "evil" not in elements.script
    assert "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" in text
    assert f"script-src 'sha256-{digest}'; require-trusted-types-for 'script'\">" in text
    assert all(
        " " <= char <= "~" or char == "\n" for char in page.with_name("trace.json").read_text()
    )


PLAYED_ELEMENTS = PAGE_ELEMENTS - {"h3", "table", "tr", "th", "td", "del", "ins", "i"} | {
    "header", "nav", "ol", "li", "a", "time", "dl", "dt", "dd", "svg", "select", "option", "label",
    "output", "form",
}  # fmt: skip
PLAYED_ATTRIBUTES = frozenset({
    "lang", "charset", "http-equiv", "content", "name", "class", "open", "id", "href", "type",
    "hidden", "tabindex", "role", "title", "min", "value", "step", "selected", "checked",
    "placeholder", "autocomplete", "spellcheck", "preserveaspectratio", "data-do", "data-t",
    "data-end", "data-idle", "aria-label", "aria-hidden", "aria-live", "aria-pressed",
    "aria-expanded",
})  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_page_that_plays_shows_text_and_nothing_else(name: str, tmp_path: Path) -> None:
    """Whatever was printed, typed, noted, or is a title; also in what the script reads."""
    text = TEXTS[name]
    report = {
        "cassette_id": "00000000-0000-4000-8000-000000000001",
        "divergences": [{"kind": text, "message": text, "seq": 1, "t_ms": 1, "hint": text}],
    }
    with open_cassette(recorded(tmp_path / "c", text)) as source:
        options = {"title": text, "report": [report]}
        page = b"".join(export_named("html").recording(source, **options)).decode()
    elements = Elements()
    elements.feed(page)
    data = re.findall('<script type="application/json" class="film">(.*?)</script>', page)

    assert is_plain(page)
    assert elements.names <= PLAYED_ELEMENTS
    assert elements.attributes <= PLAYED_ATTRIBUTES
    assert len(data) == page.count("<script") - 1 == 1
    assert not re.search("[<>&]", data[0])
    assert all(is_plain(one) for one in strings(json.loads(data[0])))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_trace_in_markdown_holds_no_markup_of_others(name: str, tmp_path: Path) -> None:
    """No link, image, element or heading; a row of backticks ends no block."""
    page = traced(tmp_path, TEXTS[name])
    text = page.with_name("trace.md").read_text("utf-8")
    runs = json.loads(page.with_name("trace.json").read_text())["runs"]
    inputs = sum(len(one["inputs"]) for run in runs for one in run["recordings"])
    tables = sum(len(run["recordings"]) for run in runs)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inside = [child for token in tokens for child in token.children or []]

    assert is_plain(text)
    assert {token.type for token in (*tokens, *inside)} <= TOKENS
    assert sum(token.type == "heading_open" for token in tokens) == 3
    assert sum(token.type == "tr_open" for token in tokens) == tables + inputs


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_recording_in_markdown_holds_no_markup_of_others(name: str, tmp_path: Path) -> None:
    """One heading, our folds, lists and fences; no link, image or element."""
    with open_cassette(recorded(tmp_path / "c", TEXTS[name])) as source:
        made = b"".join(export_named("markdown").recording(source, title=TEXTS[name])).decode()
    tokens = MarkdownIt("commonmark").parse(made)
    inside = [child for token in tokens for child in token.children or []]
    html = "".join(token.content for token in tokens if token.type == "html_block")

    assert is_plain(made)
    assert {token.type for token in (*tokens, *inside)} <= TOKENS | {"html_block", "softbreak"}
    assert sum(token.type == "heading_open" for token in tokens) == 1
    assert set(re.findall("<[^>]*>", html)) <= {
        f"<{end}{one}>" for one in ("details", "summary", "code") for end in ("", "/")
    }
    assert html.count("<details>") == html.count("</details>") >= 1


def scenario(text: str) -> bytes:
    """One that holds the text wherever it may, and that no recording fulfils."""
    predicates: list[dict[str, Any]] = [
        {"type": "frame_contains", "text": f"{text}!"},
        {"type": "frame_eventually_contains", "text": f"{text}!", "name": text},
        {"type": "style", "text": f"{text}!", "fg": 1},
        {"type": "title", "text": f"{text}!"},
        {"type": "input_text", "text": f"{text}!"},
        {"type": "input_bytes", "key": f"{text}!"},
        {"type": "clipboard", "text": f"{text}!"},
        {"type": "link", "text": f"{text}!"},
        {"type": "service_json", "json_path": "$.a", "equals": f"{text}!"},
        {"type": "final_metadata", "metadata_key": text or "x", "equals": f"{text}!"},
        {"type": "exit_status", "signal": f"{text}!"},
    ]
    return json.dumps(
        {
            "name": text,
            "cassette_path": text.replace("\0", ""),
            "expected_manifest_id": f"x{text}",
            "expected_content_digest": "0" * 64,
            "normalisers": {f"n{text}": {"pattern": "x", "replace": text}},
            "groups": {f"g{text}": predicates},
        }
    ).encode()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_check_shows_scenario_and_recording_escaped(name: str, tmp_path: Path) -> None:
    """As lines, as JUnit, as JSON, or as the error of a scenario that cannot be read."""
    text = TEXTS[name].encode("utf-8", "replace").decode()
    evidence = evidence_of(recorded(tmp_path / "c", text))
    try:
        outcome = check_scenario(parse_scenario(scenario(text), where=text), evidence)
    except CassetteError as exc:
        lines = list(error_lines(exc))
    else:
        lines = list(outcome_lines(outcome))
        page = check._junit([outcome]).decode("utf-8")
        shown = json.dumps(check._object([outcome]))
        assert not outcome.passed
        assert is_plain(page)
        assert {element.tag for element in ET.fromstring(page).iter()} <= JUNIT
        assert all(" " <= char <= "~" for char in shown)

    assert lines
    assert [ascii(line) for line in lines if not is_plain(line) or "\n" in line] == []


@pytest.mark.parametrize(
    "form",
    [
        "name: {0}",
        "{0}: 1",
        "groups: {{g: [{{type: {0}}}]}}",
        "groups: {{g: [{{type: frame_contains, regex: {0}}}]}}",
        "groups: {{g: [{{type: frame_contains, text: x, {0}: 1}}]}}",
        "normalisers: {{{0}: {{pattern: '(', replace: x}}}}",
        "replay_mode: {0}",
        "a: *{0}",
    ],
)
def test_the_error_of_a_hostile_scenario_is_escaped(form: str) -> None:
    """Whatever cannot be read of it."""
    wrong = []
    for raw in TEXTS.values():
        text = raw.encode("utf-8", "replace").decode()
        with pytest.raises(CassetteError) as caught:
            parse_scenario(form.format(json.dumps(text)).encode(), where=text)
        lines = list(error_lines(caught.value))
        wrong += [ascii(line) for line in lines if not is_plain(line) or "\n" in line]
        wrong += [] if is_plain(str(caught.value)) else [ascii(str(caught.value))]

    assert wrong == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_drift_shows_what_changed_escaped(name: str, tmp_path: Path) -> None:
    """Typed text, output and screens of both recordings."""
    lines: list[str] = []
    write_cassette(tmp_path / "old", Output(0, b"old"), Typed(1, b"x"), Output(2, b"y"))
    with (
        open_cassette(recorded(tmp_path / "new", TEXTS[name])) as new,
        open_cassette(tmp_path / "old") as old,
    ):
        sides = [Side(one.manifest, list(one.events())) for one in (old, new)]
        lines += drift_lines(drift_of_sides(*sides))
        lines += drift_lines(drift_of_sides(*reversed(sides)))

    assert lines
    assert [ascii(line) for line in lines if not is_plain(line) or "\n" in line] == []
