"""JUnit XML as CI systems read it."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET  # only written here, never parsed

import msgspec

from ptycassette.model.visible_text import printable, visible


class JUnitCase(msgspec.Struct, frozen=True):
    """A check: its group, its name, and if it failed, why, and what was there instead."""

    group: str
    name: str
    failure: str | None = None
    lines: tuple[str, ...] = ()


def junit_xml(name: str, suites: Iterable[tuple[str, Iterable[JUnitCase]]]) -> bytes:
    """A report: of each suite its name and its checks."""
    root = ET.Element("testsuites", name=name)
    for title, checks in suites:
        cases = list(checks)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=visible(title),
            tests=str(len(cases)),
            failures=str(sum(one.failure is not None for one in cases)),
        )
        for one in cases:
            case = ET.SubElement(
                suite, "testcase", classname=visible(one.group), name=visible(one.name)
            )
            if one.failure is not None:
                failure = ET.SubElement(case, "failure", message=printable(one.failure))
                failure.text = "\n".join(visible(line) for line in one.lines)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()
