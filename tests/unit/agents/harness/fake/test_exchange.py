"""What the log withholds of requests."""

from __future__ import annotations

import pytest

from ptycassette.agents.harness.fake.script import (
    HttpRequest,
    shown_headers,
    shown_query,
    withheld_values,
)


@pytest.mark.parametrize(
    "name",
    [
        *("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"),
        *("cookie", "x-auth-token", "x-amz-security-token", "x-my-secret", "x-session-token"),
        *("chatgpt-account-id", "openai-organization", "openai-project"),
    ],
)
def test_headers_that_are_called_like_secrets_are_withheld(name: str) -> None:
    """Those of the APIs, and those that gateways add."""
    assert shown_headers({name: "value"}) == {name: "(withheld)"}


@pytest.mark.parametrize("name", ["idempotency-key", "user-agent", "anthropic-beta", "accept"])
def test_other_headers_are_shown(name: str) -> None:
    """A reader of the log wants them."""
    assert shown_headers({name: "value"}) == {name: "value"}


def test_query_parameters_that_are_called_like_secrets_are_withheld() -> None:
    """And no others."""
    query = (("key", "a"), ("access_token", "b"), ("api_key", "c"), ("alt", "sse"))

    assert shown_query(query) == {
        **dict.fromkeys(("key", "access_token", "api_key"), "(withheld)"),
        "alt": "sse",
    }


def test_what_is_withheld_can_be_looked_for() -> None:
    """Tokens without their scheme, cookies one by one, parameters of the query."""
    request = HttpRequest(
        method="GET",
        path="/",
        query=(("key", "asked"), ("alt", "sse")),
        headers={"authorization": "Bearer token", "cookie": "a=one; b=two", "accept": "*/*"},
    )

    assert list(withheld_values(request)) == ["token", "one", "two", "asked"]
