"""Results on disk: one JSON file a run, with a safetensors file beside it where weights are kept.

`<root>/<experiment>/<key>.json` holds a digest of its own content and, if there are arrays, the digest of their file. Writes
are atomic (temporary file, fsync, rename) and the JSON comes last, so a result is there whole or not at all. The first writer
of a key wins; a second finds it done. A truncated, altered or foreign file is an error that names it, never a result. Only
what is damaged is ever called so: a result that this process cannot interpret is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lib.core.record.files import reason, write_atomically
from lib.core.record.result import STATUSES, RunResult
from lib.core.record.spec import RunSpec, SpecError, UnknownKindError, canonical, from_dict

FORMAT = "reason-or-memorize/run/1"
_SNAPSHOT = "snapshot."


class StoreError(RuntimeError):
    """A result file that cannot be used, or a place that cannot be written; the message says what to do."""


class PlaceError(StoreError):
    """A place that cannot be written: other results would not fare better."""


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
    arrays: str | None = None
    """The digest of the file beside it, None where there is none."""

    @property
    def key(self) -> str:
        return self.path.stem

    @property
    def has_weights(self) -> bool:
        """Were weights kept? What has become of their file since is for `weights` to say."""
        if self.arrays is None:
            return False
        try:
            with safe_open(self.path.with_suffix(".safetensors"), "pt") as arrays:
                return any(not name.startswith(_SNAPSHOT) for name in arrays.keys())  # noqa: SIM118 (not a dictionary)
        except (OSError, SafetensorError):
            return True  # missing or damaged: reading them will say so

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
        return {} if self.arrays is None else {n: t.float() for n, t in _read_arrays(self.path, self.arrays).items()}


def _digest(content: Any) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _signed(data: bytes, record: dict[str, Any]) -> bool:
    """Is a file, byte by byte, what `put` would have written? Quicker to tell than to write the content once more."""
    head, tail = b'{"content":', f',"digest":"{record.get("digest")}","format":"{FORMAT}"}}\n'.encode()
    content = data.removeprefix(head).removesuffix(tail)
    return len(content) == len(data) - len(head) - len(tail) and hashlib.sha256(content).hexdigest() == record.get("digest")


def _read(path: Path) -> dict[str, Any]:
    hint = "delete it and run the sweep again"
    try:
        data = path.read_bytes()
        record = json.loads(data)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is truncated or not JSON: {hint}.") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(f"{path} is not a result of this project (format {FORMAT!r}): move it out of the store.")
    content = record.get("content")
    try:
        genuine = _signed(data, record) or record.get("digest") == _digest(content)
    except ValueError:  # numbers that are not finite, which we never write
        genuine = False
    if not isinstance(content, dict) or not genuine:
        raise StoreError(f"{path} does not match its digest, so it was changed after it was written: {hint}.")
    return content


_PARTS = ("metrics", "history", "steps", "status", "fit_step", "seconds", "provenance", "arrays")
"""What a result has beside its spec."""


_NUMBER = {int, float, type(None)}


def _numbers(value: Any) -> bool:
    """A number, none, or lists of them?"""
    if not isinstance(value, list):
        return type(value) in _NUMBER  # a truth value is none
    kinds = set(map(type, value)) - _NUMBER
    return not kinds or (kinds == {list} and all(_numbers(v) for v in value if isinstance(v, list)))


def _parts(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Those of a result. Raises StoreError where one is missing, or is what no run could have left."""
    if lacking := [name for name in ("spec", *_PARTS) if name not in content]:
        raise StoreError(f"{path} lacks a part of a result ({lacking[0]!r}): delete it and run the sweep again.")
    if wrong := _misshapen(content):
        raise StoreError(f"{path} is no result of a run ({wrong}): delete it and run the sweep again.")
    return {name: content[name] for name in _PARTS}


