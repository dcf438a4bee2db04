"""Write an example script for the fake provider and a certain CLI.

CLIs offer different tools to their models, and a call of an unknown tool is an error. So the
example takes the tools from the profile of the CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ptycassette.errors import NotFoundError
from ptycassette.profiles.profile import Profile, ToolCall


def example_script(profile: Profile, does: str | None = None) -> str:
    """A TOML script in which the model calls a tool once and then answers.

    Args:
        profile: the CLI's profile.
        does: a key of ``profile.tools``; the first when None.

    Raises:
        NotFoundError: the profile has no such tool.
    """
    name = next(iter(profile.tools), None) if does is None else does
    if name is not None and name not in profile.tools:
        raise NotFoundError(
            f"the profile {profile.name!r} has no tool that does {name!r}",
            hint=f"it has: {', '.join(profile.tools) or 'none'}",
        )
    tool = None if name is None else profile.tools[name]
    asked = "" if tool is None else f" Ask: {tool.prompt}"
    replies = [] if tool is None else _acts(tool)
    last = _reply("anything else", _answer("Hello from the script.", tool), times=0)
    head = f"# What the model answers {profile.title}.{asked}\nversion = 1\n"
    return "\n".join([head, *replies, last])


def _acts(tool: ToolCall) -> list[str]:
    """The reply with a tool call, and the one after the tool's result."""
    asked = {"prompt_contains": tool.prompt}
    if tool.text is not None:
        return [_reply("act", [{"text": tool.text}], when=asked)]
    call = {"tool": tool.name, "arguments": tool.arguments, "input": tool.input}
    given = {name: value for name, value in call.items() if value is not None}
    when = {**asked, "after": "prompt", "tools": True}
    return [
        _reply("act", [{"text": "I will look. "}, given], when=when),
        _reply("answer", _answer("The tool has answered.", tool), when={"after": "tool"}),
    ]


def _answer(text: str, tool: ToolCall | None) -> list[dict[str, Any]]:
    """The parts of an answer that ends a turn."""
    if tool is None or tool.finish is None:
        return [{"text": text}]
    return [{"text": text}, {"tool": tool.name, "arguments": tool.finish}]


def _reply(
    name: str,
    parts: list[dict[str, Any]],
    *,
    when: Mapping[str, Any] | None = None,
    times: int = 1,
) -> str:
    """One table of the script."""
    lines = ["[[replies]]", f"name = {_toml(name)}"]
    lines += [f"when = {_toml(when)}"] if when else []
    lines += [f"times = {times}"] if times != 1 else []
    if len(parts) > 1:
        lines.append(f"parts = [{', '.join(_toml(part) for part in parts)}]")
    elif "\n" in parts[0]["text"]:
        lines.append(f"text = '''\n{parts[0]['text'].lstrip()}'''")
    else:
        lines.append(f"text = {_toml(parts[0]['text'])}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value as inline TOML; its strings have the syntax of JSON."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_toml_key(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(one) for one in value)}]"
    return msgspec.json.encode(value).decode()


def _toml_key(key: str) -> str:
    bare = key.replace("_", "a").replace("-", "a")
    return key if bare.isascii() and bare.isalnum() else _toml(key)
