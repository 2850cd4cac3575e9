"""What retraining a study from nothing costs: python benchmarks/study.py icl- writes it into benchmarks/study.json.

Every experiment of the laptop profile whose name begins with the argument is trained for a twentieth of its steps, all runs, by
the sweep itself, into an empty store; the rest is multiplication. Evaluations fall as often as in the whole. What is compiled
first is trained in full, since the compiler's time is not that of a step, and so is what ends when it has fitted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lib.book.registry import EXPERIMENTS
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store
from lib.core.sweep.jobs import StudyFactory, sweep
from lib.core.train.machine import cores
from lib.core.train.plan import Options, backend_for

SHARE = 20


def shortened(spec: RunSpec, steps: int) -> RunSpec:
    every = spec.train.eval_every
    train = replace(spec.train, steps=steps, warmup=min(spec.train.warmup, steps), eval_every=every)
    task = dict(spec.task)
    return replace(spec, train=train, task=tuple((task | {"keep": ()} if "keep" in task else task).items()))


def timed(specs: list[RunSpec], make_study: StudyFactory) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        sweep(specs, Store(Path(folder)), make_study, progress=False)
        return time.perf_counter() - began


def estimated(group: list[RunSpec], make_study: StudyFactory) -> float:
    """Seconds for runs of one shape, from two beginnings, so that what both begin with cancels."""
    full, unit = group[0].train.steps, group[0].train.eval_every
    short = max(unit, full // SHARE // unit * unit)
    first, more = (timed([shortened(s, unit + n) for s in group], make_study) for n in (0, short))
    return (more - first) / short * full


def main(prefix: str) -> None:
    path = Path(__file__).with_name("study.json")
    known = json.loads(path.read_text())["experiments"] if path.exists() else {}
    found = {name: record for name, record in known.items() if not name.startswith(prefix)}
    for name, experiment in EXPERIMENTS.items():
        if not name.startswith(prefix):
            continue
        specs, seconds = experiment.specs("laptop"), 0.0
        if backend_for(specs, Options()) == "compiled" or specs[0].train.schedule == "fit":
            seconds = timed(specs, experiment.make_study)
        else:
            shapes: dict[tuple, list[RunSpec]] = {}
            for spec in specs:
                shapes.setdefault(spec.shape, []).append(spec)
            seconds = sum(estimated(group, experiment.make_study) for group in shapes.values())
        print(f"{name}: {len(specs)} runs, {seconds:.0f} s", file=sys.stderr)
        found[name] = {"runs": len(specs), "seconds": round(seconds)}
    path.write_text(json.dumps({"cores": cores(), "share": f"1/{SHARE}", "experiments": found}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
