"""Who answers after the change."""

from __future__ import annotations

import pytest

from ptycassette.agents.fork.io.tails import fake_script
from ptycassette.agents.harness.io.files import known_profiles, load_profile


@pytest.mark.parametrize("name", known_profiles(env={}))
def test_each_cli_has_an_example_that_the_fake_provider_can_answer_by(name: str) -> None:
    """Some examples name the work folder."""
    script = fake_script(load_profile(name, env={}), {"cwd": "/work", "home": "/home"})

    assert script.replies
