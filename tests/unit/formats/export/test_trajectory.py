"""The conversation in a cassette, in the formats of other tools, judged by their own readers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.export.trajectory.from_tape import Conversation, conversation_of
from ptycassette.formats.importing.io.importer import import_file
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.records import Noted, Output, Typed
from ptycassette.tape.providers.questions import read_question
from ptycassette.testing import write_cassette

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
SPOKEN = json.loads(Path(__file__).with_name("spoken.json").read_text())
"""One conversation by four APIs: a tool is called, its result told, the user says "yes" twice."""


def spoken(path: Path) -> Conversation:
    """The conversation in a cassette."""
    with open_cassette(path) as source:
        return conversation_of(source)


@pytest.mark.parametrize("api", SPOKEN)
def test_what_was_said_is_told_once_in_order(api: str, tmp_path: Path) -> None:
    """Whatever the questions repeat; each API says the same."""
    (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, SPOKEN[api])))
    import_file(tmp_path / "calls.jsonl", tmp_path / "c", by=import_named("trace"))
    found = spoken(tmp_path / "c")

    assert [(step.source, step.text, step.copied) for step in found.steps] == [
        ("system", "Be short.", False),
        ("user", "yes", False),
        ("agent", "I will look.", False),
        ("agent", "Done.", False),
        ("user", "yes", False),
        ("agent", "Bye.", False),
    ]
    look = found.steps[2]
    assert [(call.name, call.values) for call in look.calls] == [("look", {"at": 1})]
    assert [result.text for result in look.results] == ["found"]
    assert len(found.inferences) == 3


LENIENT: dict[str, tuple[dict[str, object], list[tuple[str, str, list[object], list[str]]]]] = {
    "chat": (
        {"messages": [
            {"role": "developer", "content": "d"},
            {"role": ["odd"], "content": [{"type": "new"}, 1, {"type": ["x"], "text": "t"}]},
            {"role": "assistant", "content": [{"type": "thinking"}],
             "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{"}}]},
            {"role": "tool", "tool_call_id": "c", "content": {"text": "a file"}},
        ]},
        [("system", "d", [], []), ("user", "[new]\nt", [], []),
         ("assistant", "", [{"input": "{"}], []), ("user", "", [], ["a file"])],
    ),
    "anthropic": (
        {"system": [{"text": "s"}], "messages": [
            {"role": "robot", "content": [{"type": "tool_use", "input": [1]}, {"type": "new"}]},
        ]},
        [("system", "s", [], []), ("user", "[new]", [{"input": [1]}], [])],
    ),
    "responses": (
        {"input": [
            {"type": "web_search_call"}, {"type": "reasoning"}, "odd",
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "call_id": "c", "output": "a file"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        ]},
        [("user", "[web_search_call]", [], []), ("assistant", "", [{"command": ["ls"]}], []),
         ("user", "", [], ["a file"]), ("assistant", "no", [], [])],
    ),
    "gemini": (
        {"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [
            {"role": "model", "parts": [
                {"text": "t", "thought": True}, {"function_call": {"name": "ls"}},
                {"inlineData": {}},
            ]},
            {"parts": [{"functionResponse": {"id": None, "response": {"output": "a file"}}}]},
        ]},
        [("system", "s", [], []), ("assistant", "[inlineData]", [{}], []),
         ("user", "", [], ["a file"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("api", LENIENT)
def test_what_a_provider_would_refuse_is_read_as_far_as_it_can_be(api: str) -> None:
    """The readers are those of the fake provider, which refuses it."""
    body, wanted = LENIENT[api]
    asked = read_question(json.dumps(body).encode())

    assert asked is not None
    assert [
        (one.role, one.text, [call.values for call in one.calls], [r.text for r in one.results])
        for one in asked.messages
    ] == wanted


def test_without_a_tape_the_session_log_tells(tmp_path: Path) -> None:
    """And what was typed and sent is what the user said; read at the end, it has no times."""
    call = {"type": "tool-call", "call_id": "c", "name": "look", "arguments": {"at": 1}}
    write_cassette(
        tmp_path / "c",
        Typed(0, b"hi", source="user"),
        Typed(1000, b"\r", source="user", key="enter"),
        Output(2000, b"hello"),
        *(
            Noted(3000, payload)
            for payload in (
                {"type": "message", "role": "assistant", "text": "I look."},
                call,
                {"type": "tool-result", "call_id": "c", "output": "found"},
                {"type": "other"},
            )
        ),
    )
    found = spoken(tmp_path / "c")

    assert [(step.source, step.text, step.t_us) for step in found.steps] == [
        ("user", "hi", 0),
        ("agent", "I look.", None),
    ]
    assert [result.text for result in found.steps[1].results] == ["found"]
    assert found.left_out["service events"] == 1


@pytest.mark.parametrize("name", ["atif", "otel", "inspect"])
def test_without_a_conversation_there_is_nothing_to_export(name: str, tmp_path: Path) -> None:
    """It says how to record one."""
    write_cassette(tmp_path / "c", Output(0, b"hi"))
    with open_cassette(tmp_path / "c") as source, pytest.raises(UsageError, match="conversation"):
        b"".join(export_named(name).recording(source))


@pytest.mark.parametrize(("name", "calls"), [("codex-tape", 3), ("aider-tape", 2)])
def test_telemetry_comes_back_as_calls(name: str, calls: int) -> None:
    """By our own import: as many, with their tokens and the texts of their answers."""
    with open_cassette(FIXTURES / "tapes" / name) as source:
        found = conversation_of(source)
        data = b"".join(export_named("otel").recording(source))
    session = import_named("otel").read(data)
    text = b"".join(getattr(item, "data", b"") for item in session.items)

    assert len(found.inferences) == calls
    for one in found.inferences:
        assert json.dumps(one.said.text).encode() in text


READERS = {
    "atif": """
