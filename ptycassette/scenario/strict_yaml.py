"""YAML through a safe loader that also refuses what can hide meaning.

Refused are anchors and aliases (small files that grow huge), merge keys, tags,
repeated keys, keys that are not texts, and more than one document.
"""

from __future__ import annotations

from typing import Any

import yaml

from ptycassette.errors import UsageError
from ptycassette.model.visible_text import visible

MAX_YAML_BYTES = 256 << 10
"""What takes the loader longest, words on a line, takes it 0.35 s at this length."""
MAX_NODES = 10_000
"""Scalars, lists and mappings; reading them takes about a third of a second."""
MAX_DEPTH = 64
"""Of lists and mappings in brackets; with each level the loader looks longer for keys."""
MAX_DIGITS = 64


def parse_yaml(data: bytes, *, where: str) -> Any:
    """Plain data from YAML, or from JSON, which is YAML.

    Args:
        data: the file.
        where: its name, for messages.

    Raises:
        UsageError: it is not such YAML; the message names the place and the reason.
    """
    if len(data) > MAX_YAML_BYTES:
        raise UsageError(f"longer than {MAX_YAML_BYTES} bytes", where=where)
    try:
        return yaml.load(data, _StrictLoader)  # noqa: S506 - a SafeLoader, and stricter
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as exc:
        raise UsageError(f"no YAML as it is read here: {visible(str(exc))}", where=where) from exc


class _StrictLoader(yaml.SafeLoader):
    """The safe loader, without constructs that hide meaning."""

    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases and anchors before anything is expanded, and too many nodes."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(None, None, "tags are not allowed", event.start_mark)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise yaml.composer.ComposerError(
                None, None, f"more than {MAX_NODES} values", event.start_mark
            )
        if isinstance(event, yaml.events.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.composer.ComposerError(
                None, None, "anchors and aliases are not allowed", event.start_mark
            )
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            node.value = _joined(node)
        return node

    def fetch_flow_collection_start(self, token: Any) -> None:
        """Refuse brackets in brackets without end."""
        if self.flow_level >= MAX_DEPTH:
            raise yaml.scanner.ScannerError(
                None, None, f"nested deeper than {MAX_DEPTH} levels", self.get_mark()
            )
        super().fetch_flow_collection_start(token)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Read ``12:30`` as text (YAML 1.1 has numbers in base 60), and very long digits, too."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        is_number = tag in {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
        if is_number and (":" in value or len(value) > MAX_DIGITS):
            return "tag:yaml.org,2002:str"
        return tag

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        """Refuse merge keys, repeated keys and keys that are not texts."""
        seen: set[str] = set()
        for key, _ in node.value:
            problem = None
            if key.tag == "tag:yaml.org,2002:merge":
                problem = "merge keys are not allowed"
            elif key.tag != "tag:yaml.org,2002:str":
                problem = f"the key {key.value!r} is not text"
            elif key.value in seen:
                problem = f"the key {key.value!r} is there twice"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _joined(node: yaml.ScalarNode) -> str:
    """The text with JSON's surrogate pairs joined; a lone surrogate is refused."""
    text: str = node.value
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as exc:
        raise yaml.composer.ComposerError(
            None, None, "a lone surrogate is not a character", node.start_mark
        ) from exc


# YAML 1.1 reads dates as dates; here they are text.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
