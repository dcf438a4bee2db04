"""A scorer from an installed model: found, loaded without a network, or clearly missing."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.timeline.match import semantic_match
from ptycassette.errors import UsageError
from ptycassette.replaying.io.embeddings import MODEL_PACKAGES, embeddings_scorer

VECTORS = {"it works": [1.0, 0.1], "all is well": [0.9, 0.2], "it broke": [-1.0, 0.1]}


class Model:
    """A model of three sentences."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, text: str) -> list[float]:
        """Text to vector."""
        self.asked.append(text)
        return VECTORS[text]


Install = Callable[..., types.ModuleType]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a module importable."""

    def make(name: str, **content: Any) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__spec__ = types.SimpleNamespace(name=name)  # type: ignore[assignment]
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return make


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    for name in (*MODEL_PACKAGES, "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)


def test_meaning_counts_and_not_words() -> None:
    """As far as the model knows it."""
    scorer = embeddings_scorer(Model())

    assert semantic_match("all is well", "it works", 0.9, scorer)
    assert not semantic_match("it broke", "it works", 0.9, scorer)


def test_a_function_is_a_model_too() -> None:
    """From text to vector."""
    assert embeddings_scorer(VECTORS.__getitem__)("it works", "it works") == pytest.approx(1)


def test_a_text_is_embedded_once() -> None:
    """A model takes milliseconds; drift compares the same screens again and again."""
    model = Model()
    scorer = embeddings_scorer(model)
    scorer("it works", "all is well")
    scorer("it works", "it broke")

    assert model.asked == ["it works", "all is well", "it broke"]


def test_an_installed_model_package_is_found_and_loaded_offline(install: Install) -> None:
    """On the device that is asked for; the environment is as before afterwards."""
    seen: dict[str, object] = {}

    def load_model(device: str) -> Model:
        seen.update(device=device, offline=os.environ.get("HF_HUB_OFFLINE"))
        return Model()

    install(MODEL_PACKAGES[0], load_model=load_model)
    before = dict(os.environ)
    scorer = embeddings_scorer(device="mps")

    assert seen == {"device": "mps", "offline": "1"}
    assert dict(os.environ) == before
    assert scorer("it works", "all is well") > 0.9


def test_what_the_user_said_about_the_network_stands_afterwards(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was something else."""
    install(MODEL_PACKAGES[0], load_model=lambda device: Model())
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    embeddings_scorer()

    assert os.environ["HF_HUB_OFFLINE"] == "0"


@pytest.mark.parametrize("by", ["package", "directory"])
def test_a_path_is_loaded_from_local_files_only(install: Install, tmp_path: Path, by: str) -> None:
    """A package that only says where its model is, or a directory."""
    asked: list[tuple[str, dict[str, object]]] = []

    def load(path: str, **options: object) -> Model:
        asked.append((path, options))
        return Model()

    install("sentence_transformers", SentenceTransformer=load)
    install("my_model", get_model_path=lambda: tmp_path)
    embeddings_scorer("my-model" if by == "package" else tmp_path)

    assert asked == [(str(tmp_path), {"device": "cpu", "local_files_only": True})]


def test_no_model_package_says_what_to_install() -> None:
    """And how to bring one's own."""
    with pytest.raises(UsageError, match="no model package is installed") as caught:
        embeddings_scorer()

    assert caught.value.hint is not None
    assert "ptycassette[embeddings]" in caught.value.hint


def test_a_package_without_its_loader_says_what_is_missing(install: Install) -> None:
    """sentence-transformers, above all."""
    install("my_model", get_model_path=lambda: "/dev/null/nowhere")

    with pytest.raises(UsageError, match="sentence_transformers is not installed"):
        embeddings_scorer("my_model")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no-such-model", None, "neither an installed model package nor a directory"),
        ("my_model", {}, "neither load_model nor get_model_path"),
        ("my_model", {"load_model": lambda device: 1 / 0}, "'my_model' cannot be loaded"),
        ("my_model", {"load_model": lambda device: 5}, "type int has no encode"),
    ],
)
def test_what_is_no_model_is_an_error(
    install: Install, name: str, content: dict[str, Any] | None, message: str
) -> None:
    """Before anything is compared."""
    if content is not None:
        install(name, **content)

    with pytest.raises(UsageError, match=message):
        embeddings_scorer(name)
