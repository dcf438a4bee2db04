"""Fork and blame code from outside: a command, usually a test, runs the code of a recording again.

The command is the user's own, and nothing from the cassette is run. The command finds the order for
its fork through ``PTYCASSETTE_FORK`` (``forking``). Its output is kept for the error message if it
makes no fork.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from ptycassette import errors
from ptycassette.agents.blame.io.blaming import (
    BlamedCode,
    BlameOptions,
    Job,
    blame,
    exit_text,
    run_job,
    steps_of,
    text_outcome,
)
from ptycassette.agents.blame.oracle import Oracle
from ptycassette.agents.blame.report import BlameReport
from ptycassette.agents.blame.steps import Ran, Step
from ptycassette.agents.faults.provider import last_call
from ptycassette.agents.fork.io.live import ForkOptions
from ptycassette.agents.fork.io.reading_lineage import manifest_sha256
from ptycassette.agents.fork.places import ForkPlace
from ptycassette.agents.fork.report import ForkReport
from ptycassette.agents.inprocess.calls import FORK_VARIABLE, RecordedTool, recorded_tools
from ptycassette.agents.inprocess.forking import ForkOrder, ForkResult, checked_options
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    RefusedError,
    SpawnError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.formats.export.trajectory.from_tape import read_tape
from ptycassette.model.records import NOT_JSON, ExitStatus, moment_us
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.io.faults import FAULT_VARIABLE
from ptycassette.replaying.io.modes import MODE_VARIABLE
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.whole_file import read_plain
from ptycassette.system.interpreter import python_command
from ptycassette.system.network import guarded_command

_MOST_RESULT = 8 << 20
_LAST_LINES = 8
_LAST_BYTES = 1 << 16
_WIDTH = 60
_TRACEBACK = "Traceback (most recent call last):"
_NEEDS_A_COMMAND = (
    "the recording is of code, and holds no command",
    "name what runs the code: -- pytest test_file.py::test_name",
)


def call_places(cassette: Cassette) -> Iterator[str]:
    """The places at which a recording of code can be forked, in order."""
    for step in _calls(cassette):
        yield f"{step.at}  {step.what}"


def fork_command(cassette: Cassette, target: Path, options: ForkOptions) -> ForkReport:
    """Fork a recording of code.

    Args:
        cassette: the parent.
        target: the child, a new directory.
        options: the options; ``argv`` is the command, ``cwd`` its folder, ``copied`` a
            folder to copy for it, ``patience_s`` its time limit beyond twice the recorded time.

    Raises:
        UsageError: no command was given, or the change cannot apply there.
        NotFoundError: the recording has no such call.
        DivergenceError: the code did not make the recorded calls up to the place, or never reached
            it.
        SpawnError: the command cannot be started.
        WaitTimeoutError: it did not end in time, and has written no child.
    """
    if not options.argv:
        raise UsageError(_NEEDS_A_COMMAND[0], hint=_NEEDS_A_COMMAND[1])
    if options.inputs is not None:
        raise UsageError("code has no terminal, so nothing can be typed")
    checked = checked_options(cassette, options)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        order = ForkOrder(
            manifest_sha256=manifest_sha256(cassette.path),
            at=str(checked.at),
            change=checked.change,
            tail=checked.tail,
            script=None if options.script is None else str(options.script.absolute()),
            live=options.live,
            child=str(target.absolute()),
            overwrite=options.overwrite,
            result=str(folder / "result"),
        )
        (folder / "order").write_bytes(msgspec.json.encode(order))
        limit_s = options.patience_s + 2 * moment_us(cassette.final) / 1e6
        status = _run(options, folder, limit_s=limit_s)
        if status is None and not (folder / "result").exists():
            late = WaitTimeoutError(
                f"no fork: the command had not ended after {limit_s:.1f} s, and was ended",
                hint="--patience SECONDS",
            )
            late.exit_status = DivergenceError.exit_status
            raise late
        report = _result_of(folder, checked.at, status)
        raised = report.raised or ("" if status is None else _uncaught(status, folder / "output"))
    ended = f"it was ended: it had not ended after {limit_s:.1f} s"
    return msgspec.structs.replace(
        report,
        argv=options.argv,
        exit=status,
        child=str(target),
        raised=raised,
        notes=(ended,) if status is None else (),
    )


def blame_command(path: Path, options: BlameOptions) -> BlameReport:
    """Find the calls of a recording of code that caused its outcome.

    Args:
        path: the cassette.
        options: the options; as for ``fork_command``. With the oracle ``exit`` the
            outcome is the exit status of the command.

    Raises:
        CassetteError: as for ``blame`` and ``fork_command``.
    """
    if not options.argv:
        raise UsageError(_NEEDS_A_COMMAND[0], hint=_NEEDS_A_COMMAND[1])
    code = BlamedCode(steps=_steps_of, run=run_code, loading=__name__)
    return blame(path, options, code=code)


def run_code(job: Job) -> Ran:
    """Make one run of a blame."""
    return run_job(job, _fork_of, _said)


def _fork_of(job: Job, child: Path, options: ForkOptions) -> ForkReport:
    with open_cassette(job.parent, check="manifest") as parent:
        return fork_command(parent, child, options)


def _said(oracle: Oracle, child: Path, report: ForkReport) -> str | None:
    if oracle.kind == "exit":
        return exit_text(report.exit)
    return text_outcome(oracle.value, _last_answer(child)) if oracle.kind == "text" else None


def _last_answer(path: Path) -> str:
    """The text of the model's last answer; empty if it has none."""
    with open_cassette(path, check="manifest") as cassette:
        if not cassette.has_tape:
            return ""
        said = [one.said.text for one in read_tape(cassette.tape(), cassette.events()).inferences]
    return said[-1] or "" if said else ""


