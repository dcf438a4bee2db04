"""What reruns showed, for CI and for a browser."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from ptycassette import open_cassette
from ptycassette.agents.rerun.report import RequestMiss, RerunReport, ScreenChange
from ptycassette.agents.rerun.script import script_of
from ptycassette.cli.rerun import rerun_html, rerun_junit
from ptycassette.model.records import ExitStatus

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"

WELL = RerunReport(argv=("agent",), guard="none", entries=1, matched=1)
BADLY = RerunReport(
    argv=("agent",),
    guard="none",
    entries=2,
    matched=1,
    misses=(
        RequestMiss(
            method="POST",
            target="/v1/<script>alert(1)</script>",
            nearest=2,
            differences=("messages[3].content: recorded buy milk, now buy silk",),
            message="",
        ),
    ),
    unasked=(2,),
    screens=3,
    changes=(ScreenChange(number=4, expected=("one", "two\x1b[31m"), got=("one", "three")),),
    expected_exit=ExitStatus(code=0, exited=True, signaled=False),
)


def test_junit_has_a_case_for_each_thing_that_is_compared() -> None:
    """And a suite for each cassette."""
    root = ET.fromstring(rerun_junit([("a.cassette", WELL), ("b.cassette", BADLY)]))

    suites = {suite.get("name"): suite for suite in root}
    assert {name: suite.get("failures") for name, suite in suites.items()} == {
        "a.cassette": "0",
        "b.cassette": "3",
    }
    failed = {
        case.get("name"): (case[0].get("message"), case[0].text)
        for case in suites["b.cassette"]
        if len(case)
    }
    assert sorted(failed) == ["exit", "requests", "screens"]
    assert "messages[3].content: recorded buy milk, now buy silk" in str(failed["requests"])
    assert "entry 2 of the tape was never asked for" in str(failed["requests"])
    assert "\x1b" not in str(failed)


def test_the_page_has_what_differs_at_its_moment() -> None:
    """On the bar and beside the screen: before its input, at its entry, or at the end."""
    path = FIXTURES / "tapes" / "codex-tape"
    with open_cassette(path) as cassette:
        step = script_of(cassette.events()).steps[1]
        asked = next(one.entry for one in cassette.tape() if one.entry.entry == 2)
        end_ms = cassette.final.t_ms
    report = msgspec.structs.replace(
        BADLY, changes=(msgspec.structs.replace(BADLY.changes[0], number=step.number),)
    )
    page = b"".join(rerun_html([(str(path), report)])).decode()
    marked = re.findall('<a class="divergence"[^>]*data-t="([0-9]+)">.*?<b>([a-z ]+)</b>', page)

    assert [(int(t_ms), check) for t_ms, check in marked] == [
        (asked.t_us // 1000, "requests"),
        (asked.t_us // 1000, "requests"),
        (step.t_us // 1000, "screens"),
        (end_ms, "exit"),
    ]
    assert "<summary>now</summary><pre>one\nthree</pre>" in page


def test_the_page_shows_both_sides_and_runs_nothing() -> None:
    """What programs said stays text; the page may load nothing."""
    page = b"".join(rerun_html([("a.cassette", WELL), ("b.cassette", BADLY)])).decode()
    ours = "".join(re.findall("<(?:style|script)>.*?</(?:style|script)>", page, re.DOTALL))
    said = page.replace(ours[ours.index("<script>") :], "")

    assert "2 reruns, 1 with differences" in page
    assert "<del>two" in page
    assert "<ins>three</ins>" in page
    assert "one\n<del>" in page
    assert "<script" not in said
    assert '<a href="#r1">b.cassette</a>' in page
    assert "there is no cassette" in page
    assert "\x1b" not in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert "http" not in said.replace("http-equiv", "")
