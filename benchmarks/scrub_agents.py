"""Real agent CLIs that show secrets: ``python -m benchmarks.scrub_agents [NAME ...] [--seed N]``.

Each CLI is recorded offline, unscrubbed, while the fake provider streams an answer with a
secret of each of many kinds in it, as Markdown. The recording is then scrubbed by rules alone.
What is printed: how much of the secrets was on the screen, how much of them is in any file
afterwards, and words on the screen that went with them. The CLIs are installed as
``fixtures/make_agents.py`` does it, which needs npm and pip.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scrub_cases import CASES, ROOT, load
from ptycassette.agents.harness.probe import Drive
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError
from ptycassette.recording.io.rescrub import scrub_cassette
from ptycassette.scrub.session import default_scrubber

NAMES = ("codex", "gemini", "opencode", "aider", "claude")
ASKED = "List all of it"
LAST = "END OF ALL"
WINDOW = 8
_BESIDE = re.compile(r"[\s│┃|┆╎▌▎█]+")
_WORDS = re.compile("[a-z_-]+")
# What a CLI shows when it waits, whether it is busy, and how it is left.
_READY = {
    "codex": ("regex = '^\u203a ', contains = [\"gpt-5.1-codex\"]", "esc to interrupt", 1),
    "gemini": ('contains = ["Type your message"]', "esc to cancel", 2),
    "opencode": ('contains = ["Ask anything"]', "esc interrupt", 1),
    "aider": ("regex = '^> *\\Z'", "Waiting for", 0),
    "claude": ("regex = '^\u276f'", "esc to interrupt", 2),
}


def answer(rng: random.Random) -> tuple[str, list[str]]:
    """Markdown with secrets: in a list, in code, in a table; and the secrets."""
    made = [CASES.make_secret(kind, rng) for kind in rng.sample(CASES.KINDS, len(CASES.KINDS))]
    lines = [one for one in made if "\n" not in one.text and len(one.value) > WINDOW][:24]
    keys = [one for one in made if "\n" in one.text][:1]
    findings = [f"- it says {one.text} there" for one in lines[:8]]
    code = ["```", *(one.text for one in (*lines[8:18], *keys)), "```"]
    table = [
        "| what | is |",
        "|---|---|",
        *(f"| {n} | {one.text} |" for n, one in enumerate(lines[18:])),
    ]
    text = "\n".join(["This is what I found.", "", *findings, "", *code, "", *table, "", LAST])
    return text, [one.value for one in (*lines, *keys)]


def drive_of(name: str, size: tuple[int, int], text: str, folder: Path, drives: Path) -> Path:
    """A drive in ``folder`` that asks for the answer, resizes the terminal, and leaves."""
    script = (drives / f"{name}.provider.toml").read_text()
    reply = (
        f'[[replies]]\nname = "all"\ntimes = 0\nwhen = {{ prompt_contains = "{ASKED}" }}\n'
        f"text = {json.dumps(text)}\n"
    )
    (folder / f"{name}.provider.toml").write_text(f"{script}\n{reply}")
    usual = Drive.parse((drives / f"{name}-tui.toml").read_text(), where=name)
    ready, busy, interrupts = _READY[name]
    leave = '{ key = "ctrl-c", pause_ms = 500 }'
    strokes = ", ".join([leave] * interrupts) or '{ text = "/exit" }, { key = "enter" }'
    rows, cols = size
    files = ", ".join(
        f"{json.dumps(one)} = {json.dumps(said)}" for one, said in usual.files.items()
    )
    shown = f'contains = ["{LAST}"], absent = ["{busy}"], stable_ms = 1500'
    head = [
        "version = 1",
        f'name = "{name}-secrets"',
        f'harness = "{name}"',
        f'script = "{name}.provider.toml"',
        f'model = "{usual.model}"',
        f'title = "Secrets in {name}"',
        f"rows = {rows}",
        f"cols = {cols}",
        f"arguments = {json.dumps(list(usual.arguments))}",
        f"files = {{ {files} }}",
    ]
    steps = [
        f"wait = {{ {ready}, stable_ms = 1000 }}\ntimeout_s = 60",
        f'submit = "{ASKED}"',
        f"wait = {{ {shown} }}\ntimeout_s = 120",
        f"resize = [{rows}, {max(40, cols - 17)}]",
        "wait = { stable_ms = 900 }",
        f"strokes = [{strokes}]",
        "exit = true",
    ]
    path = folder / f"{name}.toml"
    path.write_text("\n".join([*head, *(f"[[steps]]\n{step}" for step in steps)]) + "\n")
    return path


def screens(path: Path) -> list[tuple[str, ...]]:
    """The frames of a recording, as text."""
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        return [tuple(frame.text) for frame in cassette.frames()]


def pieces(secrets: Sequence[str]) -> set[str]:
    """Every eight characters of them that follow each other, but for words, as prefixes have."""
    whole = ["".join(secret.split()) for secret in secrets]
    parts = {one[at : at + WINDOW] for one in whole for at in range(len(one) - WINDOW + 1)}
    return {part for part in parts if not _WORDS.fullmatch(part)}


def gone(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> Iterator[str]:
    """Words that differ between two screens, as they were."""
    for one, other in zip(before, after, strict=True):
        for row, masked in zip(one, other, strict=True):
            for word in re.finditer(r"\S+", row):
                if row[slice(*word.span())] != masked[slice(*word.span())]:
                    yield word.group()


def judge(recorded: Path, secrets: Sequence[str]) -> dict[str, Any]:
    """What scrubbing by rules alone leaves of a recording, and what goes besides."""
    before = screens(recorded)
    scrubbed = recorded.with_name(f"{recorded.name}-scrubbed")
    try:
        report = scrub_cassette(recorded, default_scrubber(), target=scrubbed)
    except CassetteError as exc:
        return {"refused": str(exc)}
    wanted = pieces(secrets)
    shown = "".join(_BESIDE.sub("", "".join(screen)) for screen in before)
    after = "".join(_BESIDE.sub("", "".join(screen)) for screen in screens(scrubbed))
    files = b"".join(file.read_bytes() for file in scrubbed.iterdir())
    whole = "".join("".join(secret.split()) for secret in secrets)
    other = [word for word in gone(before, screens(scrubbed)) if word[:4] not in whole]
    return {
        "status": report.status,
        "frames": len(before),
        "shown": sum(piece in shown for piece in wanted),
        "pieces": len(wanted),
        "left": sorted(p for p in wanted if p in after or p.encode() in files),
        "words": len(other),
    }


def main() -> None:
    """Record, scrub and judge each; status 1 when anything is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    made = load(ROOT / "fixtures" / "make_agents.py")
    bad = False
    for name in options.names or NAMES:
        rng = random.Random(f"{options.seed}{name}")  # noqa: S311 - the same secrets every time
        text, secrets = answer(rng)
        size = rng.choice(((24, 80), (30, 100), (40, 110), (30, 72), (40, 64)))
        with tempfile.TemporaryDirectory() as folder:
            path = drive_of(name, size, text, Path(folder), made.DRIVES)
            drive = Drive.parse(path.read_text(), where=str(path))
            target = Path(folder) / "recorded"
            made.record_only(path, drive, target, scrub=False)
            found = judge(target, secrets)
        bad = bad or "refused" in found or bool(found["left"])
        print(name, f"{size[0]}x{size[1]}", json.dumps(found), flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
