"""Native against compiled, shape by shape, in turns in one run: writes benchmarks/programs.json.

    python benchmarks/programs.py [--seconds 3] [--rounds 5] > benchmarks/programs.json

Each program trains two runs a core or as many as fit, as a sweep would have it: the native one in one process with a thread for
each core, the compiled one in a single-threaded process for each core. Each round lets native, compiled and the matrix products
of the machine work one after the other; of the rounds the median is taken.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.speed import _Contender, spec_of
from lib.composition.experiments import model_spec
from lib.composition.study import Composition
from lib.composition.variations import gpt2_model
from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec
from lib.core.train.machine import cores
from lib.core.train.plan import Options, training_work

SHAPES: tuple[tuple[str, ModelSpec, int], ...] = (
    ("GPT-2's form, post-norm", gpt2_model(2, 64, 4, "post"), 128),
    ("GPT-2's form, pre-norm", gpt2_model(2, 64, 4, "pre"), 128),
    ("paper's form", model_spec(64, 2), 512),
    ("paper's form", model_spec(128, 2), 512),
    ("paper's form", model_spec(256, 2), 512),
    ("paper's form", model_spec(384, 2), 512),
    ("paper's size", model_spec(400, 2), 2048),
    ("paper's size", model_spec(400, 3), 2048),
)


def _spec(model: ModelSpec, batch: int) -> RunSpec:
    spec = spec_of("laptop", model.depth)
    return dataclasses.replace(spec, model=model, train=dataclasses.replace(spec.train, batch=batch))


def compare(form: str, model: ModelSpec, batch: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Milliseconds of one step of one run by each program, the ratio round by round, and shares of the peak."""
    spec, n = _spec(model, batch), cores()
    many = 1 if model.d_model >= 256 else 4  # runs of a process of the compiled program
    teams = {
        "native": [_Contender("engine", spec, Options(device="cpu", backend="native", slots=n * many), n)],
        "compiled": [
            _Contender("engine", spec, Options(device="cpu", backend="compiled", slots=many, workers=n), 1) for _ in range(n)
        ],
        "peak": [_Contender("peak", spec, Options(device="cpu"), n)],
    }
    for team in teams.values():
        for contender in team:
            contender.answer()
    times: dict[str, list[float]] = {name: [] for name in teams}
    for _ in range(rounds):
        for name, team in teams.items():
            for contender in team:
                contender.work(seconds)
            times[name].append(statistics.mean([c.answer() for c in team]) / len(team))
    for team in teams.values():
        for contender in team:
            contender.work(None)
            contender.process.join()
    flops = 2 * training_work(spec, Composition().length) / spec.train.steps
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratios = [c / a for c, a in zip(times["compiled"], times["native"], strict=True)]
    return {
        "form": form,
        "d_model": model.d_model,
        "depth": model.depth,
        "batch": batch,
        "cores": n,
        "native_ms": _digits(middle["native"] * 1e3),
        "compiled_ms": _digits(middle["compiled"] * 1e3),
        "ratio": _digits(statistics.median(ratios)),
        "ratio_range": [_digits(min(ratios)), _digits(max(ratios))],
        "native_of_peak": _digits(flops / middle["native"] / middle["peak"]),
        "compiled_of_peak": _digits(flops / middle["compiled"] / middle["peak"]),
        "peak_tflops": _digits(middle["peak"] / 1e12),
        "rounds": rounds,
    }


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each program in each round; default: 3")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    args = parser.parse_args()
    rows = []
    for form, model, batch in SHAPES:
        rows.append(compare(form, model, batch, args.seconds, args.rounds))
        print(json.dumps(rows[-1]), file=sys.stderr)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
