"""Prepare runs of CLIs from profiles: argv, environment, files. Pure: writes nothing."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from ptycassette.errors import NotFoundError
from ptycassette.model.toml_text import fill_variables
from ptycassette.profiles.profile import HomeFile, OfflineMode, Profile

_KEY_TAIL = 20
# These point to the real home (XDG base directories).
_XDG = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_TOKEN_LIFE_S = 30 * 24 * 3600


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The folders and the provider of a run: ``url``, and ``ca``, its authority's file if TLS.

    ``openai_url`` is the base URL of the APIs of OpenAI; ``url`` and ``/v1`` when empty.
    """

    home: str
    cwd: str
    url: str
    key: str
    ca: str = ""
    model: str = ""
    openai_url: str = ""


class PreparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared run. ``mode_arguments`` are the first arguments; they come from the mode."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[HomeFile, ...]
    mode_arguments: tuple[str, ...] = ()

    def instead(self, argv: tuple[str, ...], programs: tuple[str, ...]) -> tuple[str, ...]:
        """The run with another command line, plus the mode's arguments if its program is the CLI.

        Args:
            argv: the command line; the run's own when empty.
            programs: the names of the CLI's program.
        """
        if not argv:
            return self.argv
        program, *rest = argv
        added = self.mode_arguments if program.rpartition("/")[2] in programs else ()
        return (program, *added, *rest)


def prepare(
    profile: Profile,
    mode: str,
    place: Place,
    *,
    binary: str,
    now: datetime,
    prompt: str | None = None,
    command: tuple[str, ...] | None = None,
    arguments: tuple[str, ...] = (),
) -> PreparedRun:
    """Prepare an offline run.

    Args:
        profile: the CLI's profile.
        mode: one of ``profile.modes``.
        place: home, work folder, provider.
        binary: the program's path.
        now: for tokens that contain a time.
        prompt: a one-shot run with this prompt; an interactive one when None.
        command: a subcommand with its arguments, instead of the profile's own.
        arguments: further arguments, added at the end.

    Raises:
        NotFoundError: no such mode.
        UsageError: the profile uses a name that has no value.
    """
    names = _names(place, now, prompt or "")
    tail = profile.interactive if prompt is None else profile.oneshot
    tail = tail if command is None else command
    run = _filled(profile, mode, names, program=binary, tail=tail)
    return msgspec.structs.replace(run, argv=(*run.argv, *arguments))


def shown(profile: Profile, mode: str, *, model: str = "") -> PreparedRun:
    """An offline run for display: values that are known only at its start stay ``${name}``.

    Raises:
        NotFoundError: no such mode.
        UsageError: the profile uses a name that has no value.
    """
    kept = ("home", "cwd", "url", "key", "key_tail", "ca", "now", "chatgpt_token", "prompt")
    names = {name: f"${{{name}}}" for name in kept}
    names |= {"openai_url": "${url}/v1", "model": model or profile.offline.model}
    program = profile.binaries[0] if profile.binaries else "PROGRAM"
    return _filled(profile, mode, names, program=program, tail=profile.interactive)


def _filled(
    profile: Profile, mode: str, names: dict[str, str], *, program: str, tail: tuple[str, ...]
) -> PreparedRun:
    """The run, with the profile's variables replaced by ``names``."""
    chosen = profile.modes.get(mode)
    if chosen is None:
        raise NotFoundError(
            f"the profile {profile.name!r} has no mode {mode!r}",
            hint=f"it has: {', '.join(sorted(profile.modes)) or 'none'}",
        )
    where = f"profile {profile.name}"
    arguments = tuple(fill_variables(list(chosen.arguments), where, names))
    return PreparedRun(
        argv=(program, *arguments, *fill_variables(list(tail), where, names)),
        environment=_environment(profile, chosen, where, names),
        files=tuple(
            HomeFile(
                path=file.path, base=file.base, text=str(fill_variables(file.text, where, names))
            )
            for file in chosen.files
        ),
        mode_arguments=arguments,
    )


def _environment(
    profile: Profile, mode: OfflineMode, where: str, names: dict[str, str]
) -> dict[str, str]:
    """The profile's variables, those of offline runs and of the mode, and the home."""
    asked = {**profile.environment, **profile.offline.environment, **mode.environment}
    # A variable whose value is empty, as for a certificate that is not needed, is left out.
    filled = {name: value for name, value in fill_variables(asked, where, names).items() if value}
    return {**home_variables(names["home"]), **filled}


def home_variables(home: str) -> dict[str, str]:
    """The variables that set a program's home, including those for parts of it.

    Its sockets go there, too: the sockets in the user's own folder lead to a keyring with
    credentials.
    """
    parts = {name: f"{home}/{folder}" for name, folder in _XDG.items()}
    return {"HOME": home, "XDG_RUNTIME_DIR": home, **parts}


def _names(place: Place, now: datetime, prompt: str) -> dict[str, str]:
    """The values of all names that a profile may use."""
    return {
        "home": place.home,
        "cwd": place.cwd,
        "url": place.url,
        "openai_url": place.openai_url or f"{place.url}/v1",
        "key": place.key,
        "key_tail": place.key[-_KEY_TAIL:],
        "ca": place.ca,
        "model": place.model,
        "prompt": prompt,
        "now": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "chatgpt_token": fake_token(now),
    }


def fake_token(now: datetime) -> str:
    """An unsigned token of a ChatGPT account, in the form that Codex reads; useless elsewhere."""
    issued_s = int(now.timestamp())
    claims = {
        "email": "user@example.com",
        "iat": issued_s,
        "exp": issued_s + _TOKEN_LIFE_S,
        "https://api.openai.com/auth": {
            "chatgpt_plan_type": "plus",
            "chatgpt_account_id": "acct-fake",
            "chatgpt_user_id": "user-fake",
        },
    }
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}.{_part('unsigned')}"


def _part(value: Any) -> str:
    """JSON in unpadded base64url (RFC 7515)."""
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")
