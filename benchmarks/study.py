"""What retraining a study from nothing costs: python benchmarks/study.py bias- > benchmarks/study.json

Every experiment of the laptop profile whose name begins with the argument is trained for a twentieth of its steps, all runs, by
the sweep itself, into an empty store; the rest is multiplication. Evaluations fall as often as in the whole. The compiler's
work, where there is any, is timed apart and counted once.
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
from lib.core.machine import cores
from lib.core.plan import Options, backend_for
from lib.core.spec import RunSpec
from lib.core.store import Store
from lib.core.sweep import sweep

SHARE = 20


def shortened(spec: RunSpec, steps: int) -> RunSpec:
    every = spec.train.eval_every
    train = replace(spec.train, steps=steps, warmup=min(spec.train.warmup, steps), eval_every=every)
    return replace(spec, train=train, task=tuple({**dict(spec.task), "keep": ()}.items()))


def timed(specs: list[RunSpec], make_study: object, options: Options) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        sweep(specs, Store(Path(folder)), make_study, options, progress=False)
        return time.perf_counter() - began


def main(prefix: str) -> None:
    found = {}
    for name, experiment in EXPERIMENTS.items():
        if not name.startswith(prefix):
            continue
        seconds, shapes = 0.0, {}
        for spec in experiment.specs("laptop"):
            shapes.setdefault(spec.shape, []).append(spec)
        every = [spec for group in shapes.values() for spec in group]
        for group in shapes.values():
            # as the sweep decides for the whole experiment, which is more worth compiling than its beginning
            options = Options(backend=backend_for(every if group[0].model == every[0].model else group, Options()))
            full, unit = group[0].train.steps, group[0].train.eval_every
            short = max(unit, full // SHARE // unit * unit)
            first = timed([shortened(s, unit) for s in group], experiment.make_study, options)
            more = timed([shortened(s, unit + short) for s in group], experiment.make_study, options)
            rate = (more - first) / short  # what both begin with cancels
            seconds += max(0.0, first - rate * unit) + rate * full
            print(name, len(group), f"{rate * full:.0f} s", file=sys.stderr)
        found[name] = {"runs": len(every), "seconds": round(seconds)}
    print(json.dumps({"cores": cores(), "share": f"1/{SHARE}", "experiments": found}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
