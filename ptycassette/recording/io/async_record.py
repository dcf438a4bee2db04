"""``arecord``: as ``record``, from an event loop. Its own module, because asyncio loads slowly."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Unpack

from ptycassette.errors import CassetteError
from ptycassette.recording.io.options import RecordOptions, RunSpec, run_spec
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.recording import (
    RecordingBase,
    give_up,
    saver_for,
    started,
)
from ptycassette.recording.session.async_session import AsyncSession, require_asyncio
from ptycassette.system.ownership import owned_async_context


class AsyncRecording(RecordingBase, AsyncSession):
    """A session that is being recorded, driven from an event loop."""


@owned_async_context
async def arecord(
    argv: Sequence[str], target: str | os.PathLike[str], **options: Unpack[RecordOptions]
) -> AsyncIterator[AsyncRecording]:
    """As ``record``, for asyncio. Preflight and finalising run in a thread."""
    async with arecorded(argv, target, run_spec(**options)) as session:
        yield session


@owned_async_context
async def arecorded(
    argv: Sequence[str], target: str | os.PathLike[str], spec: RunSpec
) -> AsyncIterator[AsyncRecording]:
    """As ``arecord``, with the options in one piece."""
    require_asyncio()
    recorder = Recorder(argv, target, spec, saver=saver_for(spec))
    await asyncio.to_thread(recorder.__enter__)
    try:
        pty, wiring = started(recorder)
        session = AsyncRecording.over(pty, **wiring)
        try:
            session._recorder = recorder  # noqa: SLF001 - made here
            session.listen()
            yield session
            await session.close()
        except BaseException as exc:
            with suppress(CassetteError):
                await session.close()
            await asyncio.to_thread(give_up, recorder, exc, None)
            raise
        await asyncio.to_thread(session.complete)
    finally:
        recorder.__exit__()