from harbor.utils.trajectory_validator import TrajectoryValidator
from harbor.models.trajectories import Trajectory
judge = TrajectoryValidator()
assert judge.validate(json.load(open(path))), judge.errors
read = Trajectory.model_validate_json(open(path).read())
found = [step.message for step in read.steps if step.source == "agent"]
""",
    "otel": """
from opentelemetry.proto_json.logs.v1.logs import LogsData
from opentelemetry.proto_json.trace.v1.trace import TracesData
first, *rest = open(path).read().splitlines()
spans = TracesData.from_json(first).resource_spans[0].scope_spans[0].spans
known = {span.span_id for span in spans}
found = []
for line in rest:
    record = LogsData.from_json(line).resource_logs[0].scope_logs[0].log_records[0]
    assert record.span_id in known and record.event_name.startswith("gen_ai."), record
    said = {one.key: one.value for one in record.attributes}
    for answer in said["gen_ai.output.messages"].array_value.values:
        parts = {one.key: one.value for one in answer.kvlist_value.values}["parts"]
        for part in parts.array_value.values:
            fields = {one.key: one.value for one in part.kvlist_value.values}
            if fields["type"].string_value == "text":
                found.append(fields["content"].string_value)
""",
    "inspect": """
from inspect_ai.log import read_eval_log
sample = read_eval_log(path).samples[0]
found = [message.text for message in sample.messages if message.role == "assistant"]
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("cassette", ["tapes/codex-tape", "tapes/aider-tape", "agents/codex-tui"])
@pytest.mark.parametrize("name", READERS)
def test_its_own_reader_reads_what_is_written_for_it(
    name: str, cassette: str, tmp_path: Path
) -> None:
    """In a process of its own, as its pins are not ours: every answer is there."""
    place = os.environ.get("PTYCASSETTE_READERS")
    if place is None:
        pytest.skip("harbor, inspect-ai and OpenTelemetry are not installed (PTYCASSETTE_READERS)")
    made = export_named(name)
    path = tmp_path / f"made{made.endings[0]}"
    with open_cassette(FIXTURES / cassette) as source:
        path.write_bytes(b"".join(made.recording(source)))
        answers = [step for step in conversation_of(source).steps if step.source == "agent"]
    code = f"import json, sys; path = sys.argv[1]\n{READERS[name]}\nprint(json.dumps(found))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": place},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    expected = [step.text for step in answers if not (step.copied and name == "otel")]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
