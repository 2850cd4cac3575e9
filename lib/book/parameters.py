"""What the parameters of a chapter may be: one check for `python -m lib run`, before a kernel starts, and for the chapter
itself, which refuses the same whoever passes them: papermill knows no types and takes names that do not exist."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from reprlib import repr as short
from typing import Any

from lib.core.record.spec import check_count, check_gamma, check_number
from lib.core.sweep.experiment import check_profile
from lib.core.train.machine import choose_device


class ParameterError(ValueError):
    """A parameter that a chapter does not have, or a value that it cannot use; the message says what to do."""


def _rate(name: str, value: float) -> None:
    check_gamma(value)


def _count(low: int, high: int) -> Callable[[str, int], Any]:
    return lambda name, value: check_count(name, value, low=low, high=high)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "profile": lambda name, value: check_profile(value),
    "device": lambda name, value: choose_device(value),  # one that is not there, too
    "gamma": _rate,
    "large": _rate,
    "small": _rate,
    "seed": _count(0, 10**9),
    "depth": lambda name, value: check_count(name, value),
    "length": _count(1, 1000),  # of prompts: minutes, and half a gigabyte
    "loud": lambda name, value: check_number(name, value, low=0),
    "rows": _count(0, 10**7),
}
"""What the parameters that chapters share may be. Any other number must be finite; the rest is for the chapter to say."""


def _absolute(name: str, path: str) -> str:
    """A path from where the user stands, since a chapter is executed elsewhere; none stays none."""
    found = Path(os.path.expanduser(path)).absolute()
    if path and not os.path.exists(found):  # False, and no error, for what no system could hold
        raise ParameterError(f"parameter {name}: there is nothing at {short(str(found))}: give the path of a file or a folder.")
    return str(found) if path else ""


def assigned(source: str) -> dict[str, Any]:
    """{name: value} of a cell of plain assignments, in order. Raises SyntaxError or ValueError for another."""
    found: dict[str, Any] = {}
    for statement in ast.parse(source).body:
        target = statement.target if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [None])[0]
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and value is not None:
            found[target.id] = ast.literal_eval(value)
    return found


def checked(chapter: str, kinds: Mapping[str, type], given: Mapping[str, Any]) -> dict[str, Any]:
    """Given parameters in the types that the chapter gives them.

    Raises ParameterError for an unknown name or a value of another type, and what the checks of the values raise.
    """
    found = {}
    for name, value in given.items():
        if name not in kinds:
            raise ParameterError(f"{chapter} has no parameter {name!r}: use {', '.join(kinds) or 'none'}.")
        kind = kinds[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not kind:
            raise ParameterError(f"parameter {name} of {chapter} must be of type {kind.__name__}, got {short(value)}.")
        if check := _CHECKS.get(name) or (check_number if kind is float else None):
            check(name, value)
        found[name] = _absolute(name, str(value)) if name == "data" else value
    return found


_INJECTED = "# Parameters\n"
"""How the cell begins that papermill adds below that of the defaults."""


def check_parameters(names: MutableMapping[str, Any]) -> None:
    """In a chapter, of its global names: check every parameter that a cell above declares with a type, and that papermill
    passed no other. Whole numbers become floats where the chapter says so. Raises as `checked` does."""
    kinds = names["__annotations__"]
    given = {name: names[name] for name in kinds}
    for cell in names.get("In", []):
        if cell.startswith(_INJECTED):
            given |= assigned(cell)
    names.update(checked("this chapter", kinds, given))
