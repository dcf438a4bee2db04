"""Makes a test of a trace: a cassette, and a file of pytest that runs the agent against it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ptycassette.agents.inprocess.calls import recorded_tools
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import ExistsError, UsageError
from ptycassette.formats.importing.io.importer import import_file, import_of
from ptycassette.formats.importing.registry import ImportFormat, import_named
from ptycassette.model.visible_text import visible
from ptycassette.system.files.whole_file import write_whole
from ptycassette.tape.matching.question import SECRET
from ptycassette.tape.providers.questions import read_question

_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FUNCTION = re.compile(rf"({_PATH}):({_PATH})", re.ASCII)
_MASKED = (
    "# The first question had a secret, which is masked. Put the real one here, or one of the same",
    "# form with PTYCASSETTE_SECRETS=any.",
)
_PACKED = (".gz", ".bz2", ".xz", ".zst")


class PlannedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A planned test from ``trace``. ``calls`` are the module and the function."""

    trace: Path
    by: ImportFormat
    harness: str | None
    cassette: Path
    test: Path
    calls: tuple[str, str] | None


class PromotedTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of ``promote`` for a trace.

    ``entries`` and ``tools`` count the calls of models and of tools. ``skipped`` counts the parts
    that could not be used, by reason. ``rebuilt``: the trace has only parts of the questions.
    """

    test: str
    cassette: str
    source: str
    format: str
    kind: str
    entries: int
    tools: int
    rebuilt: bool
    skipped: dict[str, int]


def planned(
    trace: Path,
    output: Path,
    *,
    calls: str | None,
    kind: str | None,
    harness: str | None,
    overwrite: bool,
) -> PlannedTest:
    """The plan for ``publish``; nothing is written yet.

    Raises:
        UsageError: the file is no trace, or ``calls`` names no function.
        ExistsError: a test or a cassette of that name is there.
        CassetteError: the file cannot be read.
    """
    by = import_of(trace) if kind is None else import_named(kind)
    if not by.calls:
        raise UsageError(
            f"a test cannot be made of this file, which is a {by.name}: it holds no calls",
            where=str(trace),
            hint="choose another --format, or use ptycassette import",
        )
    if harness is not None and not by.whose:
        raise UsageError(
            f"--harness is for session logs; this is read as {by.name}",
            hint="leave it out, or add --format session-log",
        )
    name = _name(trace.name, by)
    made = PlannedTest(
        trace=trace,
        by=by,
        harness=harness,
        cassette=output / f"{name}.cassette",
        test=output / f"test_{name}.py",
        calls=None if calls is None else _function(calls),
    )
    for path in (made.test, made.cassette):
        if not overwrite and (path.exists() or path.is_symlink()):
            raise ExistsError("something exists there already", where=str(path), hint="--overwrite")
    return made


def _function(said: str) -> tuple[str, str]:
    found = _FUNCTION.fullmatch(said)
    words = re.split(r"[.:]", said)
    if found is None or any(map(keyword.iskeyword, words)):
        raise UsageError(
            f"--calls: {visible(said, limit=100)!r} is not MODULE:FUNCTION",
            hint="for example --calls my_agent:run",
        )
    return found[1], found[2]


def _name(file: str, by: ImportFormat) -> str:
    """A name for the cassette and the test: the file's name, in letters that Python accepts."""
    for endings in (_PACKED, by.endings, (".json", ".jsonl", ".har", ".yaml", ".yml")):
        ending = next((one for one in endings if file.lower().endswith(one)), "")
        file = file[: len(file) - len(ending)]
    return re.sub(r"\W+", "_", file).strip("_").lower() or "trace"


def publish(plan: PlannedTest, *, forbidden: Sequence[str], overwrite: bool) -> PromotedTest:
    """Write the cassette and the test. ``forbidden`` are keys that no question may have.

    Raises:
        RefusedError: a question has inputs under forbidden keys.
        CassetteError: the trace is broken, or the disk refuses; the message names the place.
    """
    plan.cassette.parent.mkdir(parents=True, exist_ok=True)
    made = import_file(
        plan.trace,
        plan.cassette,
        by=plan.by,
        overwrite=overwrite,
        harness=plan.harness,
        whole=forbidden,
    )
    with open_cassette(plan.cassette) as cassette:
        tools = recorded_tools(list(cassette.service_events()))
        first = next(iter(cassette.tape()), None) if cassette.has_tape else None
        prompt = None if first is None else _prompt(first.question())
        masked = first is not None and any(one.type == SECRET for one in first.entry.tokens)
    text = _test_text(plan, prompt, masked=masked)
    write_whole(plan.test, [text.encode()], overwrite=overwrite)
    return PromotedTest(
        test=str(plan.test),
        cassette=made.cassette,
        source=made.source,
        format=made.format,
        kind=made.kind,
        entries=made.entries,
        tools=len(tools),
        rebuilt=made.rebuilt,
        skipped=made.skipped,
    )


def _prompt(question: bytes) -> str | None:
    """The user's first question; scrubbed, as the cassette has it."""
    asked = read_question(question)
    said = [one.text for one in asked.messages if one.role == "user"] if asked else []
    return said[-1] if said else None


def _test_text(plan: PlannedTest, prompt: str | None, *, masked: bool) -> str:
    given = "" if prompt is None else "PROMPT"
    if plan.calls is None:
        note = "`agent` is a fixture that you write, in conftest.py: your agent, a function."
        imports, parameter, call = list[str](), "agent", f"agent({given})"
    else:
        module, function = plan.calls
        note = "Add what your agent needs besides the prompt."
        imports, parameter = [f"import {module}"], ""
        call = f"{module}.{function}({given})"
    name = plan.test.stem
    lines = [
        f'"""The calls of {_quoted(plan.trace.name)}: the agent must make them again.',
        "",
        "Made by `ptycassette promote`. Answers come from the cassette, without a network.",
        "A tool is compared if `ptycassette.tape_tool` decorates it.",
        f"{note}",
        '"""',
        "",
        "import asyncio",
        "import inspect",
        "",
        *imports,
        "from ptycassette import use_tape",
        "",
        *(_MASKED if masked and prompt is not None else ()),
        *([f"PROMPT = {prompt!a}", ""] if prompt is not None else []),
        "",
        f'@use_tape("{plan.cassette.name}")',
        f"def {name}({parameter}):",
        f"    done = {call}",
        "    if inspect.iscoroutine(done):",
        "        asyncio.run(done)",
        "",
    ]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    """The name of a file, in a docstring."""
    return re.sub(r"[^\w .+-]", "_", name)
