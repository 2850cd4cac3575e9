"""What sources import, and what requirements bring."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def imported(path: Path) -> set[str]:
    """Every module that a source file imports, at any depth of its code, with its full dotted name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).parent.parts
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found |= {f"{module}.{alias.name}" for alias in node.names}  # `from lib.core import init` is an import of a module
    return found


def own(path: Path) -> set[str]:
    """The part of `imported` that is ours."""
    return {name for name in imported(path) if name.split(".")[0] == "lib"}


def third_party(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)} - {"lib", "__future__"} - sys.stdlib_module_names


def asked(name: str) -> set[str]:
    """The packages of a file of requirements."""
    lines = (ROOT / name).read_text().splitlines()
    return {canonicalize_name(Requirement(line.split(" #")[0]).name) for line in lines if line and line[0] not in "#-"}


def brought(requirements: Iterable[str]) -> set[str]:
    """The distributions that these requirements, written as in the metadata of one, bring with them, themselves included."""
    found, waiting = set[tuple[str, str]](), [(text, "") for text in requirements]
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in found:
                found.add((name, wanted))
                with contextlib.suppress(metadata.PackageNotFoundError):
                    waiting += [(line, wanted) for line in metadata.requires(name) or []]
    return {name for name, _ in found}
