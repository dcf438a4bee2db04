"""``harness.capability`` of a manifest: what a CLI could do when recorded, from its profile."""

from __future__ import annotations

import re
from typing import Any

from ptycassette.profiles.profile import Profile


def capability_of(profile: Profile, *, version: str | None = None) -> dict[str, Any] | None:
    """The capabilities in the profile; None if it has no program.

    ``features``, ``permission_modes``, and where both come from: ``profile``, and ``seen_with``,
    the versions that the profile was tried with. Another version may differ.

    Args:
        profile: of the CLI.
        version: the program's answer about its version, if it was asked. An answer in another
            form is that of another program, and gives None.
    """
    query = profile.version_query
    if not profile.binaries or (version is not None and not re.search(query.regex, version)):
        return None
    features = {
        "interactive": True,
        "oneshot": bool(profile.oneshot),
        "session-log": bool(profile.logs),
        **dict.fromkeys(profile.capability.features, True),
    }
    facts: dict[str, Any] = {"features": [name for name, has in features.items() if has]}
    if profile.capability.permission_modes:
        facts["permission_modes"] = list(profile.capability.permission_modes)
    return facts | {"profile": profile.name, "seen_with": list(query.tested)}
