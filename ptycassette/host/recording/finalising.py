"""From a journal on disk to a published cassette, or to the diagnostic of why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.host.cassettes.diagnostic_writer import DiagnosticWriter
from ptycassette.host.cassettes.writer import CassetteWriter
from ptycassette.host.scrubbing.setup import session_scrubber
from ptycassette.model import EmulatorFactory, EventSource, Manifest, Scrubber, SessionMeta
from ptycassette.record.diagnostic import diagnostic_of
from ptycassette.record.finalise import Progress, finalise, finalise_failed
from ptycassette.record.unscrubbed import Unscrubbed
from ptycassette.screen import default_emulator
from ptycassette.scrub import default_scrubber

__all__ = ["Finaliser", "ScrubberFactory", "passwords_of"]

ScrubberFactory = Callable[[], Scrubber]

_SHORTEST_PASSWORD = 6


class Finaliser(msgspec.Struct, frozen=True, kw_only=True):
    """How cassettes are made from sessions.

    Attributes:
        emulator: makes the frames.
        scrubber: makes a scrubber for one session; None for the default one.
        known: secrets that only this process knows, such as typed passwords.
        progress: told the number of output bytes that are done.
    """

    emulator: EmulatorFactory = default_emulator
    scrubber: ScrubberFactory | None = None
    known: tuple[str, ...] = ()
    progress: Progress | None = None

    def publish(
        self, meta: SessionMeta, source: EventSource, target: Path, *, overwrite: bool = False
    ) -> Manifest:
        """Finalise and publish at ``target``; when it returns the cassette is durable.

        Raises:
            RunFailedError: the run failed; its diagnostic has been written.
            SecretLeftError: scrubbing left something; a diagnostic without
                streams has been written.
            StorageError, ExistsError, NewerCassetteError: the place refuses.
            JournalError: the journal is damaged.
        """
        try:
            with CassetteWriter(target, overwrite=overwrite) as sink:
                return finalise(
                    meta,
                    source,
                    sink,
                    emulator=self.emulator,
                    scrubber=self._scrubber(meta),
                    progress=self.progress,
                )
        except RunFailedError as exc:
            self.diagnose(meta, source, target, reason=exc.message, stage=exc.stage)
            raise
        except SecretLeftError as exc:
            self.diagnose(meta, None, target, reason=exc.message, stage="scrub")
            raise

    def diagnose(
        self,
        meta: SessionMeta,
        source: EventSource | None,
        target: Path,
        *,
        reason: str,
        stage: str,
    ) -> Path:
        """Write the diagnostic of a failed run; returns where.

        Args:
            meta: the head.
            source: the events, as far as they go; None to keep no streams.
            target: where the cassette would have been.
            reason: what failed.
            stage: see ``Diagnostic``.
        """
        scrubber = self._scrubber(meta)
        findings: tuple[str, ...] = ()
        if source is not None:
            with DiagnosticWriter(target) as sink:
                findings = finalise_failed(
                    meta, source, sink, emulator=self.emulator, scrubber=scrubber
                )
                if not findings:
                    return sink.publish_failure(
                        diagnostic_of(meta, scrubber, reason=reason, stage=stage)
                    )
        else:
            for _ in scrubber.events(meta, lambda: iter(())):
                pass  # so that it knows the environment
        with DiagnosticWriter(target) as sink:
            return sink.publish_failure(
                diagnostic_of(meta, scrubber, reason=reason, stage=stage, findings=findings)
            )

    def _scrubber(self, meta: SessionMeta) -> Scrubber:
        if meta.options.get("scrub") is False:
            return Unscrubbed()
        if self.scrubber is not None:
            return self.scrubber()
        return session_scrubber(
            known=_usable(self.known),
            home=Path(meta.home) if meta.home else None,
            cwd=Path(meta.cwd) if meta.cwd else None,
        )


def passwords_of(typed: Iterable[bytes]) -> tuple[str, ...]:
    """What was typed at prompts that do not echo, line by line, as secrets for the scrubber."""
    lines = b"".join(typed).replace(b"\r", b"\n").split(b"\n")
    return _usable(line.decode("utf-8", "replace") for line in lines)


def _usable(values: Iterable[str]) -> tuple[str, ...]:
    """Those that can be told apart from ordinary text."""
    usable = []
    for value in dict.fromkeys(values):
        if len(value) < _SHORTEST_PASSWORD:
            continue
        try:
            default_scrubber(known=[value])
        except ValueError:
            continue
        usable.append(value)
    return tuple(usable)
