"""Every error that a caller of ptycassette can handle, in one tree.

::

    CassetteError                      exit status 125 unless a subclass has its own
    |- UsageError                   2  the call is wrong: an option, a mode, a script
    |- NotFoundError                3  nothing there
    |- UnreadableError              3  it is there, but the system refuses to hand it over
    |- InvalidCassetteError         4  not a valid cassette (the base of all below)
    |  |- VersionError                 a newer version than this reader knows, or none at all
    |  |- ManifestError                id, digest, emulator or resolution missing; wrong types
    |  |- RequiredFeatureError         a required feature that this reader does not know
    |  |- MissingFileError             a file that must exist does not
    |  |- UnexpectedFileError          a file that a pinned cassette does not list
    |  |- UnsafeFileError              a link, a device, a socket: nothing that we follow
    |  |- DigestError                  bytes are not those that the manifest pins
    |  |- ChunkError                   an output record outside of output.raw, or a wrong digest
    |  |- SequenceError                seq is not contiguous from 1 over all streams
    |  |- TimeError                    t_ms goes back
    |  |- TruncatedError               the last line of a stream is cut off
    |  |- RecordError                  a record in the middle breaks the format
    |  |- LimitError                   larger, longer or deeper than a reader accepts
    |  |- TapeError                    the model traffic does not fit its bodies or its events
    |  |- UnscrubbedError              recorded without scrubbing, and the caller did not allow that
    |  '- DiagnosticError              a diagnostic directory of a failed run, never a cassette
    |- PinError                     4  the caller's pins do not match
    |  |- IdPinError                   expected another id
    |  |- DigestPinError               expected another digest
    |  |- EmulatorMissingError         required an emulator, the manifest names none
    |  '- EmulatorPinError             required another emulator or version
    |- SealError                    7  the cassette has no trusted seal
    |  |- UnsealedError                the cassette has no seal
    |  |- TamperedError                a file differs from the sealed one, or the seal is damaged
    |  '- UntrustedError               sealed with a key that is not trusted for it
    |- JournalError                 4  a journal that cannot be read
    |- RefusedError                 6  refused on purpose
    |  |- PreflightError               a check before recording failed; nothing was written
    |  |- LockedError                  another recorder holds the account or the target
    |  |- NewerCassetteError           would replace a cassette of a newer version
    |  |- ExistsError                  would replace a cassette without being asked to
    |  |- SecretLeftError              scrub verification found something; nothing was published
    |  |- AmbiguousTapeError           the tape could answer wrongly; nothing was published
    |  '- InputRefusedError            input that the terminal would cut or the policy forbids
    |- SessionError               125  a live session failed
    |  |- RunFailedError               the run must not become a cassette; a diagnostic was left
    |  |- SpawnError                   the program could not be started (126 or 127)
    |  |- SessionClosedError           the session is over
    |  '- WaitTimeoutError             a wait on the screen ran out of time; shows the screen
    |- DivergenceError              1  the driver did not follow the recording
    '- StorageError               125  the disk refused: full, failing, or gone

Misuse of the Python API (wrong types, impossible values) raises the builtin
``TypeError`` and ``ValueError``.
"""

from __future__ import annotations

__all__ = [
    "AmbiguousTapeError",
    "CassetteError",
    "ChunkError",
    "DiagnosticError",
    "DigestError",
    "DigestPinError",
    "DivergenceError",
    "EmulatorMissingError",
    "EmulatorPinError",
    "ExistsError",
    "IdPinError",
    "InputRefusedError",
    "InvalidCassetteError",
    "JournalError",
    "LimitError",
    "LockedError",
    "ManifestError",
    "MissingFileError",
    "NewerCassetteError",
    "NotFoundError",
    "PinError",
    "PreflightError",
    "RecordError",
    "RefusedError",
    "RequiredFeatureError",
    "RunFailedError",
    "SealError",
    "SecretLeftError",
    "SequenceError",
    "SessionClosedError",
    "SessionError",
    "SpawnError",
    "StorageError",
    "TamperedError",
    "TapeError",
    "TimeError",
    "TruncatedError",
    "UnexpectedFileError",
    "UnreadableError",
    "UnsafeFileError",
    "UnscrubbedError",
    "UnsealedError",
    "UntrustedError",
    "UsageError",
    "VersionError",
    "WaitTimeoutError",
]


def _printable(text: str) -> str:
    """``text`` with control and invisible characters escaped: errors end up in test reports."""
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


