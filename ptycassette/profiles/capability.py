"""``harness.capability`` of a manifest: what a CLI could do when recorded, from its profile."""

from __future__ import annotations

import re
from typing import Any

from ptycassette.profiles.profile import Profile


def capability_of(profile: Profile, *, version: str | None = None) -> dict[str, Any] | None:
    """What the profile knows that the CLI can do; None where it knows of no program.

    ``features``, ``permission_modes``, and where both come from: ``profile``, and ``seen_with``,
    the versions that the profile was tried with. Another version may differ.

    Args:
        profile: of the CLI.
        version: what the program said about its version, if it was asked. An answer that the
            profile does not know as one of its CLI's is of another program: None.
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
