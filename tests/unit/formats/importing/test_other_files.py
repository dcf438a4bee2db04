"""Tapes of VHS, session logs, traces of tui-test, cassettes of cendor: what becomes of them."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from codecs import BOM_UTF8
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette, record
from ptycassette.cli.entry import main
from ptycassette.errors import UnreadableError, UsageError
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.importing.io.importer import add_log, import_file, import_of
from ptycassette.formats.importing.io.scripts import import_script
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.records import Resized
from ptycassette.recording.input_script import parse_script

TAPES_OF_CLIS = Path(__file__).resolve().parents[4] / "fixtures" / "tapes"
TAPES = [
    ('Type "a" Enter', ["pace 50ms", 'type "a"', "key enter"]),
    ("Type@5ms 'say \"hi\"'  # so", ["pace 5ms", 'type "say \\"hi\\""']),
    ("Type one two", ["pace 50ms", 'type "one two"']),
    ("Set TypingSpeed .1\nType `x`", ["pace 100ms", 'type "x"']),
    ("Up@10ms 3 Tab", ["pace 10ms", "key up up up", "pace 50ms", "key tab"]),
    ("Ctrl+C Ctrl+Alt+X", ["pace 50ms", "key ctrl-c", "key ctrl-alt-x"]),
    ("Alt+. Shift+Tab Ctrl+[", ["pace 50ms", "key alt-.", "key shift-tab", "key ctrl-["]),
    ("Sleep 500ms Sleep 2 Sleep 1m", ["pause 0.5s", "pause 2s", "pause 60s"]),
    ("Wait", ["timeout 15s", 'wait-regex ">$"']),
    ("Wait+Screen@3s /a.b/", ["timeout 3s", 'wait-regex "a.b"']),
    ('Set WaitTimeout 2s Set WaitPattern "x" Wait', ["timeout 2s", 'wait-regex "x"']),
    ('Copy "a b" Paste', ['paste "a b"']),
    ("Sleep 1 Hide", ["pause 1s", 'note {"type":"marker","label":"Hide"}']),
]


@pytest.mark.parametrize(("tape", "steps"), TAPES, ids=[tape[:30] for tape, _ in TAPES])
def test_a_tape_of_vhs_is_an_input_script(tape: str, steps: list[str], tmp_path: Path) -> None:
    """Its keys at its speed, after the prompt and up to the end of the shell."""
    (tmp_path / "x.tape").write_text(tape)
    made = import_script(tmp_path / "x.tape", tmp_path / "x.txt", by=import_of(tmp_path / "x.tape"))
    lines = (tmp_path / "x.txt").read_text().splitlines()

    assert lines[2:] == ["wait-regex >$", *steps, "signal hup"]
    assert len(parse_script("\n".join(lines))) == sum(
        "pace" not in s and "timeout" not in s for s in lines[2:]
    )
    assert made.command[-3:] == ("bash", "--noprofile", "--norc")


def test_settings_of_a_tape_are_options_of_rec(tmp_path: Path) -> None:
    """Size, shell and environment; what is of the picture alone is counted. Nothing is run."""
    tape = (
        f'Output "{tmp_path}/out.gif"\nRequire nosuchprogram\nSet Shell "zsh"\nSet FontSize 10\n'
        "Set Width 740px Set Height 280 Set Padding 10 Set LetterSpacing 0 Set LineHeight 1\n"
        'Set Theme { "name": "x" }\nSet Framerate 60\nEnv NAME "a value"\nType x\n'
    )
    (tmp_path / "x.tape").write_text(tape)
    made = import_script(tmp_path / "x.tape", tmp_path / "x.txt", by=import_named("vhs"))

    assert made.command[5:11] == (
        "--window-size", "120x19", "--env", "PROMPT=> ", "--env", "NAME=a value",
    )  # fmt: skip
    assert {reason.split(":")[0]: count for reason, count in made.skipped.items()} == {
        "Output": 1, "Require": 1, "Set Theme": 1, "Set Framerate": 1,
    }  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"x.tape", "x.txt"}


def test_rec_says_how_to_record_a_tape(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes input scripts."""
    monkeypatch.chdir(tmp_path)

    assert main(["rec", "--headless", "--input", "x.tape", "c", "--", "true"]) == 2
    assert "ptycassette import x.tape -o x.txt" in capsys.readouterr().err


