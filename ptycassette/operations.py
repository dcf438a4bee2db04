"""The commands that work on cassettes, as functions: verify, export, scrub, seal, fork and more.

Each function does what the command of the same name does, prints nothing, and raises a
``CassetteError`` whose ``exit_status`` is that of the command. Nothing is half written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import UsageError

if TYPE_CHECKING:
    from ptycassette.agents.blame.report import BlameReport
    from ptycassette.agents.fork.report import ForkReport
    from ptycassette.cassette.io.verdict import Verdict
    from ptycassette.model.records import ScrubReport
    from ptycassette.replaying.scenario.evaluation import ScenarioOutcome
    from ptycassette.seal.io.sealing import Sealed


def verify_cassette(
    path: str | os.PathLike[str], *, rederive: bool = False, allow_unscrubbed: bool = False
) -> Verdict:
    """Check everything in a cassette: format, order, times, every digest.

    Args:
        path: its directory.
        rederive: also render every frame again from the output, and compare.
        allow_unscrubbed: accept a cassette that was never scrubbed.

    Returns:
        The verdict: ``ok``; ``error``, the first rule that is broken; ``mismatches``, the frames
        that differ from those rendered again.
    """
    from ptycassette.cassette.io import verdict
    from ptycassette.tape.io.recorded_answers import published_damage
    from ptycassette.terminal.emulator import default_emulator

    return verdict.verify_cassette(
        os.fspath(path),
        allow_unscrubbed=allow_unscrubbed,
        emulator=default_emulator if rederive else None,
        tape=published_damage,
    )


def export_cassette(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name of the option
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
    **options: Any,
) -> None:
    """Write a recording as a page, picture, film, text, log or test.

    Args:
        path: the cassette.
        out: the file to write; it is written whole or not at all.
        format: the name of a format (``html``, ``svg``, ``asciicast``, ...); the ending of ``out``
            decides when None.
        overwrite: replace an existing file.
        allow_unscrubbed: also open a cassette that was never scrubbed.
        **options: the options of the format, named as those of ``ptycassette export`` with ``_``
            for ``-`` (``--from`` is ``start``, ``--to`` is ``end``). A time is a number of seconds
            or a text such as ``1m30s``, ``exchanges`` a number or a pair, ``report`` a path.

    Raises:
        UsageError: there is no such format, it has no such option, the option does not take this
            value, or the format cannot hold the recording.
        ExistsError: the file exists.
        CassetteError: the cassette cannot be opened, or the disk refuses.
    """
    from ptycassette.agents.inprocess.drifting import with_turns
    from ptycassette.formats.export.options import EXPORT_OPTIONS
    from ptycassette.formats.export.registry import export_of_file, exports_of
    from ptycassette.replaying.standin.io.process import read_reports
    from ptycassette.system.files.whole_file import write_whole

    name = os.fspath(out)
    if format is None:
        chosen = export_of_file(name, of="recording")
    else:
        known = {one.name: one for one in exports_of("recording")}
        if format not in known:
            raise UsageError(f"there is no format {format!r}", hint=f"use {', '.join(known)}")
        chosen = known[format]
    unknown = sorted(set(options) - set(chosen.options))
    if unknown:
        raise UsageError(
            f"{chosen.name} has no option {unknown[0]}",
            hint=f"its options: {', '.join(chosen.options) or 'none'}",
        )
    taken = {
        one.name: one.checked(options[one.name]) for one in EXPORT_OPTIONS if one.name in options
    }
    if taken.get("report") is not None:
        where = os.fspath(taken["report"])
        taken["report"] = tuple(read_reports(where))
        if not taken["report"]:
            raise UsageError("there is no report", where=where, hint="PTYCASSETTE_REPORT names it")
    with open_cassette(path, allow_unscrubbed=allow_unscrubbed) as cassette:
        as_recorded = chosen.of_records or cassette.output_size
        source = cassette if as_recorded else with_turns(cassette)  # code has no screen
        write_whole(name, chosen.recording(source, **taken), overwrite=overwrite)


def scrub_cassette(
    path: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    known: Iterable[str] = (),
    volatile: bool = False,
) -> ScrubReport:
    """Remove secrets from a cassette, also from one that was recorded without scrubbing.

    Args:
        path: its directory.
        output: where to write the result; in place when None.
        known: values that are secret, besides those that the rules, the environment and the
            credential files of this machine give.
        volatile: also replace clocks, process ids and the like.

    Returns:
        The report, which counts replacements by rule.

    Raises:
        UsageError: a known value is too short, or the configuration is wrong.
        SecretLeftError: a secret would be left; nothing was written.
        CassetteError: the cassette cannot be read or written.
    """
    from ptycassette.recording.io.rescrub import scrub_cassette as scrubbed
    from ptycassette.scrub.io.setup import session_scrubber

    values = (known,) if isinstance(known, str) else known
    try:
        scrubber = session_scrubber(known=values, volatile=volatile)
    except ValueError as wrong:
        raise UsageError(str(wrong)) from wrong
    return scrubbed(Path(path), scrubber, target=None if output is None else Path(output))


def seal_cassette(
    path: str | os.PathLike[str],
    key: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
) -> Sealed:
    """Sign the content of a cassette with a private key. Needs the extra ``seal``.

    Args:
        path: its directory; the seal is written beside it.
        key: the file of the key; the variable PTYCASSETTE_SEAL_KEY when None.
        overwrite: replace another signer's seal, or one that is no longer valid.
        allow_unscrubbed: also seal a cassette that was never scrubbed.

    Returns:
        The path of the seal, and whether a valid one was kept.

    Raises:
        CassetteError: the key or the cassette cannot be read, or there is another seal.
    """
    from ptycassette.extras import needing_extra

    with needing_extra("seal"):
        from ptycassette.seal.io.key_files import read_signer
        from ptycassette.seal.io.sealing import KeySealer
        from ptycassette.seal.io.sealing import seal_cassette as sealed

    signer, public = read_signer(None if key is None else os.fspath(key))
    done = sealed(
        os.fspath(path),
        KeySealer(signer, public),
        overwrite=overwrite,
        allow_unscrubbed=allow_unscrubbed,
    )
    if done.error is not None:
        raise done.error
    return done


def check_scenario(
    path: str | os.PathLike[str], *, cassette: str | os.PathLike[str] | None = None
) -> ScenarioOutcome:
    """Check a scenario file against its recording.

    Args:
        path: the scenario.
        cassette: the recording; the one that the scenario names when None.

    Returns:
        The outcome: ``passed``, and ``failures``.

    Raises:
        UsageError: the file is not a scenario.
        CassetteError: the recording cannot be opened.
    """
    from ptycassette.replaying.scenario.io import run_scenario

    return run_scenario(os.fspath(path), cassette=None if cassette is None else os.fspath(cassette))


def fork_cassette(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    trusted: bool,
    at: str = "exchange:1",
    change: str = "none",
    **options: Any,
) -> ForkReport:
    """Run a recording again with one change, and record what follows.

    Args:
        path: the parent, a cassette.
        target: the child, a new directory.
        trusted: confirm that the author of the cassette may control this machine: its command line
            is run, and the answers of its tape make an agent call tools.
        at: the place: ``exchange:3`` (typed input) or ``tape:2`` (a request).
        change: ``NAME=VALUE``, such as ``response=It says to buy wool.``
        **options: other fields of ``ForkOptions`` (``tail``, ``live``, ``argv``, ``cwd``, ...).

    Returns:
        The report: where the child comes from, and how the program ended.

    Raises:
        TypeError: an option does not exist.
        RefusedError: it is not trusted, or the target exists. Nothing was started.
        CassetteError: as ``ptycassette fork`` reports it.
    """
    from ptycassette.agents.fork.io.forking import fork
    from ptycassette.agents.fork.io.live import ForkOptions
    from ptycassette.agents.fork.places import Change, ForkPlace

    chosen = ForkOptions(
        trusted=trusted, at=ForkPlace.parse(at), change=Change.parse(change), **options
    )
    with open_cassette(path, check="manifest") as parent:  # the gate checks the rest
        return fork(parent, Path(target), chosen)


def blame_cassette(
    path: str | os.PathLike[str],
    oracle: str,
    *,
    trusted: bool,
    budget: int,
    at: Sequence[str] = (),
    interventions: Sequence[str] | None = None,
    **options: Any,
) -> BlameReport:
    """Find the exchanges that caused the outcome of a recording, by forks.

    Its workers import the file that calls it: call it below ``if __name__ == "__main__"``.

    Args:
        path: the cassette.
        oracle: how the outcome is recognised: ``exit``, ``text:all tests passed``, ...
        trusted: as for ``fork_cassette``.
        budget: the highest number of runs.
        at: the places to look at, such as ``tape:2``; all when empty.
        interventions: ``neutral``, ``drop``, ``tool-result`` or ``swap``; all when None.
        **options: as for ``fork_cassette``.

    Returns:
        The report: ``causes``, and each run.

    Raises:
        TypeError: an option does not exist.
        RefusedError: it is not trusted. Nothing was started.
        CassetteError: as ``ptycassette blame`` reports it.
    """
    from ptycassette.agents.blame.io.blaming import BlameOptions, blame
    from ptycassette.agents.blame.oracle import Oracle
    from ptycassette.agents.fork.places import ForkPlace

    if interventions is not None:
        options["interventions"] = tuple(interventions)
    chosen = BlameOptions(
        oracle=Oracle.parse(oracle),
        trusted=trusted,
        budget=budget,
        steps=tuple(map(ForkPlace.parse, at)),
        **{"tail": "held", **options},
    )
    return blame(Path(path), chosen)
