"""YAML by a safe loader that also refuses what makes a file mean more than it shows.

Refused are anchors and aliases (small files that grow huge), merge keys, tags,
repeated keys, keys that are no text, and more than one document.
"""

from __future__ import annotations

from typing import Any

import yaml

from ptycassette.errors import UsageError
from ptycassette.model.visible import visible

__all__ = ["parse_yaml"]

MAX_YAML_BYTES = 4 << 20


def parse_yaml(data: bytes, *, where: str) -> Any:
    """Plain data from YAML, or from JSON, which is YAML.

    Args:
        data: the file.
        where: its name, for messages.

    Raises:
        UsageError: it is not what is read here; the message says where and why.
    """
    if len(data) > MAX_YAML_BYTES:
        raise UsageError(f"longer than {MAX_YAML_BYTES} bytes", where=where)
    try:
        return yaml.load(data, _StrictLoader)  # noqa: S506 - a SafeLoader, and stricter
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as exc:
        raise UsageError(f"no YAML as it is read here: {visible(str(exc))}", where=where) from exc


class _StrictLoader(yaml.SafeLoader):
    """Safe, and without what hides meaning."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases and anchors before anything is expanded."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.events.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.composer.ComposerError(
                None, None, "anchors and aliases are not allowed", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        """Refuse merge keys, repeated keys and keys that are no text."""
        seen: set[str] = set()
        for key, _ in node.value:
            problem = None
            if key.tag == "tag:yaml.org,2002:merge":
                problem = "merge keys are not allowed"
            elif key.tag != "tag:yaml.org,2002:str":
                problem = f"the key {key.value!r} is no text"
            elif key.value in seen:
                problem = f"the key {key.value!r} stands twice"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# YAML 1.1 reads ``12:30`` as a number in base 60, and dates as dates; here they are text.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
