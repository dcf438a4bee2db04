"""``ptycassette verify CASSETTE...``: check everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import (
    FilesCommand,
    allow_unscrubbed_option,
    cassettes_with,
    files_option,
    follow_links_option,
    json_option,
    path_option,
    project,
)
from ptycassette.cli._present import (
    count_text,
    error_lines,
    field_lines,
    json_text,
    time_text,
    write_lines,
)
from ptycassette.cli._seals import cassettes_named, seal_report, trust_in_force, verdict_lines
from ptycassette.errors import CassetteError, ExistsError, StorageError, UsageError
from ptycassette.extras import needing_extra
from ptycassette.keys.quantities import bytes_text
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cassette.io.repair import Fixed
    from ptycassette.cassette.io.verdict import Verdict
    from ptycassette.cli._reports import VerifiedCassette
    from ptycassette.seal.trust import SealVerdict

MISMATCH_STATUS = 1
LARGE_BYTES = 20_000_000
"""Below this, checking is over before a progress bar is read."""


@click.command("verify", cls=FilesCommand)
@click.argument("cassettes", metavar="CASSETTE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--rederive", is_flag=True, help="Also render every frame again from the output and compare."
)
@click.option(
    "--fix",
    is_flag=True,
    help="First repair damage that the digests prove, and protect each cassette from git"
    " (docs/git.md).",
)
@click.option(
    "--sealed",
    is_flag=True,
    help="Check the seals, and the bytes against them, instead of the format.",
)
@path_option(
    "--trust",
    metavar="FILE",
    text="Accept only the seals that this TOML file trusts (docs/sealing.md).",
)
@files_option
@path_option(
    "--summary", metavar="FILE", text="Append a Markdown table to FILE, for the page of a CI job."
)
@follow_links_option
@json_option
@allow_unscrubbed_option
def command(
    cassettes: tuple[str, ...],
    rederive: bool,
    fix: bool,
    sealed: bool,
    trust: Path | None,
    files: bool,
    summary: Path | None,
    as_json: bool,
    allow_unscrubbed: bool,
) -> int:
    """Check everything in each CASSETTE: format, order, times, every digest.

    Ends with 0 if all are valid, otherwise with the status of the first that is
    not: 3 not found, 4 not valid or never scrubbed, 1 if frames differ from those
    rendered again (--rederive), 7 if its seal does not hold or is not trusted.

    In a git work tree it reports what git would change. --fix adds a .gitattributes
    that prevents this, and undoes changes of line ends by git or an editor. It
    changes a cassette only if every digest matches afterwards.

    With --sealed it checks every byte against the seal instead of the format. If
    the project file requires seals, they are checked without the option, too.

    Example: ptycassette verify tests/cassettes/* --rederive
    """
    if files:
        cassettes = tuple(cassettes_with(cassettes))
    if sealed and (rederive or fix):
        option = "--rederive" if rederive else "--fix"
        raise UsageError(f"--sealed looks at seals alone: {option} does not go with it")
    if sealed and summary is not None:
        raise UsageError("--summary goes without --sealed")
    if sealed:
        return _verify_seals(cassettes, trust, as_json=as_json)
    policy = project().seal
    if trust is not None and not policy.required:
        raise UsageError("--trust goes with --sealed")
    seals = _seal_checker(trust) if policy.required else None
    checked = []
    reports = []
    for path in cassettes_named(cassettes):
        tried = _fix(path, allow_unscrubbed=allow_unscrubbed) if fix else None
        fixed = None if isinstance(tried, CassetteError) else tried
        verdict = _verify(path, rederive=rederive, allow_unscrubbed=allow_unscrubbed)
        if isinstance(tried, CassetteError) and verdict.error is not None:
            verdict.error.hint = tried.hint
        seal = None if seals is None else seals(path)
        risks = _risks(path) if verdict.error is None else ()
        ignored = _ignored(path) if verdict.error is None else ()
        checked.append((verdict, seal))
        if as_json:
            reports.append(_report(verdict, seal, fixed, risks, ignored))
        else:
            write_lines(_lines(verdict, fixed, risks, ignored))
            write_lines([] if seal is None else verdict_lines(seal))
    if as_json:
        _write_report(tuple(reports))
    if summary is not None:
        _append(summary, _summary([verdict for verdict, _ in checked]))
    statuses = (_status(verdict) or _seal_status(seal) for verdict, seal in checked)
    return next(filter(None, statuses), 0)


def _fix(path: str, *, allow_unscrubbed: bool) -> Fixed | CassetteError:
    """The result of ``--fix``, or the reason why it did nothing."""
    from ptycassette.cassette.io.repair import fix_cassette

    try:
        return fix_cassette(Path(path), allow_unscrubbed=allow_unscrubbed)
    except (StorageError, ExistsError):
        raise
    except CassetteError as error:
        return error


def _risks(path: str) -> tuple[str, ...]:
    from ptycassette.cassette.io.repair import git_risks

    return tuple(git_risks(Path(path)))


def _ignored(path: str) -> tuple[str, ...]:
    """Files that a file manager or an editor left among the files of a cassette."""
    from ptycassette.cassette.layout import is_litter

    return tuple(sorted(one.name for one in Path(path).iterdir() if is_litter(one.name)))


def _verify_seals(cassettes: tuple[str, ...], trust: Path | None, *, as_json: bool) -> int:
    with needing_extra("seal"):
        from ptycassette.seal.io.sealing import check_seals

        found = check_seals(cassettes_named(cassettes), trust_in_force(trust))
    verdicts = []
    for verdict in found:
        verdicts.append(verdict)
        if not as_json:
            write_lines(verdict_lines(verdict))
    if as_json:
        from ptycassette.cassette.io.verdict import Verdict

        plain = (
            Verdict(path=one.path, id=None if one.statement is None else one.statement.id)
            for one in verdicts
        )
        _write_report(tuple(_report(one, seal) for one, seal in zip(plain, verdicts, strict=True)))
    return next(filter(None, map(_seal_status, verdicts)), 0)


def _seal_checker(trust: Path | None) -> Callable[[str], SealVerdict]:
    with needing_extra("seal"):
        from ptycassette.seal.io.sealing import check_seal

        in_force = trust_in_force(trust)
    return lambda path: check_seal(path, in_force)


def _write_report(cassettes: tuple[VerifiedCassette, ...]) -> None:
    from ptycassette.cli._reports import VerifyReport

    report = VerifyReport(ok=all(one.ok for one in cassettes), cassettes=cassettes)
    write_lines([json_text(report)])


def _seal_status(seal: SealVerdict | None) -> int:
    return seal.error.exit_status if seal is not None and seal.error is not None else 0


def _status(verdict: Verdict) -> int:
    if verdict.ok:
        return 0
    return verdict.error.exit_status if verdict.error is not None else MISMATCH_STATUS


def _tape_damage(cassette: Cassette) -> list[str] | None:
    """The parts of a tape that are not as they were published."""
    from ptycassette.tape.io.recorded_answers import published_damage

    return published_damage(cassette)


def _verify(path: str, *, rederive: bool, allow_unscrubbed: bool) -> Verdict:
    """Check one, with a progress bar on stderr if it takes long."""
    from ptycassette.cassette.io.verdict import verify_cassette

    factory = None
    if rederive:
        from ptycassette.terminal.emulator import default_emulator

        factory = default_emulator
    bar: ProgressBar[int] | None = None
    done = 0

    def progress(position: int, total: int) -> None:
        nonlocal bar, done
        if total < LARGE_BYTES or not sys.stderr.isatty():
            return
        if bar is None:
            bar = click.progressbar(length=total, label="checking", file=sys.stderr)
        bar.update(position - done)
        done = position

    def stage(name: str) -> None:
        if name == "frames" and sys.stderr.isatty():
            _finish(bar)
            click.echo("making frames again ...", err=True)

    try:
        return verify_cassette(
            path,
            allow_unscrubbed=allow_unscrubbed,
            emulator=factory,
            progress=progress,
            stage=stage,
            tape=_tape_damage,
        )
    finally:
        _finish(bar)


def _finish(bar: ProgressBar[int] | None) -> None:
    if bar is not None and not bar.finished:
        bar.finish()
        bar.render_finish()


def _lines(
    verdict: Verdict, fixed: Fixed | None, risks: Sequence[str], ignored: Sequence[str]
) -> Iterator[str]:
    if verdict.error is not None:
        named = visible(verdict.path) or "''"
        yield f"{named}: NOT VALID, {type(verdict.error).__name__}"
        for line in error_lines(verdict.error):
            yield f"  {line.removeprefix('ptycassette: ')}"
        return
    yield f"{visible(verdict.path)}: {'valid' if verdict.ok else 'FRAMES DIFFER'}"
    yield from field_lines(_fields(verdict))
    done = () if fixed is None else [*fixed.restored.items(), *((one, "") for one in fixed.added)]
    yield from field_lines(
        ("fixed", f"{name}: {cause}; restored" if cause else f"{name} added")
        for name, cause in done
    )
    yield from field_lines(("at risk", risk) for risk in risks)
    if ignored:
        names = ", ".join(visible(name, limit=80) for name in ignored)
        yield from field_lines([("ignored", f"{names}: not part of the recording; remove it")])
    for found in verdict.mismatches:
        yield (
            f"  frame at seq {found.seq}, {found.t_ms} ms, {visible(found.field)}: "
            f"stored {visible(repr(found.stored), limit=120)}, "
            f"made again {visible(repr(found.derived), limit=120)}"
        )
    left = verdict.mismatch_count - len(verdict.mismatches)
    if left:
        yield f"  and {count_text(left, 'more difference')}"


def _fields(verdict: Verdict) -> Iterator[tuple[str, str]]:
    found = verdict.verified
    if found is None:
        return
    events = found.inputs + found.outputs + found.frames + found.service_events + 1
    yield "order", f"{count_text(events, 'event')} in {time_text(found.duration_ms * 1000)}, no gap"
    output = f"{count_text(found.outputs, 'chunk')}, {bytes_text(found.output_bytes)}"
    yield "output", f"{output}, digest as pinned"
    if found.pinned:
        yield "files", "every file is pinned, all digests hold"
    else:
        yield "files", "only output.raw is pinned by this cassette"
    if found.tape_entries:
        proof = "as published" if verdict.tape_proved else "not checked (other matching rules)"
        entries = count_text(found.tape_entries, "entry", "entries")
        yield "tape", f"{entries}, all bodies whole, fingerprint {proof}"
    yield "scrubbed", visible(verdict.scrub_status or "", limit=100)
    if verdict.rederived is not None:
        differ = count_text(verdict.mismatch_count, "difference")
        same = "all as stored" if not verdict.mismatch_count else differ
        yield "frames", f"{verdict.rederived} made again, {same}"


def _report(
    verdict: Verdict,
    seal: SealVerdict | None,
    fixed: Fixed | None = None,
    risks: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
) -> VerifiedCassette:
    from ptycassette.cli._reports import ErrorReport, Mismatch, StreamCounts, VerifiedCassette

    error, found = verdict.error, verdict.verified
    if error is None and seal is not None:
        error = seal.error
    return VerifiedCassette(
        path=verdict.path,
        ok=verdict.ok and error is None,
        error=None if error is None else ErrorReport.of(error),
        id=verdict.id,
        pinned=found.pinned if found is not None else None,
        scrub_status=verdict.scrub_status,
        streams=None
        if found is None
        else StreamCounts(
            inputs=found.inputs,
            outputs=found.outputs,
            frames=found.frames,
            service_events=found.service_events,
            output_bytes=found.output_bytes,
            tape_entries=found.tape_entries,
        ),
        frames_rederived=verdict.rederived,
        mismatch_count=verdict.mismatch_count,
        mismatches=tuple(
            Mismatch(
                seq=one.seq,
                t_ms=one.t_ms,
                field=one.field,
                stored=one.stored,
                derived=one.derived,
            )
            for one in verdict.mismatches
        ),
        seal=None if seal is None else seal_report(seal),
        git_risks=risks,
        ignored=ignored,
        restored={} if fixed is None else fixed.restored,
        added=() if fixed is None else fixed.added,
    )


def _append(path: Path, text: str) -> None:
    """Append to a file.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        raise StorageError(
            f"the summary cannot be written: {exc.strerror}", where=visible(str(path))
        ) from exc


def _summary(verdicts: Sequence[Verdict]) -> str:
    """A table in Markdown, those that are not valid first.

    Text of others is inline code: outside of it, GitHub makes links of URLs and mentions of names,
    even of escaped ones.
    """
    from ptycassette.formats.export.markdown import inline_code

    rows = [
        f"| {inline_code(verdict.path[:300])} | {'valid' if verdict.ok else '**not valid**'}"
        f" | {inline_code(_reason(verdict)[:300])} |"
        for verdict in sorted(verdicts, key=lambda verdict: verdict.ok)
    ]
    return "\n".join(["", "| cassette | | |", "|---|---|---|", *rows, ""])


def _reason(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"{type(verdict.error).__name__}: {verdict.error.message}"
    if not verdict.ok:
        return count_text(verdict.mismatch_count, "frame differs", "frames differ")
    return ", ".join(text for _, text in [*_fields(verdict)][:2])
