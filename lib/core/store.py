"""Results on disk: one JSON file a run, with a safetensors file beside it where weights are kept.

`<root>/<experiment>/<key>.json` holds a digest of its own content and, if there are arrays, the digest of their file. Writes
are atomic (temporary file, fsync, rename) and the JSON comes last, so a result is there whole or not at all. The first writer
of a key wins; a second finds it done. A truncated, altered or foreign file is an error that names it, never a result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lib.core.files import reason, write_atomically
from lib.core.spec import RunSpec, SpecError, canonical, from_dict
from lib.core.train import RunResult

FORMAT = "reason-or-memorize/run/1"
_SNAPSHOT = "snapshot."


class StoreError(RuntimeError):
    """A result file that cannot be used, or a place that cannot be written; the message says what to do."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the store has it. Values of metrics and history are None where the run was not finite."""

    spec: RunSpec
    metrics: dict[str, float]
    history: dict[str, list[float]]
    steps: int
    status: str
    fit_step: int | None
    seconds: float
    provenance: dict[str, Any]
    path: Path

    @property
    def key(self) -> str:
        return self.path.stem

    @property
    def has_weights(self) -> bool:
        file = self.path.with_suffix(".safetensors")
        if not file.exists():
            return False
        try:
            with safe_open(file, "pt") as arrays:
                return any(not name.startswith(_SNAPSHOT) for name in arrays.keys())  # noqa: SIM118 (not a dictionary)
        except (OSError, SafetensorError):
            return True  # reading them will say what is wrong

    def weights(self) -> dict[str, Tensor]:
        """The run's weights in single precision. Raises StoreError if none were kept or the file is not what was written."""
        found = {name: array for name, array in self._arrays().items() if not name.startswith(_SNAPSHOT)}
        if not found:
            raise StoreError(f"{self.path} was stored without weights: rerun its experiment with weights kept.")
        return found

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        """{step: {name: array}}, what the run's study kept of steps on the way, in single precision. Raises StoreError as
        `weights` does."""
        found: dict[int, dict[str, Tensor]] = {}
        for name, array in self._arrays().items():
            if name.startswith(_SNAPSHOT):
                step, own = name.removeprefix(_SNAPSHOT).split(".", 1)
                found.setdefault(int(step), {})[own] = array
        if not found:
            raise StoreError(f"{self.path} was stored without snapshots: rerun its experiment with a study that keeps them.")
        return dict(sorted(found.items()))

    def _arrays(self) -> dict[str, Tensor]:
        content = _read(self.path)
        if content["arrays"] is None:
            return {}
        file = self.path.with_suffix(".safetensors")
        try:
            data = file.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{file} cannot be read ({error.strerror}): delete {self.path.name} and run the sweep again."
            ) from None
        if hashlib.sha256(data).hexdigest() != content["arrays"]:
            raise StoreError(
                f"{file} is not the file that was written with {self.path.name}: delete both and run the sweep again."
            )
        try:
            return {name: tensor.float() for name, tensor in load_tensors(data).items()}
        except SafetensorError:
            raise StoreError(
                f"{file} is not a safetensors file: delete it and {self.path.name} and run the sweep again."
            ) from None


def _digest(content: Any) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    hint = "delete it and run the sweep again"
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is truncated or not JSON: {hint}.") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(f"{path} is not a result of this project (format {FORMAT!r}): move it out of the store.")
    content = record.get("content")
    try:
        genuine = isinstance(content, dict) and record.get("digest") == _digest(content)
    except ValueError:  # numbers that are not finite, which we never write
        genuine = False
    if not genuine:
        raise StoreError(f"{path} does not match its digest, so it was changed after it was written: {hint}.")
    return content


class Store:
    """The results under one folder."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    def path(self, spec: RunSpec) -> Path:
        return self.root / spec.experiment / f"{spec.key}.json"

    def get(self, spec: RunSpec) -> StoredRun | None:
        """The result of a spec, None if there is none. Raises StoreError if what is there cannot be trusted."""
        path = self.path(spec)
        return self.read(path) if path.exists() else None

    def read(self, path: Path) -> StoredRun:
        """The result in one file. Raises StoreError unless it is whole, unaltered and under the name its spec gives it."""
        content = _read(path)
        try:
            spec = from_dict(content["spec"])
            fields = {
                name: content[name] for name in ("metrics", "history", "steps", "status", "fit_step", "seconds", "provenance")
            }
        except (KeyError, SpecError) as error:
            raise StoreError(f"{path} lacks a part of a result ({error}): delete it and run the sweep again.") from None
        if path.stem != spec.key:
            raise StoreError(f"{path} holds the result of another spec, {spec.key}: move it out of the store.")
        return StoredRun(spec=spec, path=path, **fields)

    def put(self, result: RunResult, provenance: dict[str, Any], keep_weights: bool = False) -> bool:
        """Write one result; False if a good one was there already. Weights are kept in half precision."""
        path = self.path(result.spec)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.parent / ".lock"):
                for leftover in path.parent.glob(".writing-*"):  # of a writer that was killed: whoever writes holds the lock
                    leftover.unlink()
                try:
                    if self.get(result.spec) is not None:
                        return False
                except StoreError:
                    pass  # what is there is unusable: replace it
                arrays = None
                kept = dict(result.weights) if keep_weights else {}
                for step, snapshot in result.snapshots.items():
                    kept |= {f"{_SNAPSHOT}{step}.{name}": array for name, array in snapshot.items()}
                if kept:
                    data = save_tensors({name: w.to(torch.float16).contiguous() for name, w in kept.items()})
                    arrays = hashlib.sha256(data).hexdigest()
                    write_atomically(path.with_suffix(".safetensors"), data)
                content = {
                    "spec": result.spec.as_dict(),
                    "metrics": _rounded(result.metrics),
                    "history": _rounded(result.history),
                    "steps": result.steps,
                    "status": result.status,
                    "fit_step": result.fit_step,
                    "seconds": result.seconds,
                    "provenance": provenance,
                    "arrays": arrays,
                }
                record = {"format": FORMAT, "digest": _digest(content), "content": content}
                write_atomically(path, (canonical(record) + "\n").encode())
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {reason(error)}; earlier results are safe, mend this and run again to resume."
            ) from None
        return True

    def files(self, experiment: str) -> Iterator[Path]:
        """The result files of one experiment, sorted by name."""
        yield from sorted((self.root / experiment).glob("[!.]*.json"))


def _rounded(value: Any) -> Any:
    """Floats to six significant digits: more would be noise, and the store is committed."""
    if isinstance(value, dict):
        return {name: _rounded(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
