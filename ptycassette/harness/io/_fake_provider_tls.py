"""TLS for the fake provider: an authority and a certificate for the lifetime of the server."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from ptycassette.errors import StorageError


def server_context(host: str, ca_file: Path) -> ssl.SSLContext:
    """A server's TLS context for ``host``, and the authority's certificate in ``ca_file``.

    The keys are made anew each time and never written to disk.

    Raises:
        StorageError: ``ca_file`` cannot be written.
    """
    authority = trustme.CA()
    try:
        authority.cert_pem.write_to_path(str(ca_file))
    except OSError as failed:
        raise StorageError(
            f"the certificate cannot be written: {failed.strerror}", where=str(ca_file)
        ) from failed
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(host).configure_cert(context)
    return context
