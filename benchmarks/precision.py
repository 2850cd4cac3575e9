"""Do bfloat16 products and the engine's programs change what is learned? The same runs three ways, over several seeds.

    python benchmarks/precision.py > benchmarks/precision.json

Laptop size, depth 2, the middle rate. Compared are final accuracies and labels; the yardstick is the spread over seeds.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib.composition.experiments import FAST, GRIDS, point_specs
from lib.composition.runs import REGION
from lib.core.record.store import Store, StoredRun
from lib.core.train.plan import Options

GAMMAS, SEEDS, DEPTH = (0.6, 0.9), range(4), 2


def label(run: StoredRun) -> str:
    """The mapping that a run answers by, at the book's level for a region."""
    return next((name for name in ("symmetric", "inferential") if run.metrics[name] >= REGION), "neither")


def main() -> None:
    middle = sorted(GRIDS["laptop"].rates)[1]
    base = {gamma: next(s for s in point_specs("laptop", gamma, DEPTH) if s.rate == middle) for gamma in GAMMAS}
    specs = [dataclasses.replace(base[gamma], seed=seed) for gamma in GAMMAS for seed in SEEDS]
    on_cpu = partial(Options, device="cpu")
    ways = {"exact": on_cpu(bf16=False, backend="eager", workers=2), "compiled": on_cpu(backend="compiled", workers=2)}
    ways["native"] = on_cpu(backend="native")
    with tempfile.TemporaryDirectory() as folder:
        runs = {way: FAST.obtain(specs, Store(f"{folder}/{way}"), options) for way, options in ways.items()}
    exact, rows, same = runs["exact"], [], {}
    for program in ("compiled", "native"):
        same[program] = sum(label(a) == label(b) for a, b in zip(exact, runs[program], strict=True))
        for gamma in GAMMAS:
            pairs = [(a, b) for a, b in zip(exact, runs[program], strict=True) if a.spec.gamma == gamma]
            for name in exact[0].metrics:
                one, other = ([run.metrics[name] for run in group] for group in zip(*pairs, strict=True))
                differences = [b - a for a, b in zip(one, other, strict=True)]
                rows.append(
                    {
                        "program": program,
                        "gamma": gamma,
                        "metric": name,
                        "exact": statistics.mean(one),
                        "spread": statistics.stdev(one),
                        "difference": statistics.mean(differences),
                        "difference_se": statistics.stdev(differences) / len(differences) ** 0.5,
                    }
                )
    record = {"seeds": len(SEEDS), "depth": DEPTH, "rate": middle, "runs": len(specs), "same_label": same, "rows": rows}
    record["labels"] = [
        [specs[i].gamma, specs[i].seed, *(f"{way}: {label(group[i])}" for way, group in runs.items())]
        for i in range(len(specs))
    ]
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
