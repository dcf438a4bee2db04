"""A first scenario for a recording, and the same scenario for a new one. YAML text out."""

from __future__ import annotations

from typing import Any

import yaml

from ptycassette.scenario.evidence import Evidence

_REQUIRED = (
    "manifest.json", "input.jsonl", "output.raw", "output.jsonl", "frames.jsonl",
    "service-events.jsonl", "final.json", "scrub-report.json",
)  # fmt: skip
MAX_LINES = 5


def draft_scenario(evidence: Evidence, *, name: str, cassette_path: str) -> str:
    """Draft a scenario that the recording passes: its screens, its input, its end.

    It is meant to be edited: it states what is there, not what matters.
    """
    manifest = evidence.manifest
    terminal = manifest.terminal
    groups: dict[str, list[dict[str, Any]]] = {"screen": _screen(evidence)}
    groups["streams"] = [{"type": "raw_output_order"}]
    for entry in evidence.entries[:20]:
        if not entry.masked and entry.text.strip():
            groups["streams"].append({"type": "input_text", "text": entry.text})
    exit_status = evidence.final.exit if evidence.final else None
    if exit_status is not None:
        groups["end"] = [
            {
                "type": "exit_status",
                "exit_code": exit_status.code,
                "signaled": exit_status.signaled,
            }
        ]
    document = {
        "name": name,
        "cassette_path": cassette_path,
        "expected_manifest_id": manifest.id,
        "expected_content_digest": manifest.content_digest.sha256,
        "required_emulator": {
            "name": terminal.emulator.name,
            "version": terminal.emulator.version,
        },
        "replay_mode": "collapsed",
        "terminal_size": {"rows": terminal.initial_rows, "cols": terminal.initial_cols},
        "expected_artifacts": list(_REQUIRED),
        "groups": {group: checks for group, checks in groups.items() if checks},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def draft_expectations(evidence: Evidence, *, name: str, cassette_path: str) -> str:
    """A scenario of what a reviewed run showed: as ``draft_scenario``, and its whole end.

    That is the last screen row by row, the final text, what the tape counts (requests, models,
    outcomes), and the tools that were called.
    """
    document = yaml.safe_load(draft_scenario(evidence, name=name, cassette_path=cassette_path))
    groups = document["groups"]
    if evidence.frames:
        last = evidence.frames[-1]
        groups["last-screen"] = [
            {"type": "frame_contains", "at_ms": evidence.end_ms, "row": number, "text": row}
            for number, row in enumerate(last.text)
            if row.strip()
        ]
    final = evidence.final
    metadata = (final.metadata if final else None) or {}
    if "tape" in metadata:
        check = {"type": "final_metadata", "metadata_key": "tape", "equals": metadata["tape"]}
        groups["requests"] = [check]
    if final is not None and final.final_text:
        groups["final-text"] = [{"type": "final_metadata", "text": final.final_text}]
    groups["tools"] = [
        {"type": "service_json", "json_path": "$.name", "equals": tool} for tool in _tools(evidence)
    ]
    document["groups"] = {group: checks for group, checks in groups.items() if checks}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _tools(evidence: Evidence) -> list[str]:
    """The names of the tools that were called, each once, in order."""
    payloads = [record.payload for record in evidence.services if isinstance(record.payload, dict)]
    names = [one.get("name") for one in payloads if one.get("type") == "tool-call"]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _screen(evidence: Evidence) -> list[dict[str, Any]]:
    """The longest lines of the first screen with text, and of the last."""
    checks: list[dict[str, Any]] = []
    spoken = [frame for frame in evidence.frames if any(row.strip() for row in frame.text)]
    for label, frames in (("first", spoken[:1]), ("last", spoken[-1:])):
        for frame in frames:
            rows = sorted({row.strip() for row in frame.text if row.strip()}, key=_by_length)
            for number, row in enumerate(rows[-MAX_LINES:], 1):
                check = {"name": f"{label}-{number}", "type": "frame_contains", "text": row}
                if not any(other["text"] == row for other in checks):
                    checks.append(check)
    return checks


def _by_length(row: str) -> tuple[int, str]:
    return len(row), row


def repin_scenario(text: str, evidence: Evidence) -> str:
    """The scenario's text with the pins of the recording; everything else is unchanged.

    Raises:
        ValueError: a pin is not on a line of its own.
    """
    emulator = evidence.manifest.terminal.emulator
    pins = {
        "expected_manifest_id": evidence.manifest.id,
        "expected_content_digest": evidence.manifest.content_digest.sha256,
    }
    lines = text.splitlines(keepends=True)
    for key, value in pins.items():
        places = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
        if len(places) != 1:
            raise ValueError(f"{key} is on {len(places)} lines of its own, not on one")
        ending = "\n" if lines[places[0]].endswith("\n") else ""
        lines[places[0]] = f"{key}: {value}{ending}"
    new = "".join(lines)
    document = yaml.safe_load(new)
    pin = document.get("required_emulator")
    if pin and pin != {"name": emulator.name, "version": emulator.version}:
        raise ValueError(
            f"required_emulator is {pin!r}, the recording has {emulator.name} {emulator.version}; "
            "change it by hand if that is meant"
        )
    return new