class CassetteError(Exception):
    """The root: something that a caller can handle.

    Args:
        message: what happened.
        where: file, line, seq or t_ms; put in front of the message.
        hint: what to do next; put behind the message.
    """

    exit_status: int = 125
    """The status that the command line ends with (DESIGN: exit statuses of the CLI)."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return _printable(f"{text}\n  hint: {self.hint}" if self.hint else text)


class UsageError(CassetteError):
    """The call is wrong: an option, a mode, a script."""

    exit_status = 2


class NotFoundError(CassetteError):
    """There is nothing at that path or under that name."""

    exit_status = 3


class UnreadableError(CassetteError):
    """It is there, but the operating system refuses to hand it over."""

    exit_status = 3


class InvalidCassetteError(CassetteError):
    """Not a valid cassette. The base of every rejection rule of the format."""

    exit_status = 4


class VersionError(InvalidCassetteError):
    """The manifest names no version, or one that this reader does not know."""


class ManifestError(InvalidCassetteError):
    """The manifest lacks something that must be there, or holds the wrong type."""


class RequiredFeatureError(InvalidCassetteError):
    """The manifest requires a feature that this reader does not know."""


class MissingFileError(InvalidCassetteError):
    """A file that a cassette must have does not exist."""


class UnexpectedFileError(InvalidCassetteError):
    """A pinned cassette holds a file that its manifest does not list."""


class UnsafeFileError(InvalidCassetteError):
    """A link, a device, a pipe or a socket where a regular file must be."""


class DigestError(InvalidCassetteError):
    """The bytes of a file are not those that the manifest pins."""


class ChunkError(InvalidCassetteError):
    """An output record points outside of ``output.raw``, or its digest fails."""


class SequenceError(InvalidCassetteError):
    """``seq`` is not contiguous from 1 over all streams together."""


class TimeError(InvalidCassetteError):
    """``t_ms`` goes back."""


class TruncatedError(InvalidCassetteError):
    """The last line of a stream is cut off."""


class RecordError(InvalidCassetteError):
    """A record does not conform to the format."""


class LimitError(InvalidCassetteError):
    """Larger, longer or deeper than a reader accepts."""


class TapeError(InvalidCassetteError):
    """The tape (recorded model traffic) does not fit its bodies, or the events that it names."""


class UnscrubbedError(InvalidCassetteError):
    """Recorded without scrubbing, and the caller did not allow that."""


class DiagnosticError(InvalidCassetteError):
    """The directory is the diagnostic of a failed run, never a cassette."""


class PinError(CassetteError):
    """The caller's pins do not match."""

    exit_status = 4


class IdPinError(PinError):
    """The caller expected another cassette id."""


class DigestPinError(PinError):
    """The caller expected another digest of ``output.raw``."""


class EmulatorMissingError(PinError):
    """The caller requires an emulator, and the manifest names none."""


class EmulatorPinError(PinError):
    """The caller requires another emulator, or another version of it."""


class SealError(CassetteError):
    """The cassette has no trusted seal."""

    exit_status = 7


class UnsealedError(SealError):
    """Nobody has sealed it, or its seal was removed."""


class TamperedError(SealError):
    """It is not what was sealed, or the seal itself was changed or damaged."""


class UntrustedError(SealError):
    """It is sealed, and with no key that is trusted for it."""


class JournalError(CassetteError):
    """A journal that cannot be read as one."""

    exit_status = 4


class RefusedError(CassetteError):
    """Refused on purpose; nothing was written."""

    exit_status = 6


class PreflightError(RefusedError):
    """A check before recording failed."""


class LockedError(RefusedError):
    """Another recorder has locked the account or the target."""


class NewerCassetteError(RefusedError):
    """Would replace a cassette of a newer format version."""


class ExistsError(RefusedError):
    """Would replace an existing cassette, without ``overwrite``."""


class SecretLeftError(RefusedError):
    """Scrub verification found something that is left; nothing was published."""


class AmbiguousTapeError(RefusedError):
    """A replay could get a wrong answer from the tape. Nothing was published."""


class InputRefusedError(RefusedError):
    """Input that the terminal would cut silently, or that the policy forbids."""


class SessionError(CassetteError):
    """A live session failed."""


class RunFailedError(SessionError):
    """The run must not become a cassette; a diagnostic directory has the details.

    Args:
        message: the failure.
        stage: ``run`` (a timeout, or an exception of its driver), ``final``
            (the journal ends before the program did) or ``output`` (it has neither output nor an
            end).
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str = "run",
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.stage = stage


class SpawnError(SessionError):
    """The program could not be started: not found (127) or not executable (126)."""

    def __init__(
        self,
        message: str,
        *,
        exit_status: int = 127,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.exit_status = exit_status


class SessionClosedError(SessionError):
    """The session is over: the program ended or ``close`` was called."""


class WaitTimeoutError(SessionError):
    """A wait on the screen ran out of time.

    Args:
        message: what was waited for, and how long.
        screen: the rows of the screen at that moment, for the reader of the error.
    """

    def __init__(
        self,
        message: str,
        *,
        screen: tuple[str, ...] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.screen = screen

    def __str__(self) -> str:
        rows = "\n".join(f"  | {_printable(row)}" for row in self.screen)
        text = super().__str__()
        return f"{text}\n  the screen at that moment:\n{rows}" if rows else text


class DivergenceError(CassetteError):
    """The driver did something else than the recording has."""

    exit_status = 1


class StorageError(CassetteError):
    """The disk refused: full, failing, or gone."""
