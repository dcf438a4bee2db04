"""``ptycassette bundle capture|export|verify``: bundles of agent-rerun, version 0.1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import cassette_argument, json_option, path_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from ptycassette.seal.bundle.exporting import Exported

F = TypeVar("F", bound=Callable[..., Any])


@click.group("bundle")
def command() -> None:
    """Make and check bundles of agent-rerun 0.1: one step of an agent, by its hashes.

    Example: ptycassette bundle verify step.rr actual.json --trust trust.toml
    """


def _output_options(function: F) -> F:
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace existing files."),
        click.option("--unsigned", is_flag=True, help="Do not sign the bundle."),
        path_option(
            "--key",
            metavar="FILE",
            text="Sign with the private key in FILE. Default: the key in PTYCASSETTE_SEAL_KEY.",
        ),
        path_option(
            "--actual",
            metavar="FILE",
            text="Also write the actual record, with the plain texts, to FILE.",
        ),
        path_option(
            "-o", "--output", metavar="FILE", text="Write the bundle to FILE. Default: stdout."
        ),
    ):
        function = option(function)
    return function


@command.command("capture")
@click.argument("step", metavar="STEP", type=click.Path())
@_output_options
def capture(
    step: str,
    output: Path | None,
    actual: Path | None,
    key: Path | None,
    unsigned: bool,
    overwrite: bool,
) -> int:
    """Make a bundle of the step in the JSON file STEP; no recording is needed.

    STEP has the model, sampling, inputs, runtime, expected answer and tolerance in
    the plain (docs/sealing.md).

    Example: ptycassette bundle capture step.json --key release.key -o step.rr
    """
    signer = _signer(key, unsigned=unsigned)
    from ptycassette.seal.io.bundles import bundle_of_step

    _write(bundle_of_step(step, signer=signer), output, actual, overwrite=overwrite)
    return 0


@command.command("export")
@cassette_argument
@click.option(
    "--entry",
    type=click.IntRange(min=1),
    required=True,
    help="Export the entry with this number in the tape.",
)
@_output_options
@click.option(
    "--level",
    type=click.Choice(["byte", "structural", "semantic"]),
    default="byte",
    show_default=True,
    help="Require replays to be this exact.",
)
@path_option(
    "--embedding",
    metavar="FILE",
    text="At the level semantic: the embedding of the answer, a JSON list of numbers.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="COSINE",
    help="At the level semantic: the least cosine of the two embeddings.",
)
def export(
    cassette: str,
    entry: int,
    output: Path | None,
    actual: Path | None,
    key: Path | None,
    unsigned: bool,
    level: str,
    embedding: Path | None,
    threshold: float | None,
    overwrite: bool,
) -> int:
    """Make a bundle of one exchange of CASSETTE's tape.

    Example: ptycassette bundle export run.cassette --entry 3 --key release.key -o step.rr
    """
    given = (embedding is not None, threshold is not None)
    if given != ((level == "semantic"),) * 2:
        raise click.UsageError("--level semantic, --embedding and --threshold go together")
    signer = _signer(key, unsigned=unsigned)
    from ptycassette.seal.bundle.exporting import Closeness
    from ptycassette.seal.io.bundles import bundle_of, read_embedding

    closeness = Closeness(
        level=level,
        embedding=() if embedding is None else read_embedding(str(embedding)),
        threshold=threshold,
    )
    made = bundle_of(cassette, entry, signer=signer, closeness=closeness)
    _write(made, output, actual, overwrite=overwrite)
    return 0


def _signer(key: Path | None, *, unsigned: bool) -> CryptoSigner | None:
    from ptycassette.errors import UsageError

    if unsigned and key is not None:
        raise UsageError("--key signs, and --unsigned does not")
    with needing_extra("seal"):
        from ptycassette.seal.io.key_files import read_signer

    return None if unsigned else read_signer(None if key is None else str(key))[0]


def _write(made: Exported, output: Path | None, actual: Path | None, *, overwrite: bool) -> None:
    from ptycassette.seal.io.bundles import written
    from ptycassette.system.files.whole_file import write_whole

    if actual is not None:
        write_whole(actual, [written(made.actual)], overwrite=overwrite)
    if output is not None:
        write_whole(output, [written(made.bundle)], overwrite=overwrite)
    else:
        write_lines(written(made.bundle).decode().splitlines())


@command.command("verify")
@click.argument("bundle", metavar="BUNDLE", type=click.Path())
@click.argument("actual", metavar="ACTUAL", type=click.Path())
@path_option(
    "--trust",
    metavar="FILE",
    text="Accept only the signatures that this TOML file trusts (docs/sealing.md).",
)
@click.option("--allow-unsigned", is_flag=True, help="Accept a bundle without a signature.")
@click.option("--any-key", is_flag=True, help="Accept a signature of any key.")
@path_option(
    "--structural",
    metavar="FILE",
    text="Compare tool calls with the expected transcript in FILE, at the level structural.",
)
@json_option
def verify(
    bundle: str,
    actual: str,
    trust: Path | None,
    allow_unsigned: bool,
    any_key: bool,
    structural: Path | None,
    as_json: bool,
) -> int:
    """Check the record ACTUAL against BUNDLE: schema, signature, inputs, output.

    All problems are reported. Ends with 0 if there is no problem, 4 if a file is
    not a valid bundle or record, 7 if the signature is not trusted, otherwise with
    1.

    Example: ptycassette bundle verify step.rr actual.json --trust trust.toml
    """
    from ptycassette.cli._seals import BundleReport, trust_in_force

    with needing_extra("seal"):
        from ptycassette.seal.io.bundles import check_bundle

        result = check_bundle(
            bundle,
            actual,
            trust=trust_in_force(trust),
            allow_unsigned=allow_unsigned,
            allow_any_key=any_key,
            structural=None if structural is None else str(structural),
        )
    if as_json:
        report = BundleReport(
            ok=result.ok, errors=result.errors, warnings=result.warnings, signer=result.signer
        )
        write_lines([json_text(report)])
        return result.exit_status
    by = "" if result.signer is None else f", signed by {visible(result.signer, limit=100)}"
    write_lines([f"{visible(bundle)}: {'holds' + by if result.ok else 'DOES NOT HOLD'}"])
    write_lines([f"  {visible(line, limit=300)}" for line in result.errors])
    write_lines([f"  warning: {visible(line, limit=300)}" for line in result.warnings])
    return result.exit_status
