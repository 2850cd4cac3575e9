"""How the paper-size phase diagram would spread over 1 to 1,000 GPUs: a simulation on stated assumptions, not a measurement.

    python benchmarks/cluster.py > benchmarks/cluster.json

Jobs are those that a sweep makes (plan_jobs); a GPU takes the next job when it is free. A step of R runs takes the larger of
the time its arithmetic needs and of the time its kernels need to be started.
"""

from __future__ import annotations

import heapq
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib.composition.experiments import FAST
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store
from lib.core.sweep.jobs import plan_jobs
from lib.core.train.plan import training_work

LENGTH = 9
ASSUMED = {
    "sustained_flops": 3e14,  # a second, kept up by one GPU in bfloat16: a third or so of a large one's peak
    "launch_seconds": 5e-6,  # to start one kernel
    "kernels_per_layer": 60,  # of forward, backward and update
    "slots": 64,  # runs that share a GPU as one program
    "start_seconds": 90.0,  # to start a process and compile
}


def seconds_of(job: Sequence[RunSpec]) -> float:
    """Time of one job on one GPU."""
    spec = job[0]
    arithmetic = 2 * training_work(spec, LENGTH) / spec.train.steps / ASSUMED["sustained_flops"]
    launches = ASSUMED["kernels_per_layer"] * spec.model.depth * ASSUMED["launch_seconds"]
    total, left = ASSUMED["start_seconds"], len(job)
    while left > 0:
        runs = min(left, ASSUMED["slots"])
        total += spec.train.steps * max(arithmetic * runs, launches)
        left -= runs
    return total


def makespan(times: Sequence[float], workers: int) -> float:
    """When the last job ends if every worker takes the next job as soon as it is free."""
    free = [0.0] * workers
    for seconds in times:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def seconds_to_store() -> float:
    """Measured here: what writing one result takes, the lock and the flush to disk included."""
    spec = FAST.specs("smoke")[0]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        began = time.perf_counter()
        for seed in range(20):
            run = RunSpec(**{**vars(spec), "seed": seed})
            store.put(RunResult(run, {"test": 0.0}, {"loss": [0.0] * 210}, 1, "unfitted", None, 0.0), {})
        return (time.perf_counter() - began) / 20


def main() -> None:
    specs = FAST.specs("paper")
    flops = sum(2 * training_work(spec, LENGTH) for spec in specs)
    rows, alone = [], None
    with tempfile.TemporaryDirectory() as folder:
        for gpus in (1, 10, 100, 1000):
            jobs = plan_jobs(specs, Store(folder), gpus)
            times = [seconds_of(job.specs) for job in jobs]
            took = makespan(times, gpus)
            alone = alone or took
            rows.append(
                {
                    "gpus": gpus,
                    "jobs": len(jobs),
                    "hours": round(took / 3600, 2),
                    "speed_up": round(alone / took, 1),
                    "efficiency": round(alone / took / gpus, 3),
                    "busy": round(sum(times) / took / gpus, 3),
                    "longest_run_hours": round(max(seconds_of([spec]) for spec in specs) / 3600, 2),
                }
            )
    record = {"runs": len(specs), "total_flops": float(f"{flops:.4g}"), "assumed": ASSUMED, "rows": rows}
    print(json.dumps(record | {"seconds_to_store": round(seconds_to_store(), 5)}, indent=1))


if __name__ == "__main__":
    main()
