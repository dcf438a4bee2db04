"""Makes an ordinary cassette of the calls of a block. Only the modes that record load it."""

from __future__ import annotations

import os
import platform
import secrets
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.inprocess.calls import (
    IN_PROCESS_OPTION,
    CallLog,
    ItemsInMemory,
    SecretsOfCalls,
)
from ptycassette.model.geometry import Size
from ptycassette.model.journal import Finished, JournalEvent, Noted, SessionMeta
from ptycassette.model.manifest import Harness, Manifest
from ptycassette.model.ports import EventSource
from ptycassette.model.streams import StreamKinds
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.recording._tape_source import TapeSource
from ptycassette.recording.io.binary_probe import architecture, system, timestamp
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.tape.io.price_table import load_prices
from ptycassette.version import __version__

HARNESS = "in-process"
_SIZE = Size(24, 80)
"""The format wants a size; there is no terminal."""


def head_of(target: Path) -> SessionMeta:
    """The head of a recording that begins now.

    There is no program and no terminal: the command is empty, and all streams are ``null``.
    """
    environment = dict(os.environ)
    number = str(uuid.uuid4())
    option = {"version": 1, "python": platform.python_version(), "salt": number}
    return SessionMeta(
        id=number,
        argv=(),
        size=_SIZE,
        recorded_at=timestamp(datetime.now(UTC)),
        harness=Harness(name=HARNESS),
        environment=environment,
        home=environment.get("HOME", ""),
        cwd=str(current_dir()),
        streams=StreamKinds(stdin="null", stdout="null", stderr="null"),
        os=system(),
        arch=architecture(),
        recorder_version=f"ptycassette/{__version__}",
        target=str(target),
        options={IN_PROCESS_OPTION: option},
    )


def publish(
    head: SessionMeta,
    log: CallLog,
    target: Path,
    *,
    hidden: Mapping[str, Any],
    metadata: dict[str, Any] | None = None,
) -> Manifest:
    """Scrub, verify and publish the calls. A cassette that is there is replaced.

    Args:
        head: as it was when the block began.
        log: of the block, which is over.
        target: where the cassette will be.
        hidden: what the scrubber must know of the proxy of programs.
        metadata: of the final record.

    Raises:
        CassetteError: nothing was published; the message says why.
    """
    end = Finished(t_us=log.t_us, metadata=metadata)
    secrets_of = SecretsOfCalls(head.options[IN_PROCESS_OPTION]["salt"], default_scrubber)
    notes = [_with_digests(note, secrets_of) for note in log.notes]

    def events() -> Iterator[JournalEvent]:
        yield from notes
        yield end

    source: EventSource = events
    options = dict(head.options)
    if log.order.after:
        options[IN_PROCESS_OPTION] = {**options[IN_PROCESS_OPTION], "after": log.order.after}
    if log.items:
        options[TAPE_OPTION] = {"key": secrets.token_hex(32), "described": {}, **hidden}
        source = TapeSource(events, lambda: ItemsInMemory(log.items), load_prices())
    head = msgspec.structs.replace(head, options=options, target=str(target))
    return Finaliser().publish(head, source, target, overwrite=True)


def _with_digests(note: JournalEvent, secrets_of: SecretsOfCalls) -> JournalEvent:
    """The call of a tool with digests of its masked arguments."""
    match note:
        case Noted(payload={"type": "tool-call", "arguments": arguments}):
            digests = secrets_of.of(arguments)
            if digests:
                payload = {**note.payload, "digests": list(digests)}
                return msgspec.structs.replace(note, payload=payload)
    return note
