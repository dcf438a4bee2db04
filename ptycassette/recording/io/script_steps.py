"""Performs the steps of an input script in a session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ptycassette.errors import CassetteError, UsageError, WaitTimeoutError
from ptycassette.model.visible_text import visible
from ptycassette.recording.input_script import ScriptStep
from ptycassette.recording.io.recording import Recording
from ptycassette.session.session import Session
from ptycassette.session.waits import matches_in_file
from ptycassette.system.files.plain_file import read_plain

if TYPE_CHECKING:
    from ptycassette.profiles.profile import Submit

_MAX_SECRET_BYTES = 64 << 10
_ECHO_CHARS = 16
_ECHO_TIMEOUT_S = 2.0


def perform(session: Recording, step: ScriptStep) -> None:
    """One step of an input script.

    Raises:
        WaitTimeoutError: a wait timed out; the message has the line.
        SessionError, InputRefusedError: the program cannot take it.
    """
    try:
        _perform(session, step)
    except CassetteError as exc:
        exc.where = f"script line {step.line}"
        raise


def _perform(session: Recording, step: ScriptStep) -> None:
    match step.kind:
        case "type" if step.pace_s:
            for character in step.text:
                session.type(character)
                time.sleep(step.pace_s)
        case "type":
            session.type(step.text)
        case "key":
            for key in step.text.split():
                session.send_key(key)
                time.sleep(step.pace_s)
        case "paste":
            session.paste(step.text)
        case "submit":
            submit_as(session, step.text, step.submit)
        case "secret":
            session.submit_secret(step.text)
        case "resize":
            assert step.size is not None  # noqa: S101 - the parser sees to it
            session.resize(step.size)
        case "signal":
            session.signal(step.text)
        case "note":
            session.note(step.payload)
        case _:
            _wait(session, step)


def submit_as(
    session: Session,
    text: str,
    submit: Submit | None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Submit a prompt as a certain CLI needs it: with its pause and its key, if they are known.

    Some CLIs (Gemini CLI, Codex) treat Enter as a part of the text if it comes while they still
    read it, so this waits until the text is on the screen. For a CLI that does not echo, the wait
    is short.
    """
    if submit is None:
        session.submit(text)
        return
    if submit.how == "paste":
        session.paste(text)
    else:
        session.type(text)
    wait_for_echo(session, text)
    sleep(submit.pause_ms / 1000)
    session.send_key(submit.key)


def wait_for_echo(session: Session, text: str) -> None:
    """Wait until the program shows what was typed, if it does."""
    head = text.strip().split("\n")[0][:_ECHO_CHARS]
    if head:
        with suppress(WaitTimeoutError):
            session.wait_for_text(head, timeout_s=_ECHO_TIMEOUT_S)


def with_secret(step: ScriptStep) -> ScriptStep:
    """A step that names where its secret is, with the secret; any other as it is."""
    try:
        match step.kind:
            case "secret-env":
                text = os.environ.get(step.text, "")
            case "secret-file":
                path = Path(step.text).expanduser()
                # Longer input was not typed by a person.
                text = read_plain(path, max_bytes=_MAX_SECRET_BYTES).decode().partition("\n")[0]
            case _:
                return step
    except (CassetteError, UnicodeDecodeError, RuntimeError) as exc:
        raise UsageError(f"{step.kind}: {exc}", where=f"script line {step.line}") from exc
    text = text.removesuffix("\r")
    if not text:
        raise UsageError(
            f"{step.kind}: there is nothing in {visible(step.text)}",
            where=f"script line {step.line}",
        )
    return msgspec.structs.replace(step, kind="secret", text=text)


def _wait(session: Recording, step: ScriptStep) -> None:
    match step.kind:
        case "wait-text":
            session.wait_for_text(step.text, timeout_s=step.timeout_s)
        case "wait-regex":
            session.wait_for(matches_in_file(step.text), timeout_s=step.timeout_s)
        case "wait-stable":
            session.wait_stable(step.seconds * 1000, timeout_s=step.timeout_s)
        case "wait-idle":
            session.wait_idle(step.seconds * 1000, timeout_s=step.timeout_s)
        case "wait-exit":
            session.wait_exit(timeout_s=step.timeout_s)
        case "pause":
            with suppress(WaitTimeoutError):  # it ends early if the program does
                session.wait_exit(timeout_s=step.seconds)
