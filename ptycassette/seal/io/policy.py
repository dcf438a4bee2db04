"""Enforce the project's demand for seals before a cassette is replayed.

Slow libraries are loaded only if seals are required.
"""

from __future__ import annotations

import os

from ptycassette.extras import needing_extra
from ptycassette.system.files.project_file import SealPolicy, find_project


def require_seal(path: str | os.PathLike[str], policy: SealPolicy | None = None) -> None:
    """Refuse a cassette that is not sealed as the project file demands.

    Args:
        path: the cassette.
        policy: the demands; those of the project file when None.

    Raises:
        SealError: it has no seal, has changed since, or was sealed by an untrusted signer.
        CassetteError: the cassette or the trust file cannot be read.
    """
    policy = find_project().seal if policy is None else policy
    if not policy.required:
        return
    # Imported here, because they load cryptography, which most projects do not need.
    with needing_extra("seal"):
        from ptycassette.seal.io.key_files import read_trust  # noqa: PLC0415
        from ptycassette.seal.io.sealing import check_seal  # noqa: PLC0415
        from ptycassette.seal.trust import Trust  # noqa: PLC0415

    trust = Trust() if policy.trust is None else read_trust(policy.trust)
    verdict = check_seal(os.fspath(path), trust)
    if verdict.error is not None:
        raise verdict.error
