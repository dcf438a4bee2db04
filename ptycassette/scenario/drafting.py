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
