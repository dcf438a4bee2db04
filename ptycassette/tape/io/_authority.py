"""Make a certificate authority for one recording; its keys are never written to disk."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import trustme

from ptycassette.errors import StorageError

_ALPN = ["http/1.1"]


class Authority:
    """Makes certificates for the hosts that a client connects to."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="ptycassette, one recording")
        self._contexts: dict[str, ssl.SSLContext] = {}

    def write(self, path: Path, others: Iterable[Path]) -> None:
        """Write the certificates for a client to trust: this authority and those it trusted before.

        Args:
            path: a new file.
            others: files of certificates; unreadable ones are left out.

        Raises:
            StorageError: it cannot be written.
        """
        parts = [self._ca.cert_pem.bytes()]
        for other in others:
            with suppress(OSError):
                parts.append(other.read_bytes())
        try:
            with path.open("xb") as file:
                with suppress(OSError):  # some file systems cannot change modes
                    path.chmod(0o600)
                file.write(b"\n".join(parts))
        except OSError as failed:
            raise StorageError(
                f"the certificate cannot be written: {failed.strerror}", where=str(path)
            ) from failed

    def context(self, host: str) -> ssl.SSLContext:
        """A TLS context for answering as ``host``."""
        if host not in self._contexts:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.set_alpn_protocols(_ALPN)
            self._ca.issue_cert(host).configure_cert(context)
            self._contexts[host] = context
        return self._contexts[host]
