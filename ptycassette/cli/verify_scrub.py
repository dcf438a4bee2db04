"""``ptycassette verify-scrub CASSETTE...``: search for secrets that are left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ptycassette.cli._options import (
    FilesCommand,
    cassettes_with,
    files_option,
    follow_links_option,
    json_option,
)
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.cli.scrub import known_options, scrubber_of
from ptycassette.model.visible_text import visible

FOUND_STATUS = 6


@click.command("verify-scrub", cls=FilesCommand)
@click.argument("cassettes", metavar="CASSETTE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--auditor",
    multiple=True,
    type=click.Choice(["gitleaks", "betterleaks", "kingfisher", "detect-secrets"]),
    help="Also run this installed scanner. Repeatable.",
)
@known_options
@files_option
@follow_links_option
@json_option
def command(
    cassettes: tuple[str, ...],
    auditor: tuple[str, ...],
    files: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Check each CASSETTE for secrets, independently of the scrubber.

    It searches bytes, screens, titles, keys, events and documents, also encoded
    ones, by all rules and for all known values (environment, credential files,
    config). A finding names channel, time and rule, never the value.

    Ends with 0 if no secret is left, with 6 if one is.

    Example: ptycassette verify-scrub tests/cassettes/*
    """
    from ptycassette.recording.io.rescrub import find_secrets_left
    from ptycassette.scrub.io.auditors import audit

    reports = []
    for path in cassettes_with(cassettes) if files else cassettes:
        findings = list(find_secrets_left(Path(path), scrubber_of(**options)))
        for name in auditor:
            findings += audit(name, Path(path))
        reports.append({"path": path, "ok": not findings, "findings": findings})
        if not as_json:
            what = count_text(len(findings), "finding") if findings else "nothing left"
            write_lines([f"{visible(path)}: {what}", *(f"  {visible(line)}" for line in findings)])
    ok = all(report["ok"] for report in reports)
    if as_json:
        write_lines([json_text({"ok": ok, "cassettes": reports})])
    return 0 if ok else FOUND_STATUS
