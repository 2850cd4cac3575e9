"""No function of lib/ is written twice: none has the shape of another, whatever its names and constants are."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LIB = Path(__file__).parents[1] / "lib"
LEAST = 40
"""Nodes of a function's syntax, its signature and docstring left out, from which a shape is no accident."""


def shape(node: ast.AST) -> Iterator[str]:
    """The kinds of a node and of all below it, nested."""
    yield type(node).__name__
    for child in ast.iter_child_nodes(node):
        yield from shape(child)
    yield ""


def twins(sources: dict[str, str]) -> list[list[str]]:
    """Functions of one shape: `where, name` of each."""
    found = defaultdict(list)
    for where, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                kinds = tuple(kind for part in body for kind in shape(part))
                if len(kinds) >= 2 * LEAST:
                    found[kinds].append(f"{where}, {node.name}")
    return [group for group in found.values() if len(group) > 1]


def test_no_function_has_a_twin() -> None:
    assert twins({str(path.relative_to(LIB)): path.read_text(encoding="utf-8") for path in LIB.rglob("*.py")}) == []


ONE = '''
def mean(values: list[float]) -> float:
    """Of those that are finite."""
    total, count = 0.0, 0
    for value in values:
        if value == value:
            total += value
            count += 1
    return total / max(count, 1)
'''


def test_a_twin_is_seen_whatever_its_names() -> None:
    other = ONE.replace("values", "rows").replace("mean", "centre").replace("0.0", "1.5").replace('"""Of those', '"""Those')
    assert twins({"a.py": ONE, "b.py": other}) == [["a.py, mean", "b.py, centre"]]
    assert twins({"a.py": ONE, "b.py": other.replace("+= rows", "-= rows").replace("count += 1", "count -= 1")}) == []