def _misshapen(fields: dict[str, Any]) -> str | None:
    """What no run could have left, though its writer signed it."""
    count = lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
    history = fields["history"]
    good = {
        "steps": count(fields["steps"]),
        "fit_step": fields["fit_step"] is None or count(fields["fit_step"]),
        "status": fields["status"] in STATUSES,
        "seconds": isinstance(fields["seconds"], int | float) and fields["seconds"] >= 0,
        "metrics": isinstance(fields["metrics"], dict) and all(map(_numbers, fields["metrics"].values())),
        "history": isinstance(history, dict) and all(isinstance(c, list) and _numbers(c) for c in history.values()),
        "provenance": isinstance(fields["provenance"], dict),
        "arrays": isinstance(fields["arrays"], str | None),
    }
    if wrong := [name for name, fits in good.items() if not fits]:
        return f"{wrong[0]}: {short(fields[wrong[0]])}"
    return "the columns of its history differ in length" if len({len(column) for column in history.values()}) > 1 else None


def _read_arrays(path: Path, digest: str) -> dict[str, Tensor]:
    """The arrays beside the result at `path`, as they were written. Raises StoreError unless the file has this digest."""
    file = path.with_suffix(".safetensors")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({error.strerror}): delete {path.name} and run the sweep again.") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StoreError(f"{file} is not the file that was written with {path.name}: delete both and run the sweep again.")
    try:
        return load_tensors(data)
    except SafetensorError:
        raise StoreError(f"{file} is not a safetensors file: delete it and {path.name} and run the sweep again.") from None


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes with a file; None of one that is not there, as whoever reads it will say."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


class Store:
    """The results under one folder."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self._known: dict[Path, tuple[tuple[int, int] | None, StoredRun]] = {}

    def path(self, spec: RunSpec) -> Path:
        return self.root / spec.experiment / f"{spec.key}.json"

    def get(self, spec: RunSpec) -> StoredRun | None:
        """The result of a spec, None if there is none. Raises StoreError if what is there cannot be trusted."""
        path = self.path(spec)
        return self.read(path) if path.exists() else None

    def read(self, path: Path) -> StoredRun:
        """The result in one file. Raises StoreError unless it is whole, unaltered and under the name its spec gives it."""
        stamp = _stamp(path)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = stamp, self._parsed(path)
        return known[1]

    def _parsed(self, path: Path) -> StoredRun:
        content = _read(path)
        fields = _parts(path, content)
        try:
            spec = from_dict(content["spec"])
        except UnknownKindError as error:
            raise StoreError(f"{path} is whole but cannot be read yet, so keep it: {error}") from None
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
            raise PlaceError(
                f"cannot write {path}: {reason(error)}; earlier results are safe, mend this and run again to resume."
            ) from None
        return True

    def files(self, experiment: str) -> Iterator[Path]:
        """The result files of one experiment, sorted by name."""
        yield from sorted((self.root / experiment).glob("[!.]*.json"))

    def verify(self) -> tuple[int, list[str]]:
        """Read every file of results and of arrays, of whatever experiment, version or kind of model: their number, and a
        sentence for each result that is not what was written, or whose arrays are missing or are not; and for arrays alone."""
        results = sorted(self.root.glob("*/[!.]*.json"))
        arrays = sorted(self.root.glob("*/[!.]*.safetensors"))
        wrong = []
        for path in results:
            try:
                content = _read(path)
                if (key := _digest(content.get("spec"))[:20]) != path.stem:
                    raise StoreError(f"{path} holds the result of another spec, {key}: move it out of the store.")
                _parts(path, content)
                if content["arrays"] is not None:
                    _read_arrays(path, content["arrays"])
            except StoreError as error:
                wrong.append(str(error))
        alone = sorted(set(arrays) - {path.with_suffix(".safetensors") for path in results})
        wrong += [f"{file} belongs to no result: {file.with_suffix('.json').name} is missing." for file in alone]
        return len(results) + len(arrays), wrong


def load(specs: Sequence[RunSpec], store: Store) -> list[StoredRun]:
    """The stored results of specs, in their order. Raises LookupError, naming the number, if some are missing."""
    found = [store.get(spec) for spec in specs]
    if missing := found.count(None):
        raise LookupError(f"{missing} of {len(found)} runs are not stored yet: run the sweep of {specs[0].experiment!r} first.")
    return [run for run in found if run is not None]


def load_stored(specs: Sequence[RunSpec], store: Store) -> list[StoredRun]:
    """What is stored of the specs, in their order."""
    return [run for spec in specs if (run := store.get(spec)) is not None]


def _rounded(value: Any) -> Any:
    """Floats to six significant digits: more would be noise, and the store is committed."""
    if isinstance(value, dict):
        return {name: _rounded(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
