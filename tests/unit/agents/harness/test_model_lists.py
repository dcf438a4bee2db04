"""Lists of models as providers document them."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.agents.harness.model_lists import ModelList, listed_models, model_list_of


@pytest.mark.parametrize(
    "document",
    [
        {"data": [{"type": "model", "id": "b"}, {"type": "model", "id": "a"}], "has_more": False},
        {"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "b"}, {"id": "a"}]},
        {"models": [{"name": "models/b", "displayName": "B"}, {"name": "models/a"}]},
        {"models": [{"slug": "a", "display_name": "A"}, {"slug": "b", "display_name": "B"}]},
        {"data": [{"id": "a"}, {"id": ""}, {"id": 7}, "c", None, {"id": "b"}]},
    ],
    ids=["Anthropic", "OpenAI", "Gemini", "Codex", "with what is no model"],
)
def test_the_names_of_a_list(document: Any) -> None:
    """Sorted, each once."""
    assert listed_models(document) == ("a", "b")


@pytest.mark.parametrize("document", [None, [], "a", {}, {"data": {"id": "a"}}, {"error": {}}])
def test_what_is_no_list_has_no_names(document: Any) -> None:
    """An error, or a page of somebody else."""
    assert listed_models(document) == ()


@pytest.mark.parametrize(
    ("target", "path", "key_header"),
    [
        ("/v1/messages?beta=true", "/v1/models", "x-api-key"),
        ("/api/v1/chat/completions", "/api/v1/models", "authorization"),
        ("/v1/responses", "/v1/models", "authorization"),
        ("/v1beta/models/m-1:streamGenerateContent?alt=sse", "/v1beta/models", "x-goog-api-key"),
    ],
)
def test_where_the_list_is(target: str, path: str, key_header: str) -> None:
    """Beside the question, with the key where the API takes it."""
    found = model_list_of(target)
    assert found is not None
    assert (found.path, found.key_header) == (path, key_header)


@pytest.mark.parametrize("target", ["/v1/messages/count_tokens", "/v1/models/m-1", "/telemetry"])
def test_what_asks_no_model_has_no_list(target: str) -> None:
    """Counting, looking up, and what is not of the model's API."""
    assert model_list_of(target) is None


def test_the_key_is_where_the_api_takes_it() -> None:
    """Anthropic's wants its version, too."""
    key = "k" * 8
    asked = [ModelList(path="/models", key_header=name).headers(key) for name in
             ("authorization", "x-goog-api-key", "x-api-key")]  # fmt: skip

    assert asked[:2] == [{"authorization": f"Bearer {key}"}, {"x-goog-api-key": key}]
    assert (asked[2]["x-api-key"], "anthropic-version" in asked[2]) == (key, True)