@pytest.mark.slow
def test_a_recording_of_a_tape_shows_what_the_tape_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that the import prints, run."""
    monkeypatch.chdir(tmp_path)
    Path("x.tape").write_text(
        'Env WORD "tape"\nSet TypingSpeed 1ms\nType "echo a-$WORD" Enter Wait+Screen /a-tape/'
    )
    made = import_script(Path("x.tape"), Path("x.txt"), by=import_named("vhs"))
    main([*made.command[1:5], "-q", *made.command[5:]])

    with open_cassette("x.cassette") as cassette:
        assert b"a-tape\r\n" in b"".join(cassette.raw())
        assert sum(len(one.bytes or b"") for one in cassette.inputs()) == len("echo a-$WORD\r")


def _lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


CODEX = _lines(
    {"timestamp": _at(0), "type": "session_meta", "payload": {}},
    {"timestamp": _at(1), "type": "response_item", "payload": {
        "type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"}},
    {"timestamp": _at(2), "type": "response_item", "payload": {
        "type": "function_call_output", "call_id": "c1", "output": "done"}},
    {"timestamp": _at(3), "type": "event_msg", "payload": {
        "type": "token_count",
        "info": {"total_token_usage": {"input_tokens": 7, "output_tokens": 2}}}},
)  # fmt: skip
_ANSWER = {"id": "m", "model": "x", "usage": {"input_tokens": 7, "output_tokens": 2}}
CLAUDE = _lines(
    {"parentUuid": None, "type": "user", "timestamp": _at(0), "message": {"content": "hi"}},
    {"parentUuid": "a", "type": "assistant", "timestamp": _at(1), "message": {
        **_ANSWER, "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}]}},
    {"parentUuid": "b", "type": "user", "timestamp": _at(2), "message": {
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]}},
)  # fmt: skip
GEMINI = _lines(
    {"sessionId": "s", "projectHash": "h"},
    {"id": "m", "timestamp": _at(1), "type": "gemini", "content": "", "model": "x",
     "tokens": {"input": 7, "output": 2},
     "toolCalls": [{"id": "c1", "name": "run", "args": {}, "result": "done"}]},
)  # fmt: skip


def _opencode(path: Path) -> None:
    """Two sessions; the newer one is read, with that of its helper."""
    answer = {"role": "assistant", "tokens": {"input": 3, "output": 1, "cache": {"read": 0}}}
    tool = {"type": "tool", "tool": "run", "callID": "c1", "state": {"input": {}, "output": "done"}}
    rows = [("old", None, 10, "o"), ("new", None, 20, "c1"), ("helper", "new", 30, "c2")]
    with sqlite3.connect(path) as database:
        database.executescript(
            "create table session(id, parent_id); create table message(id, session_id, data);"
            "create table part(id, message_id, session_id, time_created, data);"
        )
        for name, parent, second, call in rows:
            database.execute("insert into session values(?, ?)", (name, parent))
            database.execute(
                "insert into message values(?, ?, ?)", (name, name, json.dumps(answer))
            )
            part = json.dumps({**tool, "callID": call})
            database.execute(
                "insert into part values(?, ?, ?, ?, ?)", (name, name, name, second * 1000, part)
            )
    database.close()


@pytest.mark.parametrize(
    ("name", "log", "whose", "tokens"),
    [
        ("rollout-1.jsonl", CODEX, "codex", (7, 2)),
        ("any.jsonl", CLAUDE, "claude", (7, 2)),
        ("any.jsonl", BOM_UTF8 + CLAUDE, "claude", (7, 2)),
        ("any.jsonl", CLAUDE + b"\0\0\n{torn\n", "claude", (7, 2)),
        ("session-1.jsonl", GEMINI, "gemini", (7, 2)),
        ("opencode.db", None, "opencode", (6, 2)),
    ],
)
def test_a_session_log_is_typed_events_and_tokens(
    name: str, log: bytes | None, whose: str, tokens: tuple[int, int], tmp_path: Path
) -> None:
    """Whose it is, is known by its content; the sums are those of its newest session."""
    path = tmp_path / name
    if log is None:
        _opencode(path)
    else:
        path.write_bytes(log)
    import_file(path, tmp_path / "made", by=import_of(path))

    with open_cassette(tmp_path / "made") as cassette:
        notes = [one.payload for one in cassette.service_events()]
        calls = {note["call_id"]: note["type"] for note in notes if "call_id" in note}
        usage = cassette.final.usage or {}
        assert cassette.manifest.harness.name == whose
        assert {"c1": "tool-result"}.items() <= calls.items()
        assert "o" not in calls
        assert (usage["input_tokens"], usage["output_tokens"]) == tokens


@pytest.mark.parametrize(
    ("name", "said"), [("a.jsonl", "--harness NAME"), ("a.cast", "--partial"), ("a.har", "repair")]
)
def test_a_file_that_is_not_of_its_format_is_an_error_that_names_the_options(
    name: str, said: str, tmp_path: Path
) -> None:
    """Such as a session log whose first row its profile does not know."""
    path = tmp_path / name
    path.write_bytes(CLAUDE.replace(b'"parentUuid":null,', b""))

    with pytest.raises(UnreadableError) as caught:
        import_file(path, tmp_path / "made", by=import_of(path))
    assert said in str(caught.value)


PICTURE = "iVBOR" + "A" * 4000


def _claude_row(kind: str, content: Any, second: int, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"parentUuid": None, "isSidechain": False, "type": kind, "message": message,
            "uuid": f"u{second}", "timestamp": _at(second), "version": "2.1.0", **more}  # fmt: skip


def _codex_row(kind: str, second: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": _at(second), "type": kind, "payload": payload}


_SPENT = {"id": "m1", "model": "x", "usage": {"input_tokens": 7, "output_tokens": 2}}
_CLAUDE_SESSION = [
    _claude_row("user", "Compare", 0),
    _claude_row("user", [{"type": "text", "text": "this"}, {"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": PICTURE}}], 1),
    _claude_row("assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}], 2,
                message=_SPENT),
    _claude_row("assistant", [{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "Read", "input": {}}], 3, message=_SPENT),
    _claude_row("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [
            {"type": "text", "text": "two"}, {"type": "text", "text": "three"}]}], 4),
    _claude_row("assistant", "done", 5, message={**_SPENT, "id": "m2"}),
    _claude_row("assistant", "API Error", 6, message={"id": "m3", "model": "<synthetic>",
        "usage": {"input_tokens": 0, "output_tokens": 0}}),
    {"type": "summary", "summary": "They differ", "leafUuid": "l"},
    _claude_row("user", "So far ...", 7, isCompactSummary=True),
    _claude_row("user", "<caveat>", 8, isMeta=True),
    {"parentUuid": None, "type": "attachment", "uuid": "q", "timestamp": _at(9),
     "attachment": {"type": "queued_command", "prompt": "and this"}},
    {"type": "hologram", "timestamp": _at(9)},
]  # fmt: skip
_CODEX_SESSION = [
    _codex_row("session_meta", 0, id="s", cli_version="0.171.0"),
    _codex_row("response_item", 1, type="message", role="user", content=[
        {"type": "input_text", "text": "<environment_context>x</environment_context>"}]),
    _codex_row("response_item", 1, type="message", role="user", id="p", content=[
        {"type": "input_text", "text": "Compare"}, {"type": "input_text", "text": "this"},
        {"type": "input_image", "image_url": "data:image/png;base64," + PICTURE}]),
    _codex_row("event_msg", 1, type="user_message", message="Compare"),
    _codex_row("event_msg", 1, type="agent_reasoning", text="hm"),
    _codex_row("response_item", 2, type="reasoning", summary=[
        {"type": "summary_text", "text": "hm"}]),
    _codex_row("response_item", 2, type="message", role="assistant", content=[
        {"type": "output_text", "text": "I look."}]),
    _codex_row("response_item", 3, type="function_call", call_id="t1", name="Read", arguments=""),
    _codex_row("response_item", 3, type="custom_tool_call", call_id="t2", name="Read", input=""),
    _codex_row("response_item", 4, type="function_call_output", call_id="t1", output="one"),
    _codex_row("response_item", 4, type="custom_tool_call_output", call_id="t2", output="two"),
    _codex_row("event_msg", 4, type="token_count", info={"total_token_usage": {
        "input_tokens": 7, "output_tokens": 2}}),
    _codex_row("event_msg", 4, type="token_count", info={"total_token_usage": {
        "input_tokens": 7, "output_tokens": 2}}),
    _codex_row("event_msg", 5, type="agent_message", message="done"),
    _codex_row("event_msg", 5, type="token_count", info={"total_token_usage": {
        "input_tokens": 14, "output_tokens": 4}}),
    _codex_row("compacted", 6, message="So far ..."),
    _codex_row("hologram", 9),
]  # fmt: skip
_GEMINI_ANSWER = {"id": "a", "type": "gemini", "content": "I look.", "model": "x",
                  "thoughts": [{"subject": "s", "description": "hm"}],
                  "tokens": {"input": 7, "output": 2}}  # fmt: skip
_GEMINI_SESSION = [
    {"sessionId": "s", "projectHash": "h"},
    {"id": "p", "timestamp": _at(0), "type": "user", "content": [
        {"text": "Compare"}, {"text": "this"},
        {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]},
    {**_GEMINI_ANSWER, "timestamp": _at(1)},
    {**_GEMINI_ANSWER, "timestamp": _at(1), "toolCalls": [
        {"id": "t1", "name": "Read", "args": {}, "result": "one"},
        {"id": "t2", "name": "Read", "args": {}, "result": "two"}]},
    {"id": "r", "timestamp": _at(2), "type": "user", "content": [
        {"functionResponse": {"id": "t1", "response": {"output": "one"}}}]},
    {**_GEMINI_ANSWER, "id": "b", "timestamp": _at(3), "content": "done", "thoughts": []},
    {"type": "hologram", "timestamp": _at(9)},
]  # fmt: skip


def _qwen_row(kind: str, second: int, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"uuid": f"u{second}", "parentUuid": None, "sessionId": "s", "timestamp": _at(second),
            "type": kind, "version": "0.15", "message": {"parts": list(parts)}, **more}  # fmt: skip


_QWEN_SPENT = {"model": "x", "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2}}
_QWEN_SESSION = [
    _qwen_row("user", 0, {"text": "Compare"}, {"text": "this"},
              {"inlineData": {"mimeType": "image/png", "data": PICTURE}}),
    _qwen_row("assistant", 1, {"text": "hm", "thought": True}, {"text": "I look."},
              {"functionCall": {"id": "t1", "name": "Read", "args": {}}},
              {"functionCall": {"id": "t2", "name": "Read", "args": {}}}, **_QWEN_SPENT),
    _qwen_row("tool_result", 2,
              {"functionResponse": {"id": "t1", "response": {"output": "one"}}},
              {"functionResponse": {"id": "t2", "response": {"error": "two"}}}),
    _qwen_row("assistant", 3, {"text": "done"}, **_QWEN_SPENT),
    {"uuid": "h", "type": "hologram"},
]  # fmt: skip


def _pi_row(second: int, **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": f"u{second}", "timestamp": _at(second), "message": message}


_PI_SPENT = {"model": "x", "usage": {"input": 7, "output": 2}}
_PI_SESSION = [
    {"type": "session", "version": 3, "id": "s", "timestamp": _at(0)},
    _pi_row(1, role="user", content=[{"type": "text", "text": "Compare"},
        {"type": "text", "text": "this"},
        {"type": "image", "data": PICTURE, "mimeType": "image/png"}]),
    _pi_row(2, role="assistant", content=[{"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        {"type": "toolCall", "id": "t1", "name": "Read", "arguments": {}},
        {"type": "toolCall", "id": "t2", "name": "Read", "arguments": {}}], **_PI_SPENT),
    _pi_row(3, role="toolResult", toolCallId="t1", content=[{"type": "text", "text": "one"}]),
    _pi_row(3, role="toolResult", toolCallId="t2", content=[{"type": "text", "text": "two"}]),
    _pi_row(4, role="assistant", content=[{"type": "text", "text": "done"}], **_PI_SPENT),
    {"type": "compaction", "id": "c", "summary": "So far ...", "timestamp": _at(5)},
    {"type": "hologram"},
]  # fmt: skip


def _kimi_event(second: int, **event: Any) -> dict[str, Any]:
    row = {"type": "context.append_loop_event", "time": 1_767_225_600_000 + second * 1000}
    return {**row, "event": {"uuid": f"u{second}", **event}}


_KIMI_SPENT = {"usage": {"inputOther": 7, "output": 2, "inputCacheRead": 0}}
_KIMI_SESSION = [
    {"type": "metadata", "protocol_version": "1.5"},
    {"type": "turn.prompt", "time": 1_767_225_600_000, "promptId": "p", "input": [
        {"type": "text", "text": "Compare"}, {"type": "text", "text": "this"},
        {"type": "image_url", "imageUrl": {"url": "x"}}]},
    _kimi_event(1, type="content.part", part={"type": "think", "think": "hm"}),
    _kimi_event(2, type="content.part", part={"type": "text", "text": "I look."}),
    _kimi_event(3, type="tool.call", toolCallId="t1", name="Read", args={}),
    _kimi_event(3, type="tool.call", toolCallId="t2", name="Read", args={}),
    _kimi_event(4, type="tool.result", toolCallId="t1", result={"output": "one"}),
    _kimi_event(4, type="tool.result", toolCallId="t2", result={"output": "two"}),
    _kimi_event(5, type="step.end", **_KIMI_SPENT),
    _kimi_event(6, type="content.part", part={"type": "text", "text": "done"}),
    _kimi_event(7, type="step.end", **_KIMI_SPENT),
    {"type": "context.apply_compaction", "summary": "So far ..."},
    {"type": "hologram"},
]  # fmt: skip
SESSIONS = {
    "claude": _CLAUDE_SESSION, "codex": _CODEX_SESSION, "gemini": _GEMINI_SESSION,
    "qwen": _QWEN_SESSION, "pi": _PI_SESSION, "kimi": _KIMI_SESSION,
}  # fmt: skip


@pytest.mark.parametrize("whose", SESSIONS)
def test_every_part_of_a_session_is_an_event(whose: str, tmp_path: Path) -> None:
    """Prompts, thoughts, parallel calls and their results, pictures by name, tokens once each."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(_lines(*SESSIONS[whose]))
    made = import_file(path, tmp_path / "made", by=import_of(path))

    with open_cassette(tmp_path / "made") as cassette:
        assert cassette.manifest.harness.name == whose
        notes = [one.payload for one in cassette.service_events()]
        final = cassette.final
    said = {
        role: [n["text"] for n in notes if n["type"] == "message" and n["role"] == role]
        for role in ("user", "assistant")
    }
    results = {n["call_id"]: n["output"] for n in notes if n["type"] == "tool-result"}
    assert said["user"][:2] == ["Compare", "this"]
    assert said["assistant"][:2] == ["I look.", "done"]
    assert [n["text"] for n in notes if n["type"] == "thinking"] == ["hm"]
    assert [n["call_id"] for n in notes if n["type"] == "tool-call"] == ["t1", "t2"]
    assert {name: str(output)[:3] for name, output in results.items()} == {"t1": "one", "t2": "two"}
    assert len([n for n in notes if n["type"] == "attachment"]) == 1
    assert PICTURE not in str(notes)
    assert [n["input_tokens"] for n in notes if n["type"] == "usage"] == [7, 7]
    assert (final.usage or {})["input_tokens"] == 14
    assert any("hologram" in reason for reason in made.skipped)
    if whose in {"claude", "codex", "pi", "kimi"}:
        assert "So far ..." in [n["text"] for n in notes if n["type"] == "summary"]
    if whose == "claude":
        assert said["user"][2:] == ["and this"]
        assert made.made_by == "Claude Code 2.1.0"
        assert final.routing_actual == "x"


