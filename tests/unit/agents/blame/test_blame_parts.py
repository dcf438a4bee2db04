"""The pure parts of a blame: statistics, what is done to steps, the course of runs, labels."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.agents.blame.meter import Meter, share
from ptycassette.agents.blame.oracle import Oracle
from ptycassette.agents.blame.report import (
    SESSIONS,
    BlameReport,
    Count,
    Judged,
    JudgedStep,
    Tally,
    blame_json,
    blame_lines,
    difference,
    false_discovery,
    fisher,
    judged,
    validated,
    validation_lines,
    wilson,
)
from ptycassette.agents.blame.steps import (
    INTERVENTIONS,
    Cell,
    Experiment,
    Ran,
    Step,
    Trial,
    cells_of,
    course,
    crash,
)
from ptycassette.agents.fork.places import ForkPlace
from ptycassette.cli.blame import blame_page
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.model.records import ExitStatus
from ptycassette.tape.consent.terms import Limit

World = Callable[[Trial], Ran]

# As statsmodels 0.15.0 computed them (proportion_confint with wilson, confint_proportions_2indep
# with newcomb, multipletests with fdr_bh), and scipy 1.17.1 (fisher_exact).
WILSON = [
    (0, 1, 0.0, 0.7934506856227627),
    (1, 1, 0.2065493143772374, 1.0),
    (0, 3, 0.0, 0.5614970317550455),
    (7, 10, 0.39677814746114537, 0.8922087325936989),
    (2, 16, 0.03497748774324044, 0.36022827265758695),
    (1, 57, 0.0031036646514081, 0.09290749178567687),
    (20, 20, 0.8388748419471804, 1.0),
]
NEWCOMBE = [
    (7, 10, 3, 20, 0.18092061762286982, 0.7655830667356636),
    (3, 3, 0, 3, 0.2059232824597782, 1.0),
    (1, 1, 0, 3, 0.027969698422441902, 1.0),
    (0, 1, 0, 3, -0.5614970317550455, 0.7934506856227627),
    (56, 70, 48, 80, 0.05243147240236498, 0.33387265403690614),  # Newcombe 1998, table II (a)
]
FISHER = [
    (7, 10, 3, 20, 0.0048444309313874535),
    (10, 10, 1, 20, 3.6611730764654297e-07),
    (2, 8, 3, 16, 1.0),
    (0, 10, 0, 20, 1.0),
    (8, 8, 0, 8, 0.0001554001554001554),
]


def test_statistics_are_those_of_statsmodels_and_scipy() -> None:
    """As these libraries computed them."""
    for count, total, low, high in WILSON:
        assert wilson(count, total) == pytest.approx((low, high))
    for count, total, control, controls, low, high in NEWCOMBE:
        assert difference(count, total, control, controls) == pytest.approx((low, high))
    for count, total, control, controls, p in FISHER:
        assert fisher(count, total, control, controls) == pytest.approx(p)
    assert false_discovery([0.01, 0.04, 0.03, 0.005, 0.8]) == pytest.approx(
        [0.025, 0.05, 0.05, 0.025, 0.8]
    )
    assert (wilson(0, 0), difference(0, 0, 1, 1), fisher(0, 0, 3, 5)) == ((0, 1), (-1, 1), 1)


STEPS = [
    Step(at=ForkPlace("exchange", 1), what="types Hello", text="Hello"),
    Step(at=ForkPlace("tape", 1), what="asks", route="POST /a"),
    Step(at=ForkPlace("tape", 2), what="asks", route="POST /b", tells_result=True),
    Step(at=ForkPlace("exchange", 2), what="types \\e", text=""),
    Step(at=ForkPlace("tape", 3), what="asks", route="POST /a"),
    Step(at=ForkPlace("exchange", 3), what="types Bye", text="Bye"),
]


@pytest.mark.parametrize(
    ("intervention", "reads", "expected"),
    [
        (
            "neutral",
            False,
            ["input=OK.", "response=OK.", "response=OK.", "response=OK.", "input=OK."],
        ),
        ("drop", False, ["skip", "fault=empty", "fault=empty", "skip", "fault=empty", "skip"]),
        ("swap", False, ["input=Bye", "swap=tape:3", "swap=tape:1", "input=Hello"]),
        ("tool-result", True, ["tool-result=OK."]),
        ("tool-result", False, []),
    ],
)
def test_what_is_done_to_a_step_fits_it(
    intervention: Any, reads: bool, expected: list[str]
) -> None:
    """Nothing is typed in place of keys, and no answer is swapped for one of another API."""
    cells = cells_of(STEPS, (intervention,), neutral="OK.", reads=reads)
    assert [str(cell.change) for cell in cells] == expected
    assert {cell.control.kind for cell in cells} <= {"ask" if reads else "none"}


def blamed(world: World, budget: int = 500, **terms: Any) -> tuple[Experiment, Meter]:
    """The experiment of a course in a made-up world, under a budget."""
    cells = cells_of(STEPS, ("neutral", "drop"), neutral="OK.", reads=False)
    experiment = Experiment(cells, recorded="good", **{"pooled": True, **terms})
    meter, runs = Meter(budget), course(experiment)
    try:
        batch = next(runs)
        while True:
            batch = runs.send({trial: world(trial) for trial in batch if meter.take()})
    except StopIteration:
        return experiment, meter


def labels(experiment: Experiment) -> dict[str, str]:
    """What is said of each step."""
    return {step.at: step.label for step in judged(experiment)}


def planted(*causes: str) -> World:
    """A deterministic world with these causes."""

    def world(trial: Trial) -> Ran:
        changed = trial.name != "control-none"
        return Ran(value="bad" if changed and str(trial.at) in causes else "good")

    return world


@given(st.sets(st.sampled_from([str(step.at) for step in STEPS])))
def test_a_deterministic_run_needs_one_run_for_each_intervention(causes: set[str]) -> None:
    """Exactly the planted causes are found, whatever they are; only flips are repeated."""
    experiment, meter = blamed(planted(*causes))

    expected = {str(one.at): "cause" if str(one.at) in causes else "no effect" for one in STEPS}
    assert labels(experiment) == expected
    assert not experiment.random
    flips = sum(str(cell.at) in causes for cell in experiment.cells)
    assert meter.used == 3 + len(experiment.cells) + 2 * flips


@given(st.integers(0, 400), st.integers(0, 1 << 30), st.sampled_from([0.0, 0.1, 0.5]))
def test_a_budget_is_never_exceeded(budget: int, seed: int, noise: float) -> None:
    """Not by one run; and what was not run is not blamed, nor cleared."""
    source, made = random.Random(seed), []

    def world(trial: Trial) -> Ran:
        made.append(trial)
        if source.random() < 0.1:
            return Ran(undefined="prefix")
        return Ran(value="bad" if source.random() < noise else "good")

    try:
        experiment, meter = blamed(world, budget)
    except DivergenceError:
        assert len(made) <= budget
        return
    assert len(made) == meter.used <= budget
    for step in judged(experiment):
        for one in step.interventions:
            assert (one.label == "not run") == (one.runs.total + one.runs.undefined == 0)


@pytest.mark.parametrize("why", ["prefix", "time", "crash", "unanswered", "oracle", "unpublished"])
def test_what_is_undefined_is_no_flip_and_no_clearance(why: Any) -> None:
    """A step of which no run counts is undefined; in a random run some make it unclear."""

    def world(trial: Trial) -> Ran:
        if str(trial.at) == "tape:2" and trial.name != "control-none":
            return Ran(undefined=why)
        return planted()(trial)

    assert labels(blamed(world)[0])["tape:2"] == "undefined"

    def partly(trial: Trial) -> Ran:
        return world(trial) if trial.number > 5 else Ran(value="good")

    experiment, _ = blamed(partly, random=True)
    assert labels(experiment)["tape:2"] == "unclear"
    assert labels(experiment)["tape:1"] == "no effect"


def test_a_flip_that_does_not_repeat_shows_a_random_run() -> None:
    """The unmodified run says nothing of a modified one; then all is run as often as it takes."""

    def world(trial: Trial) -> Ran:
        changed = trial.name != "control-none" and str(trial.at) == "tape:1"
        return Ran(value="bad" if changed and trial.number == 1 else "good")

    experiment, meter = blamed(world)
    assert experiment.random
    assert "cause" not in labels(experiment).values()
    assert meter.used == 20 + 10 * len(experiment.cells)


def test_a_label_is_of_the_interval_and_not_of_the_rate() -> None:
    """One flip against one control that did not: the budget ended before it was repeated."""
    experiment, meter = blamed(planted("tape:2"), 18, pooled=False)
    found = {step.at: step.interventions[0] for step in judged(experiment)}

    assert (meter.used, meter.refused) == (18, 4 + 1)
    assert (found["tape:2"].runs.flips, found["tape:2"].control.flips) == (1, 0)
    assert found["tape:2"].label == "unclear"
    assert labels(blamed(planted("tape:2"), pooled=False)[0])["tape:2"] == "cause"


def test_what_may_be_the_machine_is_tried_once_more() -> None:
    """A prefix that differs can be that of a busy machine; a crash is a crash."""
    tried: set[Trial] = set()

    def world(trial: Trial) -> Ran:
        if trial in tried:
            return planted("tape:1")(trial)
        tried.add(trial)
        return Ran(undefined="prefix")

    experiment, meter = blamed(world)
    assert labels(experiment)["tape:1"] == "cause"
    assert meter.used == 2 * (3 + len(experiment.cells) + 2 * 2)
    assert all(ran.retried for cell in experiment.cells for ran in experiment.of(cell))


def test_what_is_never_a_cause_is_seldom_blamed_and_causes_are_found() -> None:
    """Of 200 random sessions whose end nothing causes fewer than one in ten blames any step.

    In 100 with a cause that flips 95 of 100 runs, and 5 of 100 without it, all but a few find it.
    """
    source = random.Random(1)

    def coin(_: Trial) -> Ran:
        return Ran(value="bad" if source.random() < 0.5 else "good")

    def noisy(trial: Trial) -> Ran:
        is_cause = str(trial.at) == "tape:2" and trial.name != "control-none"
        return Ran(value="bad" if is_cause is (source.random() >= 0.05) else "good")

    wrong = sum("cause" in labels(blamed(coin, random=True)[0]).values() for _ in range(200))
    found = [labels(blamed(noisy, random=True)[0]) for _ in range(100)]
    others = sum(one.pop("tape:2") == "cause" for one in found)
    assert wrong < 20
    assert others >= 97
    assert sum("cause" in one.values() for one in found) < 10


def test_the_unmodified_run_must_be_the_recorded_one() -> None:
    """Nothing can be blamed where it has another outcome, or none."""
    with pytest.raises(DivergenceError, match="another outcome: bad; recorded is good"):
        blamed(lambda _: Ran(value="bad"))
    with pytest.raises(DivergenceError, match="cannot be repeated: the program crashed: signal 9"):
        blamed(lambda _: Ran(undefined="crash", detail="signal 9"))


@pytest.mark.parametrize(
    ("code", "signal", "rows", "expected"),
    [
        (0, "", [], None),
        (1, "", ["no such note"], None),
        (1, "", ["OK.Traceback (most recent call last):", "KeyError"], "status 1 below"),
        (0, "", ["Traceback (most recent call last):"], None),  # of a tool: the agent went on
        (134, "", [], "status 134"),
        (101, "", ["thread 'main' (12) panicked at src/main.rs:2:5:"], "status 101 below"),
        (-1, "segmentation fault", [], "signal segmentation fault"),
    ],
)
def test_a_crash_is_no_outcome(
    code: int, signal: str, rows: list[str], expected: str | None
) -> None:
    """Unless the recorded run ended in the same way."""
    ended = ExitStatus(code=code, signal=signal, exited=not signal, signaled=bool(signal))
    found = crash(ended, rows, None)
    assert (found or "").startswith(expected or "")
    assert (found is None) is (expected is None)
    assert crash(ended, rows, ended) is None


@pytest.mark.parametrize("text", ["", "exit:", "exit:1", "text:", "text", "guess:x", "command:'a"])
def test_no_oracle(text: str) -> None:
    """What cannot be asked is refused."""
    with pytest.raises(UsageError):
        Oracle.parse(text)


def test_a_share_of_a_limit() -> None:
    """All runs together stay below it; there is one."""
    assert share(Limit(requests=25, usd=1.0), 10) == Limit(requests=2, usd=0.1)
    for limit in (Limit(), Limit(requests=9), Limit(tokens=9)):
        with pytest.raises(UsageError):
            share(limit, 10)


def report_of(experiment: Experiment, **more: Any) -> BlameReport:
    """A report of an experiment."""
    steps = tuple(judged(experiment))
    return BlameReport(
        cassette="a",
        oracle="exit",
        outcome="good",
        tail="held",
        neutral="OK.",
        deterministic=not experiment.random,
        control=Count.of(experiment.checks(), "good"),
        budget=100,
        steps=steps,
        texts=("types",) * len(steps),
        **more,
    )


def test_a_report_says_what_it_cannot_say() -> None:
    """That it is interventional, and everything of which nothing is known."""

    def world(trial: Trial) -> Ran:
        if trial.name == "drop" and str(trial.at) in {"tape:1", "exchange:2"}:
            return Ran(undefined="time", detail="it was \x1b[31mended")
        return planted("tape:2")(trial)

    report = report_of(blamed(world)[0])
    text = "\n".join(blame_lines(report))
    for said in (
        "cause      tape:2",
        "no effect  exchange:1",
        "interventional",
        "two changes together",
        "held as recorded",
        "undefined: exchange:2",
        "nothing is known of drop at tape:1",
        "1 NO_FLIP [0.00, 0.79], unmodified 0 of 3; difference [-0.56, 0.79]",
    ):
        assert said in text
    assert "\x1b" not in text
    made = blame_json(report)
    assert (made["causes"], made["interventional"]) == (["tape:2"], True)
    assert made["steps"][0]["what"] == "types"


@pytest.mark.parametrize(
    ("broken", "passes"),
    [("", True), ("missed", False), ("blamed", False), ("control", False)],
)
def test_a_validation_fails_if_anything_is_wrong(broken: str, passes: bool) -> None:
    """One missed cause, one blamed decoy, or a negative control above its bound."""
    pairs = []
    for session in SESSIONS:
        steps = [msgspec.structs.replace(STEPS[0], at=ForkPlace.parse(at)) for at in session.steps]
        cells = cells_of(steps, session.interventions, neutral="OK.", reads=False)
        causes = set(session.causes)
        first = session is SESSIONS[0]
        if broken == "missed" and first:
            causes.pop()
        if broken == "blamed" and first:
            causes.add("tape:2")
        if broken == "control" and not session.causes:
            causes.update(session.steps[:2])
        experiment = Experiment(cells, recorded="good", pooled=True)
        for cell in cells:
            control = Trial(at=cell.at, name="control-none", change=cell.control, number=1)
            sham = cell.intervention == "sham"
            value = "bad" if str(cell.at) in causes and not sham else "good"
            for _ in range(3):
                experiment.note(control, Ran(value="good"))
                experiment.note(_trial(cell), Ran(value=value))
        report = report_of(experiment, shams=tuple(judged(experiment, shams=True)))
        pairs.append((session, report))
    result = validated(pairs, seconds=1.0)

    assert result.passed is passes
    assert (result.causes.total, result.decoys.total) == (20, 37)
    assert list(validation_lines(result))[-1] == ("passed" if passes else "FAILED")


def _trial(cell: Cell) -> Trial:
    return Trial(at=cell.at, name=cell.intervention, change=cell.change, number=1)


def test_a_tally_has_an_interval() -> None:
    """None of 57 is below a tenth; so is one, and two of 50 are not."""
    assert Tally.of([False] * 57).interval[1] < 0.1
    assert Tally.of([True, *[False] * 56]).interval[1] < 0.1
    assert Tally.of([True, True, *[False] * 48]).interval[1] > 0.1


def test_every_intervention_is_described() -> None:
    """In the order in which they are made."""
    assert list(INTERVENTIONS) == ["neutral", "drop", "tool-result", "swap"]


def test_a_tool_call_is_a_step_with_results_in_place_of_its_own() -> None:
    """The neutral text, nothing, and the result of the next call of the same tool."""
    steps = [
        Step(at=ForkPlace("tool", 1), what="calls look", text="red", route="look"),
        Step(at=ForkPlace("tool", 2), what="calls count", text="7", route="count"),
        Step(at=ForkPlace("tool", 3), what="calls look", text="green", route="look"),
    ]
    names = ("neutral", "drop", "tool-result", "swap")
    cells = cells_of(steps, names, neutral="red", reads=True)

    assert [(cell.intervention, str(cell.at), str(cell.change)) for cell in cells] == [
        ("neutral", "tool:2", "tool-result=red"),
        ("neutral", "tool:3", "tool-result=red"),
        ("drop", "tool:1", "tool-result"),
        ("drop", "tool:2", "tool-result"),
        ("drop", "tool:3", "tool-result"),
        ("swap", "tool:1", "tool-result=green"),
        ("swap", "tool:3", "tool-result=red"),
    ]
    assert {str(cell.control) for cell in cells} == {"none"}


def test_the_page_has_steps_intervals_and_controls_and_runs_nothing() -> None:
    """What programs said stays text; the page loads nothing, and no attribute styles."""
    hostile = "</td><script>alert(1)</script>\x1b]0;x\x07"
    counts = Count.of([Ran(value="b")] * 3, "a"), Count.of([Ran(value="a")] * 3, "a")
    seen = Judged(
        intervention="neutral", change=f"response={hostile}", label="cause", runs=counts[0],
        control=counts[1], difference=difference(3, 3, 0, 3), reasons=(hostile,),
    )  # fmt: skip
    nothing = msgspec.structs.replace(seen, label="undefined", runs=Count(flips=0, no_flips=0))
    step = JudgedStep(at="tool:1", label="cause", q=None, interventions=(seen, nothing))
    sham = JudgedStep(at="tape:1", label="no effect", q=0.5, interventions=(seen,))
    report = BlameReport(
        cassette=f"dir/{hostile}", oracle="exit", outcome=hostile, tail="held", neutral="OK.",
        deterministic=True, control=counts[1], budget=9, runs=7, stopped=2, steps=(step,),
        texts=(hostile,), shams=(sham,),
    )  # fmt: skip
    page = b"".join(blame_page(report, "runs")).decode()
    said = re.sub("<style>.*?</style>", "", page, flags=re.DOTALL)

    assert "<script" not in said
    assert "\x1b" not in page
    assert " style=" not in said
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert not re.findall("https?:", page)
    assert "prefers-color-scheme:dark" in page
    assert page.count("<svg") == 2  # none where no run counts
    assert "[0.21, 1.00]" in page
    for text in ("tool:1", "Controls", "tape:1", "3 of 3", "0 of 3", "2 more", "interventional"):
        assert text in said
