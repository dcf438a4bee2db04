"""The JSON objects of the command line: as documented, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from ptycassette.agents.fork.report import ForkRecord, ForkReport
from ptycassette.agents.harness.probe import ProbeResult
from ptycassette.agents.harness.surroundings import DriftCause
from ptycassette.cassette.io.migrating import Migrated
from ptycassette.cli import _reports as reports
from ptycassette.cli import _seals, doctor
from ptycassette.cli._promoted_tests import PromotedTest
from ptycassette.cli.entry import COMMANDS, cli
from ptycassette.cli.fake_provider import _say_where
from ptycassette.formats.importing.io.importer import Imported
from ptycassette.formats.importing.io.scripts import ImportedSteps
from ptycassette.formats.importing.io.session_logs import LogAdded
from ptycassette.model.records import Output
from ptycassette.recording.io.finalising import LeftJournal, Recovered
from ptycassette.replaying.divergence import Divergence, DivergenceSide, Nearest
from ptycassette.replaying.standin.comparison import StandinReport, report_object
from ptycassette.testing import write_cassette

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "json.md"
STRUCTS = {
    name: struct
    for name, struct in (
        *((name, getattr(reports, name)) for name in reports.__all__),
        *(
            (name, found)
            for module in (_seals, doctor)
            for name, found in vars(module).items()
            if getattr(found, "__module__", "") == module.__name__
        ),
        ("DriftCause", DriftCause),
        ("ForkReport", ForkReport),
        ("ForkRecord", ForkRecord),
        ("Imported", Imported),
        ("LogAdded", LogAdded),
        ("ImportedSteps", ImportedSteps),
        ("Migrated", Migrated),
        ("PromotedTest", PromotedTest),
    )
    if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
}
# Objects that are printed without a struct of their own in ``ptycassette/cli``.
PRINTED = {
    "BlameReport", "Count", "JudgedStep", "ValidationReport",
    "Descent", "Fault", "FaultResult",
    "Review", "RerunReport", "RequestMiss", "ScreenChange", "VersionChange",
    "CheckReport", "ScenarioReport", "CheckLine",
    "StandinReport", "DriftPicture", "Divergence", "DivergenceSide", "Nearest", "Unplayed",
    "ScrubbedReport", "Replacement", "VerifyScrubReport", "ScrubbedCassette",
    "JournalsReport", "Journal", "RecoverReport", "RecoveredJournal", "FailedJournal",
    "ProbeReport", "ProviderAddresses",
}  # fmt: skip


def _documented() -> dict[str, list[str]]:
    """Names of objects and their fields, in the order of the page."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^### ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0].strip()
        found[name] = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    return found


def test_every_object_is_documented() -> None:
    """And nothing is that does not exist."""
    assert set(_documented()) == set(STRUCTS) | PRINTED


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_every_field_is_documented_in_order(name: str) -> None:
    """With its name in JSON."""
    fields = [field.encode_name for field in msgspec.structs.fields(STRUCTS[name])]

    assert _documented()[name] == fields


def test_every_command_with_json_has_its_section() -> None:
    """A new one is not forgotten."""
    page = DOCUMENT.read_text(encoding="utf-8")
    with_json = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if any("--json" in option.opts for option in command.params):
            with_json.append(name)

    assert "verify" in with_json
    assert [name for name in with_json if f"## `{name} --json`" not in page] == []


def _keys(**objects: Any) -> dict[str, list[str]]:
    """The keys of each object, in order."""
    return {name: list(value) for name, value in objects.items()}


def _as_documented(**objects: Any) -> None:
    """Each object has the fields that the page says it has, in that order."""
    found = _keys(**objects)
    assert set(found) <= PRINTED
    assert found == {name: _documented()[name] for name in found}


