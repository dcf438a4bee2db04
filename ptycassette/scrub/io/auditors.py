"""Runs an installed secret scanner over a cassette as a second opinion.

An auditor is a program of its own with rules of its own. It reads bytes, so it
sees less than our verification does. It is independent, so it may find what our rules
miss. It runs in the directory, without network access, and ignores comments in the text
that switch it off. Only the rule and the file are taken from its report.

gitleaks, betterleaks and kingfisher are asked as their manuals say; detect-secrets
without its plug-ins on entropy, which take digests of a manifest for keys.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptycassette.errors import NotFoundError, SessionError
from ptycassette.model import visible

TIMEOUT_S = 300
_Argv = Callable[[str, Path], list[str]]

AUDITORS: dict[str, _Argv] = {
    "gitleaks": lambda program, path: [
        program, "dir", str(path), "--no-banner", "--redact=100", "--exit-code=0",
        "--report-format=json", "--report-path=-", "--log-level=error", "--ignore-gitleaks-allow",
    ],
    "betterleaks": lambda program, path: [
        program, "dir", str(path), "--no-banner", "--redact=100", "--exit-code=0",
        "--report-format=json", "--report-path=-", "--log-level=error", "--ignore-gitleaks-allow",
    ],
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
    program = shutil.which(name)
    if program is None:
        raise NotFoundError(
            f"the auditor {name} is not installed",
            hint="install it, or verify without --auditor",
        )
    try:
        done = subprocess.run(
            AUDITORS[name](program, path),
            cwd=path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise SessionError(f"the auditor {name} took more than {TIMEOUT_S} s") from exc
    text = done.stdout.decode("utf-8", "replace").strip()
    try:
        found = _findings(_first_document(text))
    except ValueError as exc:
        raise SessionError(
            f"the auditor {name} ended with {done.returncode} and no JSON: "
            f"{visible(done.stderr.decode('utf-8', 'replace'), limit=200)}"
        ) from exc
    # 0: done; kingfisher says 200 and more when it found something.
    if done.returncode and not found:
        raise SessionError(
            f"the auditor {name} failed with {done.returncode}: "
            f"{visible(done.stderr.decode('utf-8', 'replace'), limit=200)}"
        )
    return tuple(f"{name}: {visible(file)}: rule {visible(rule)}" for rule, file in found)


def _first_document(text: str) -> Any:
    """The findings of a scanner. kingfisher appends its counts as a second document."""
    return json.JSONDecoder().raw_decode(text)[0] if text else []


def _findings(document: Any) -> list[tuple[str, str]]:
    """(rule, file) of each finding, whichever scanner wrote the document."""
    if isinstance(document, dict):
        by_file = document.get("results")
        if isinstance(by_file, dict):
            document = [
                one for found in by_file.values() if isinstance(found, list) for one in found
            ]
        else:
            document = document.get("findings") or []
    result = []
    for item in document if isinstance(document, list) else []:
        if not isinstance(item, dict):
            continue
        rule = item.get("RuleID") or _inside(item, "rule", "id") or item.get("rule_id")
        rule = rule or item.get("type") or "unknown"
        file = item.get("File") or _inside(item, "finding", "path") or item.get("path")
        file = file or item.get("filename") or ""
        result.append((str(rule), Path(str(file)).name))
    return result


def _inside(item: dict[str, Any], outer: str, inner: str) -> Any:
    found = item.get(outer)
    return found.get(inner) if isinstance(found, dict) else None
