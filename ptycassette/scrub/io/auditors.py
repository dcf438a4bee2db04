"""Runs an installed secret scanner over a cassette as a second opinion.

An auditor is a separate program with its own rules. It reads bytes, so it sees less than our
verification. It is independent, so it may find secrets that our rules miss. It runs in the
directory, without network access, and ignores comments in the text that switch it off. We use
only the rule and the file from its report.

gitleaks, betterleaks and kingfisher run as in their manuals. detect-secrets runs without its
entropy plug-ins, which mistake digests in a manifest for keys.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ptycassette.errors import NotFoundError, SessionError
from ptycassette.model.visible_text import visible
from ptycassette.system.interpreter import program_of_ours
from ptycassette.system.network import guarded_command

TIMEOUT_S = 300
_RULES = ("RuleID", "rule_id", "id", "type")
_FILES = ("File", "path", "filename")
_Argv = Callable[[str, Path], list[str]]


def _gitleaks(program: str, path: Path) -> list[str]:
    options = "--no-banner --redact=100 --exit-code=0 --report-format=json --report-path=-"
    return [
        program,
        "dir",
        str(path),
        *options.split(),
        "--log-level=error",
        "--ignore-gitleaks-allow",
    ]


AUDITORS: dict[str, _Argv] = {
    "gitleaks": _gitleaks,
    "betterleaks": _gitleaks,
    "kingfisher": lambda program, path: [
        program, "scan", str(path), "--quiet", "--no-validate", "--redact", "--format", "json",
        "--no-update-check", "--no-ignore",
    ],
    "detect-secrets": lambda program, _: [
        program, "scan", "--no-verify", "--all-files", "--disable-plugin=Base64HighEntropyString",
        "--disable-plugin=HexHighEntropyString", ".",
    ],
}  # fmt: skip
"""How each is called: to print JSON with the secrets taken out."""


def audit(name: str, path: Path) -> tuple[str, ...]:
    """The findings of one auditor: rule and file, no value.

    Raises:
        NotFoundError: it is not installed.
        SessionError: it failed, so it has no opinion.
    """
    path = path.absolute()
    program = program_of_ours(name)
    if program is None:
        raise NotFoundError(
            f"the auditor {name} is not installed",
            hint="install it, or verify without --auditor",
        )
    try:
        done = subprocess.run(
            guarded_command(AUDITORS[name](program, path), os.environ),
            cwd=path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise SessionError(f"the auditor {name} took more than {TIMEOUT_S} s") from exc
    said = visible(done.stderr.decode("utf-8", "replace"), limit=200)
    text = done.stdout.decode("utf-8", "replace").strip()
    try:  # kingfisher appends its counts as a second document
        document = json.JSONDecoder().raw_decode(text)[0] if text else []
    except ValueError as exc:
        raise SessionError(f"the auditor {name} ended with {done.returncode}: {said}") from exc
    found = [*_findings(document)]
    # 0: done; kingfisher returns 200 and more when it found something.
    if done.returncode and not found:
        raise SessionError(f"the auditor {name} failed with {done.returncode}: {said}")
    return tuple(f"{name}: {visible(file)}: rule {visible(rule)}" for rule, file in found)


def _findings(document: Any) -> Iterator[tuple[str, str]]:
    """(rule, file) of each finding, whichever scanner wrote the document.

    A finding is an object that names both, itself or in the objects in it.
    """
    items = document.values() if isinstance(document, dict) else document
    objects = [item for item in items if isinstance(item, dict | list)]
    fields = document if isinstance(document, dict) else {}
    for inner in (item for item in objects if fields and isinstance(item, dict)):
        fields = {**inner, **fields}
    rule = next((fields[key] for key in _RULES if isinstance(fields.get(key), str)), None)
    file = next((fields[key] for key in _FILES if isinstance(fields.get(key), str)), None)
    if rule is not None and file is not None:
        yield rule, Path(file).name
    else:
        for item in objects:
            yield from _findings(item)
