"""Results computed from stored runs that take long, kept in the store beside them.

`<root>/derived/<measure>/<key>.safetensors`: the key is a digest of the measure's name and version, of the runs' files and of
all other arguments. So what came from other results, or from an earlier version of a measure, is not found and is computed
again; and so is what has been deleted or damaged. Pictures that rest on kept numbers are the same on every machine.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from lib.core.record.files import write_atomically
from lib.core.record.spec import canonical
from lib.core.record.store import StoredRun

FOLDER = "derived"
P = ParamSpec("P")
T = TypeVar("T", float, np.ndarray, dict[str, float], dict[str, np.ndarray])
_ALONE = "value"


def disk_cached(version: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A measure of stored runs whose value is kept in their store; of runs in no store it is computed each time.

    It returns a float, an array, or some of one kind by name, and depends on its arguments alone: runs, arrays, frozen
    dataclasses, numbers and words, or sequences of these. Whoever changes what it returns raises its version.
    """

    def keeping(measure: Callable[P, T]) -> Callable[P, T]:
        room = measure.__module__.removeprefix("lib.").replace(".metrics", ".numbers")  # what the room was called at first
        name = f"{room}.{measure.__name__}"
        known: dict[Path, Any] = {}

        def place(*args: P.args, **kwargs: P.kwargs) -> Path | None:
            """Where the value is kept; None for runs in no store."""
            files: list[Path] = []
            asked = canonical([name, version, _described([list(args), kwargs], files)])
            if not files or not all(file.is_file() for file in files):
                return None
            key = hashlib.sha256(asked.encode()).hexdigest()[:20]
            return files[0].parents[1] / FOLDER / name / f"{key}.safetensors"

        @functools.wraps(measure)
        def of(*args: P.args, **kwargs: P.kwargs) -> T:
            if (path := place(*args, **kwargs)) is None:
                return measure(*args, **kwargs)
            if path not in known:
                found = read(path)
                if found is None:
                    found = measure(*args, **kwargs)
                    _write(path, found)
                known[path] = found
            return known[path]

        cast(Any, of).place = place
        return of

    return keeping


def _described(value: Any, files: list[Path]) -> Any:
    """What a value is, in words and digests; files of results are added to the list."""
    if isinstance(value, StoredRun):
        files.append(value.path)
        content = value.path.read_bytes() if value.path.is_file() else b""
        return ["run", value.key, hashlib.sha256(content).hexdigest()]
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [[f.name, _described(getattr(value, f.name), files)] for f in dataclasses.fields(value)]
        return [type(value).__name__, fields]
    if isinstance(value, dict):
        return [[str(k), _described(v, files)] for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [_described(v, files) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a kept measure cannot depend on a {type(value).__name__}.")


def _digest(arrays: dict[str, np.ndarray]) -> str:
    described = [[name, _described(array, [])] for name, array in arrays.items()]
    return hashlib.sha256(canonical(described).encode()).hexdigest()


def read(path: Path) -> Any:
    """What is kept there; None where nothing is, or nothing that can be read."""
    if not path.exists():
        return None
    try:
        with safe_open(path, "np") as arrays:
            digest, *names = json.loads(arrays.metadata()["about"])  # names, since the file has an order of its own
            found = {name: arrays.get_tensor(name) for name in names}
            genuine = digest == _digest(found)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None
    if not genuine:
        return None
    values = {name: v if v.ndim else float(v) for name, v in found.items()}
    return values[_ALONE] if set(values) == {_ALONE} else values


def _write(path: Path, value: Any) -> None:
    """Keep a value. A place that cannot be written costs time and loses nothing, so it is no error."""
    arrays = {name: np.asarray(v, order="C") for name, v in (value if isinstance(value, dict) else {_ALONE: value}).items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, save(arrays, {"about": json.dumps([_digest(arrays), *arrays])}))
    except OSError:
        pass
