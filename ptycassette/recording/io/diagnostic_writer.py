"""Writes the diagnostic directory of a failed run: the scrubbed streams, and what failed."""

from __future__ import annotations

from pathlib import Path

from ptycassette.cassette.documents import encode_document
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.cassette.layout import DIAGNOSTIC
from ptycassette.recording._diagnostic import Diagnostic


def diagnostic_path(target: Path) -> Path:
    """The path of the diagnostic of a failed run whose cassette would have been ``target``."""
    return target.with_name(f"{target.name}.diagnostic")


class DiagnosticWriter(CassetteWriter):
    """A ``CassetteSink`` that publishes a diagnostic instead; it replaces an earlier one.

    Args:
        target: where the cassette would have been.
    """

    def __init__(self, target: Path) -> None:
        self.path = diagnostic_path(target)
        super().__init__(self.path, overwrite=True)

    def publish_failure(self, diagnostic: Diagnostic) -> Path:
        """Make everything durable and publish; returns the path.

        Raises:
            ExistsError: something other than a diagnostic is at that path.
            StorageError: the disk refused.
        """
        for name, document in {**self._documents, DIAGNOSTIC: diagnostic}.items():
            self._files[name] = self._stage(name, self._limits.max_document_bytes)
            self._files[name].append(encode_document(document, where=name))
        for file in self._files.values():
            file.finish()
        self._staging.publish(self._still_replaces())
        self._done = True
        return self.path