def test_subagents_of_claude_are_read_with_their_session(tmp_path: Path) -> None:
    """From the folder beside the log, at their times; the last word is that of the session."""
    path = tmp_path / "s.jsonl"
    own = [
        _claude_row("user", "go", 0),
        _claude_row("assistant", "mine", 5, message={**_SPENT, "id": "m9"}),
    ]
    helper = _claude_row(
        "assistant", "of a helper", 3, message=_SPENT, isSidechain=True, agentId="h1"
    )
    path.write_bytes(_lines(*own))
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    late = {**helper, "timestamp": _at(8), "uuid": "late"}
    (folder / "agent-h1.jsonl").write_bytes(_lines(helper, late))
    import_file(path, tmp_path / "made", by=import_of(path))

    with open_cassette(tmp_path / "made") as cassette:
        messages = [n.payload for n in cassette.service_events() if n.payload["type"] == "message"]
        final = cassette.final
    assert [(one["text"], one.get("agent")) for one in messages] == [
        ("go", None), ("of a helper", "h1"), ("mine", None), ("of a helper", "h1"),
    ]  # fmt: skip
    assert (final.final_text, final.usage) == (
        "mine",
        {"input_tokens": 14, "output_tokens": 4},
    )


def test_a_log_is_added_to_its_recording(tmp_path: Path) -> None:
    """At the moments of its clock; twice it is not; that of another time it is not."""
    with record(["true"], tmp_path / "recorded") as session:
        session.wait_exit()
    with open_cassette(tmp_path / "recorded") as cassette:
        began = cassette.manifest.provenance.recorded_at.removesuffix("Z")
    log = tmp_path / "rollout.jsonl"
    log.write_bytes(CODEX.replace(b"2026-01-01T00:00:00", began.encode()))
    log.write_bytes(re.sub(rb"2026-01-01T00:00:0[1-9]", began.encode(), log.read_bytes()))
    made = add_log(log, tmp_path / "recorded", tmp_path / "whole")
    assert made.log is not None
    with open_cassette(tmp_path / "whole") as cassette:
        kinds = [one.payload["type"] for one in cassette.service_events()]
        edits = (cassette.manifest.optional or {})["edited"]
        assert (kinds, cassette.final.usage) == (
            ["tool-call", "tool-result", "usage"],
            {"input_tokens": 7, "output_tokens": 2},
        )

    assert (made.log.added, made.log.there, made.log.agrees) == (3, 0, None)
    assert edits[0]["from"] == "codex"
    with pytest.raises(UsageError, match="already"):
        add_log(log, tmp_path / "whole", tmp_path / "again")
    log.write_bytes(CODEX)
    with pytest.raises(UsageError, match="another session"):
        add_log(log, tmp_path / "recorded", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(("tape", "agrees"), [("codex-tape", False), ("client-tape", None)])
def test_a_log_is_compared_with_the_tape_and_put_where_it_belongs(
    tape: str, agrees: bool | None, tmp_path: Path
) -> None:
    """The tape's sum stays; a result comes before the question with it, however late the clock."""
    with open_cassette(TAPES_OF_CLIS / tape) as cassette:
        began = datetime.fromisoformat(cassette.manifest.provenance.recorded_at)
        usage = cassette.final.usage or {"input_tokens": 7, "output_tokens": 2}
        asked = next(e for e in cassette.service_events() if e.payload["type"] == "tool-result")
    late = (began + timedelta(seconds=30)).isoformat().encode()
    call = asked.payload["call_id"] if agrees is None else "c1"  # codex-tape has the log of its own
    rows = re.sub(rb"2026-01-01T00:00:0.Z", late, CODEX)
    (tmp_path / "rollout.jsonl").write_bytes(rows.replace(b'"c1"', b'"%s"' % call.encode()))
    made = add_log(tmp_path / "rollout.jsonl", TAPES_OF_CLIS / tape, tmp_path / "whole")
    assert made.log is not None
    with open_cassette(tmp_path / "whole") as cassette:
        final = cassette.final
        outputs = [e.t_us for e in cassette.service_events() if e.payload.get("output") == "done"]

    assert final.usage == usage
    assert (final.metadata or {})["tape"].get("log_agrees") == made.log.agrees == agrees
    assert outputs == [final.t_us if agrees is False else asked.t_us]


def _trace(*points: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps({"tracePoints": points, "testName": ["a", "b"]}).encode())


def test_a_trace_of_tui_test_is_a_recording(tmp_path: Path) -> None:
    """Output, its times and sizes; packed by zlib, as tui-test writes it."""
    path = tmp_path / "any-name"
    size = {"rows": 5, "cols": 20}
    path.write_bytes(_trace({"data": "", "time": 5000}, size, {"data": "hi", "time": 5250.5},
                            {"rows": 6, "cols": 30}, {"data": "\u00e4", "time": 5300}))  # fmt: skip
    session = import_of(path).read(path.read_bytes())

    assert [type(one).__name__ for one in session.events] == ["Output", "Resized", "Output"]
    assert [one.t_us for one in session.events] == [250_500, 250_500, 300_000]
    assert (session.size.rows, session.size.cols, session.title) == (5, 20, "a > b")
    assert next(one for one in session.events if isinstance(one, Resized)).size.cols == 30


CALL = {"kind": "llm", "provider": "openai", "model": "m", "messages": [{"role": "user"}]}
TOOL = {"kind": "tool", "name": "mul", "arguments": {"args": [6, 7], "kwargs": {}}}


@pytest.mark.parametrize("version", [1, 2])
def test_cassettes_of_cendor_are_read(version: int, tmp_path: Path) -> None:
    """Calls of models are a tape, those of tools are events; what is neither is counted."""
    answer = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    entries = [
        {"seq": 0, "kind": "llm", "request": CALL, "response": answer},
        {"seq": 1, "kind": "tool", "request": TOOL, "response": 42},
        {"seq": 2, "kind": "other", "request": {}},
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"version": version, "entries": entries}))
    made = import_file(path, tmp_path / "made", by=import_of(path))

    assert (made.entries, made.rebuilt, sum(made.skipped.values())) == (1, True, 1)
    with open_cassette(tmp_path / "made") as cassette:
        notes = [one.payload for one in cassette.service_events() if "entry" not in one.payload]
        assert [note["type"] for note in notes] == ["tool-call", "tool-result"]
        assert (cassette.final.usage or {})["input_tokens"] == 5


def test_what_a_log_thought_is_in_exports_of_the_conversation(tmp_path: Path) -> None:
    """With the text or the call that it led to."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(_lines(*_PI_SESSION))
    import_file(path, tmp_path / "made", by=import_of(path))

    with open_cassette(tmp_path / "made") as cassette:
        made = json.loads(b"".join(export_named("atif").recording(cassette)))
        page = b"".join(export_named("html").recording(cassette)).decode()
    agent = next(step for step in made["steps"] if step["source"] == "agent")
    assert (agent["message"], agent["reasoning_content"]) == ("I look.", "hm")
    assert [call["tool_call_id"] for call in agent["tool_calls"]] == ["t1", "t2"]
    assert "<b>thinking</b> hm" in page
    assert "<b>attachment</b> user image image/png" in page
