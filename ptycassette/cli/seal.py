"""``ptycassette seal CASSETTE... --key FILE``: confirm a cassette's content with a key."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._options import allow_unscrubbed_option, json_option, path_option
from ptycassette.cli._present import error_lines, json_text, write_lines
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import visible


@click.command("seal")
@click.argument("cassettes", metavar="CASSETTE...", nargs=-1, type=click.Path())
@path_option(
    "--key",
    metavar="FILE",
    text="Sign with the private key in FILE. Default: the key in PTYCASSETTE_SEAL_KEY.",
)
@path_option(
    "--new-key", metavar="FILE", text="First make a key: FILE is private, FILE.pub is for others."
)
@click.option(
    "--identity",
    is_flag=True,
    help="Seal with the identity of the running CI job (Sigstore, public).",
)
@path_option(
    "--sigstore", metavar="FILE", text="With --identity: use the Sigstore instance in FILE."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing seal.")
@json_option
@allow_unscrubbed_option
def command(
    cassettes: tuple[str, ...],
    key: Path | None,
    new_key: Path | None,
    identity: bool,
    sigstore: Path | None,
    overwrite: bool,
    as_json: bool,
    allow_unscrubbed: bool,
) -> int:
    """Seal each CASSETTE: sign the digests of all its files, in CASSETTE.seal.json beside it.

    The files must match the manifest. A valid seal of the same key stays as it is.
    `ptycassette verify --sealed` checks seals.

    With --identity there is no key: Sigstore confirms the identity and adds it to a
    public log.

    Example: ptycassette seal tests/cassettes/* --key release.key
    """
    from ptycassette.cli._seals import ErrorReport, SealedCassette, SealsReport, cassettes_named

    _check(cassettes, key=key, new_key=new_key, identity=identity, sigstore=sigstore)
    with needing_extra("seal"):
        from ptycassette.seal.io.key_files import read_signer, write_new_key
        from ptycassette.seal.io.sealing import IdentitySealer, KeySealer, Sealer, seal_cassettes

    if new_key is not None:
        line = write_new_key(str(new_key)).line
        if not as_json:
            write_lines(_key_lines(new_key, line))
        key = new_key
    if not cassettes:
        if as_json:
            write_lines([json_text(SealsReport(ok=True, public_key=line, cassettes=()))])
        return 0
    if identity:
        sealer: Sealer = IdentitySealer(sigstore)
        line = sealer.own.identities[0].identity
    else:
        signer, public = read_signer(None if key is None else str(key))
        sealer, line = KeySealer(signer, public), public.line
    done = []
    for one in seal_cassettes(
        cassettes_named(cassettes),
        sealer,
        overwrite=overwrite,
        allow_unscrubbed=allow_unscrubbed,
    ):
        done.append(one)
        if as_json:
            continue
        if one.error is None:
            what = "sealed already" if one.kept else "sealed"
            write_lines([f"{visible(one.path)}: {what}"])
        else:
            write_lines(error_lines(one.error))
    if as_json:
        report = SealsReport(
            ok=all(one.ok for one in done),
            public_key=line,
            cassettes=tuple(
                SealedCassette(
                    path=one.path,
                    seal=one.seal,
                    kept=one.kept,
                    error=None if one.error is None else ErrorReport.of(one.error),
                )
                for one in done
            ),
        )
        write_lines([json_text(report)])
    return next((one.error.exit_status for one in done if one.error is not None), 0)


def _check(
    cassettes: tuple[str, ...],
    *,
    key: Path | None,
    new_key: Path | None,
    identity: bool,
    sigstore: Path | None,
) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: they do not.
    """
    from ptycassette.errors import UsageError

    if identity and (key is not None or new_key is not None):
        raise UsageError("--identity seals without a key: --key and --new-key do not go with it")
    if sigstore is not None and not identity:
        raise UsageError("--sigstore goes with --identity")
    if key is not None and new_key is not None:
        raise UsageError("--new-key makes the key: --key is not needed")
    if not cassettes and new_key is None:
        raise UsageError("name a cassette, or make a key with --new-key FILE")


def _key_lines(path: Path, line: str) -> list[str]:
    return [
        f"{visible(str(path))}: the private key, for you alone; never commit it",
        f"{visible(str(path))}.pub: the public key, for the trust file:",
        "",
        f"[keys.{path.stem if path.stem.isidentifier() else 'NAME'}]",
        f'public_key = "{line}"',
    ]