def test_what_check_prints_is_documented(run: Callable[..., Any], tmp_path: Path) -> None:
    """From the report down to one check."""
    (tmp_path / "a.scenario.yaml").write_text("name: a\ngroups: {g: [{type: raw_output_order}]}\n")
    write_cassette(tmp_path / "a.cassette", Output(0, b"x"))
    printed = run("check", "--json", "--cassette", tmp_path / "a.cassette", tmp_path).text
    report = json.loads(printed)
    (scenario,) = report["scenarios"]

    assert len(printed.splitlines()) == 1
    _as_documented(CheckReport=report, ScenarioReport=scenario, CheckLine=scenario["checks"][0])


def test_what_a_stand_in_reports_is_documented() -> None:
    """With everything that it can hold."""
    divergence = Divergence(
        kind="input-changed", message="m", seq=1, t_ms=1, expected=DivergenceSide("a", b"a"),
        nearest=Nearest(1, 1, 1, "a", 1.0),
    )  # fmt: skip
    report = report_object(
        StandinReport(result="diverged", cassette="c", divergences=(divergence,))
    )
    (found,) = report["divergences"]

    _as_documented(
        StandinReport=report, Divergence=found, DivergenceSide=found["expected"],
        Nearest=found["nearest"],
        Unplayed=report["unplayed"],
    )  # fmt: skip


def test_what_scrubbing_prints_is_documented(run: Callable[..., Any], tmp_path: Path) -> None:
    """Both commands."""
    path = tmp_path / "a.cassette"
    secret = "-".join(["sk", "ant", "api03", "Ab1" * 31 + "AA"])
    write_cassette(path, Output(0, f"key {secret}\r\n".encode()))
    report = json.loads(run("scrub", "--json", path).text)
    left = json.loads(run("verify-scrub", "--json", path).text)

    assert report["replaced"]
    _as_documented(
        ScrubbedReport=report, Replacement=report["replaced"][0],
        VerifyScrubReport=left, ScrubbedCassette=left["cassettes"][0],
    )  # fmt: skip


def test_what_recover_prints_is_documented(run: Callable[..., Any], tmp_path: Path) -> None:
    """The list, what was recovered, and what could not be."""
    broken = tmp_path / "broken.journal"
    broken.write_bytes(b"no journal")
    report = json.loads(run("recover", "--json", broken).text)
    listed = json.loads(run("recover", "--json").text)

    _as_documented(
        RecoverReport=report, FailedJournal=report["failed"][0], JournalsReport=listed,
        Journal=LeftJournal.__struct_encode_fields__,
        RecoveredJournal=Recovered.__struct_encode_fields__,
    )  # fmt: skip


def test_what_probes_and_the_fake_provider_print_is_documented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By what they print it from."""
    _say_where("a", "b", as_json=True)

    _as_documented(
        ProbeReport=ProbeResult.__struct_encode_fields__,
        ProviderAddresses=json.loads(capsys.readouterr().out),
    )


@pytest.mark.parametrize(
    ("args", "struct"),
    [
        (("info",), reports.InfoReport),
        (("verify",), reports.VerifyReport),
        (("events",), reports.EventLine),
        (("frames",), reports.FramesReport),
        (("frames", "--last"), reports.FramesReport),
        (("frames", "--diff"), reports.FramesReport),
    ],
)
def test_what_is_printed_is_the_object(
    args: tuple[str, ...], struct: type[msgspec.Struct], run: Callable[..., Any], cassette: Path
) -> None:
    """Each line decodes as its struct, and nothing of it is unknown to the struct."""
    for line in run(*args, "--json", cassette).text.splitlines():
        assert _again(line, struct) == json.loads(line)


def test_doctor_prints_its_object(run: Callable[..., Any]) -> None:
    """The same for the command without a cassette."""
    text = run("doctor", "--json").text

    assert _again(text, reports.DoctorReport) == json.loads(text)


def _again(text: str, struct: type[msgspec.Struct]) -> Any:
    """Decode into the struct and back: what it does not know gets lost."""
    return json.loads(msgspec.json.encode(msgspec.json.decode(text, type=struct)))