# -- steps --------------------------------------------------------------------------------


def _steps_of(cassette: Cassette) -> list[Step]:
    """The steps that a blame changes: every question to a model, and every tool call."""
    models = {step.at for step in steps_of(cassette)}
    return [step for step in _calls(cassette) if step.at.kind == "tool" or step.at in models]


def _calls(cassette: Cassette) -> list[Step]:
    found: list[tuple[int, Step]] = []
    for one in cassette.tape() if cassette.has_tape else ():
        entry = one.entry
        tells = last_call(one.question()) is not None
        what = visible(f"{entry.method} {entry.target}", limit=_WIDTH)
        step = Step(
            at=ForkPlace("tape", entry.entry),
            what=f"asks {what}{', tells a result' if tells else ''}",
            route=f"{entry.kind} {entry.method} {entry.target.partition('?')[0]}",
            tells_result=tells,
        )
        found.append((entry.seq, step))
    for number, tool in enumerate(recorded_tools(list(cassette.service_events())), 1):
        arguments = msgspec.json.encode(tool.arguments).decode()
        step = Step(
            at=ForkPlace("tool", number),
            what=f"calls {visible(f'{tool.name} {arguments}', limit=_WIDTH)}",
            text=_result_text(tool),
            route=tool.name,
        )
        found.append((tool.seq, step))
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def _result_text(tool: RecordedTool) -> str:
    """A result in the form that ``tool-result`` takes."""
    if tool.outcome is None or tool.outcome.error:
        return ""
    output = tool.outcome.output
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()


# -- the command --------------------------------------------------------------------------


def _run(options: ForkOptions, folder: Path, *, limit_s: float) -> ExitStatus | None:
    """Run the command; None if it did not end in time. Processes that it leaves are ended."""
    cwd = options.cwd
    if options.copied is not None:
        cwd = folder / "work"
        shutil.copytree(options.copied, cwd, symlinks=True)
    environment = {name: text for name, text in os.environ.items() if name != FAULT_VARIABLE}
    environment |= {MODE_VARIABLE: "replay", FORK_VARIABLE: str(folder / "order")}
    environment |= dict(options.environment)
    words = list(options.argv)
    if words[0] == "pytest" and shutil.which("pytest", path=environment.get("PATH")) is None:
        words[:1] = python_command("-m", "pytest")
    with (folder / "output").open("wb") as output:
        try:
            process = subprocess.Popen(
                guarded_command(words, environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        except OSError as failed:
            said = f"the command cannot be started: {failed.strerror}"
            raise SpawnError(said, where=visible(words[0])) from failed
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code < 0:
        return ExitStatus(code=-1, exited=False, signaled=True, signal=_signal_name(-code))
    return ExitStatus(code=code, exited=True, signaled=False)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _uncaught(status: ExitStatus, output: Path) -> str:
    """The class of the uncaught error that Python reports; empty if there is none."""
    if not status.code:
        return ""
    lines = _last_lines(output)
    found = [number for number, line in enumerate(lines) if line == _TRACEBACK]
    for line in lines[found[-1] + 1 :] if found else ():
        if not line[:1].isspace():
            return line.partition(":")[0].rpartition(".")[2]
    return ""


def _result_of(folder: Path, place: ForkPlace, status: ExitStatus | None) -> ForkReport:
    """The report of the block.

    Raises:
        CassetteError: the error of the block, or no block uses the cassette.
    """
    try:
        data = read_plain(folder / "result", max_bytes=_MOST_RESULT)
    except CassetteError:
        shown = _last_lines(folder / "output")[-_LAST_LINES:]
        lines = "".join(f"\n  | {line}" for line in shown)
        raise DivergenceError(
            f"no fork: {place} was not reached: no block of use_tape used this cassette, and the"
            f" command ended with {exit_text(status)}{lines}",
            hint="the command must run the code that the cassette is of, in mode replay",
        ) from None
    try:
        result = msgspec.json.decode(data, type=resolved(ForkResult))
    except NOT_JSON as wrong:
        raise DivergenceError(
            f"no fork: the block of use_tape reported nonsense: {wrong}"
        ) from wrong
    if result.report is not None:
        return result.report
    name, message, hint = result.error or ("DivergenceError", "the block told nothing", "")
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, CassetteError)):
        kind = RefusedError
    try:
        error = kind(message, hint=hint or None)
    except TypeError:  # it takes more
        error = RefusedError(message, hint=hint or None)
    raise error


def _last_lines(path: Path) -> Sequence[str]:
    data = path.read_bytes()[-_LAST_BYTES:].decode("utf-8", "replace")
    return [printable(line)[:200] for line in data.splitlines() if line.strip()]
