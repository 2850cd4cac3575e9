"""A checkpoint: everything a group of runs needs to go on as if it had never stopped, in one safetensors file.

Weights, moments and clocks of every slot are its arrays; the queue, histories and the way of computing are its metadata. The
data have no generator: a run's place in them is its step. Written atomically with a digest, read with it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lib.core.record.files import reason, write_atomically
from lib.core.record.spec import RunSpec, SpecError, canonical, from_dict

FORMAT = "reason-or-memorize/checkpoint/1"
_SNAPSHOT = "snapshot."


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used; the message says what to do."""


@dataclass
class Record:
    """What is known of a run on its way."""

    history: dict[str, list[float | None]] = field(default_factory=dict)
    fit_step: int | None = None
    seconds: float = 0.0
    snapshots: dict[int, dict[str, Tensor]] = field(default_factory=dict)


@dataclass
class Checkpoint:
    """slots: the run of each slot, None where it is empty; queue: the runs not begun, the next one last."""

    slots: list[RunSpec | None]
    queue: list[RunSpec]
    records: dict[RunSpec, Record]
    ticks: int
    backend: str
    precision: str
    arrays: dict[str, Tensor]

    @property
    def unfinished(self) -> list[RunSpec]:
        return _in_order(self.slots, self.queue)

    def _snapshots(self) -> dict[str, Tensor]:
        return {
            f"{_SNAPSHOT}{i}.{step}.{name}": array
            for i, record in enumerate(self.records.values())
            for step, kept in record.snapshots.items()
            for name, array in kept.items()
        }

    def save(self, path: Path) -> None:
        """Raises CheckpointError where the place cannot be written; the former checkpoint is then still there."""
        state = {
            "slots": [run and run.as_dict() for run in self.slots],
            "queue": [run.as_dict() for run in self.queue],
            "records": [[run.as_dict(), r.history, r.fit_step, r.seconds] for run, r in self.records.items()],
            "ticks": self.ticks,
            "backend": self.backend,
            "precision": self.precision,
        }
        text = canonical(state)
        arrays = {name: tensor.contiguous() for name, tensor in (self.arrays | self._snapshots()).items()}
        metadata = {"format": FORMAT, "state": text, "digest": _digest(text, arrays)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, save_tensors(arrays, metadata))
        except OSError as error:
            raise CheckpointError(
                f"cannot write the checkpoint {path}: {reason(error)}; finished runs are safe, "
                "mend this and run again to go on."
            ) from None


def _in_order(slots: list[RunSpec | None], queue: list[RunSpec]) -> list[RunSpec]:
    return [run for run in slots if run is not None] + queue[::-1]


def _digest(text: str, arrays: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].numpy().tobytes())
    return digest.hexdigest()


def _metadata(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
    except OSError as error:
        raise CheckpointError(f"the checkpoint {path} cannot be read: {reason(error)}.") from None
    except SafetensorError:
        raise CheckpointError(
            f"the checkpoint {path} is only half there: delete it and run again; its unfinished runs will start over."
        ) from None
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of this version ({FORMAT!r}): move it away, then run again.")
    return metadata


def _parse(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    try:
        state = json.loads(metadata["state"])
        state["slots"] = [run and from_dict(run) for run in state["slots"]]
        state["queue"] = [from_dict(run) for run in state["queue"]]
        state["records"] = {from_dict(run): Record(*rest) for run, *rest in state["records"]}
    except (KeyError, ValueError, TypeError, SpecError) as error:
        raise CheckpointError(f"the checkpoint {path} describes no runs of this version ({error}): move it away.") from None
    return state


def unfinished(path: Path) -> list[RunSpec]:
    """The runs that a checkpoint would go on with, without reading its arrays. Raises CheckpointError."""
    state = _parse(path, _metadata(path))
    return _in_order(state["slots"], state["queue"])


def load(path: Path) -> Checkpoint:
    """Raises CheckpointError for a file that is truncated, altered, or of another version."""
    metadata = _metadata(path)
    state, arrays = _parse(path, metadata), load_tensors(path.read_bytes())
    if _digest(metadata["state"], arrays) != metadata.get("digest"):
        raise CheckpointError(
            f"the checkpoint {path} does not match its digest: delete it and run again; its unfinished runs will start over."
        )
    records = list(state["records"].values())
    for name in [name for name in arrays if name.startswith(_SNAPSHOT)]:
        i, step, own = name.removeprefix(_SNAPSHOT).split(".", 2)
        records[int(i)].snapshots.setdefault(int(step), {})[own] = arrays.pop(name)
    return Checkpoint(**state, arrays=arrays)
