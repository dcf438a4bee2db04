"""Read and write key files, and read the trust file."""

from __future__ import annotations

import os
from pathlib import Path

from securesystemslib.signer import CryptoSigner

from ptycassette.cassette.layout import MANIFEST
from ptycassette.errors import RefusedError, UsageError
from ptycassette.model.toml_text import MAX_TOML_BYTES, parse_toml
from ptycassette.model.visible_text import visible
from ptycassette.seal.trust import PublicKey, Trust, new_private_key, signer_of, trust_of
from ptycassette.system.files.whole_file import check_replaceable, read_plain, write_whole

KEY_VARIABLE = "PTYCASSETTE_SEAL_KEY"
_MAX_KEY_BYTES = 64 << 10


def read_signer(path: str | None) -> tuple[CryptoSigner, PublicKey]:
    """The private key in a file, or in PTYCASSETTE_SEAL_KEY if ``path`` is None.

    Raises:
        UsageError: there is no key, or it is not an Ed25519 key.
        CassetteError: the file cannot be read.
    """
    if path is not None:
        return signer_of(read_plain(path, max_bytes=_MAX_KEY_BYTES), where=visible(path))
    text = os.environ.get("PTYCASSETTE_SEAL_KEY")
    if not text:
        raise UsageError(
            f"no key: name a file with --key, or have it in {KEY_VARIABLE}",
            hint="make one with: ptycassette seal --new-key FILE",
        )
    return signer_of(text.encode(), where=KEY_VARIABLE)


def write_new_key(path: str) -> PublicKey:
    """Make a key pair: the private key at ``path``, readable only by its owner, and ``path.pub``.

    Raises:
        RefusedError: the path is inside a cassette.
        CassetteError: the file already exists, or the disk refused.
    """
    target = Path(path).resolve()
    if any((parent / MANIFEST).exists() for parent in target.parents):
        raise RefusedError("a private key inside of a cassette", where=visible(path))
    for name in (path, f"{path}.pub"):
        check_replaceable(Path(name), overwrite=False)
    private = new_private_key()
    _, public = signer_of(private, where=visible(path))
    for name, data, mode in (
        (path, private, 0o600),
        (f"{path}.pub", f"{public.line}\n".encode(), 0o644),
    ):
        write_whole(name, [data], mode=mode, overwrite=False)
    return public


def read_trust(path: Path) -> Trust:
    """The trust file at ``path``.

    Raises:
        UsageError: it is not TOML, or not a valid trust file.
        CassetteError: it cannot be read.
    """
    where = visible(str(path))
    data = read_plain(path, max_bytes=MAX_TOML_BYTES)
    try:
        table = parse_toml(data.decode("utf-8"))
    except ValueError as exc:
        raise UsageError(f"not TOML: {exc}", where=where) from exc
    base = path.parent.resolve()

    def directory_of(name: str) -> str:
        """Do not follow links below the file's folder: a pull request can move them."""
        path = Path(os.path.normpath(base / name))
        return str(path if path.is_relative_to(base) else path.resolve())

    return trust_of(table, where=where, directory_of=directory_of)
