"""The work of the fixture for a fake model provider: scripted, local, strict.

aiohttp (of the extra ``provider``) is imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.agents.harness.io.fake_provider import FakeProviderServer


def provider(request: pytest.FixtureRequest) -> Iterator[Callable[..., FakeProviderServer]]:
    """See the fixture ``ptycassette_provider``."""
    try:
        from ptycassette.agents.harness.fake.script import Script
        from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
    except ImportError as missing:
        pytest.fail(
            f"the fake provider needs the package {missing.name!r}:"
            " pip install 'ptycassette[provider]'",
            pytrace=False,
        )
    started: list[tuple[FakeProviderServer, bool]] = []

    with ExitStack() as stack:

        def start(
            script: str | os.PathLike[str] | None = None,
            *,
            text: str | None = None,
            all_replies: bool = False,
            **options: Any,
        ) -> FakeProviderServer:
            if (script is None) == (text is None):
                raise TypeError("either the path of a script or text")
            chosen = (
                request.path.parent / script
                if script is not None
                else Script.parse(text or "", variables=dict(options.pop("variables", None) or {}))
            )
            server = stack.enter_context(FakeProviderServer(chosen, **options))
            started.append((server, all_replies))
            return server

        yield start
    problems = [problem for server, _ in started for problem in server.problems]
    problems += [
        f"reply {name}: not asked for"
        for server, all_replies in started
        if all_replies
        for name in server.unused
    ]
    if problems:
        lines = ["the fake provider was surprised:", *map(visible, problems)]
        pytest.fail("\n".join(lines), pytrace=False)
