"""How long a part of the laptop phase diagram takes to train from nothing, with nothing compiled beforehand.

    python benchmarks/retrain.py --depth 3 --seed 0            # with the code in the current folder
    cd OLDER_CHECKOUT && python .../benchmarks/retrain.py …    # with another version of it

Prints one JSON line. Trains into a temporary folder; touches no stored result.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.getcwd())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--seed", type=int, nargs="*", default=[0])
    parser.add_argument("--gamma", type=float, nargs="*", help="default: all of the grid")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["REASON_OR_MEMORIZE_CACHE"] = f"{folder}/compiled"
        from lib.composition.experiments import FAST
        from lib.core.record.store import Store

        specs = [s for s in FAST.specs("laptop") if s.model.depth == args.depth and s.seed in args.seed]
        specs = [s for s in specs if not args.gamma or s.gamma in args.gamma]
        began = time.perf_counter()
        runs = FAST.obtain(specs, Store(f"{folder}/store"), progress=False)
        seconds = time.perf_counter() - began
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    steps = sum(run.steps for run in runs)
    record = {"commit": commit, "depth": args.depth, "seeds": args.seed, "runs": len(runs), "run_steps": steps}
    accuracy = {name: round(sum(run.metrics[name] for run in runs) / len(runs), 3) for name in runs[0].metrics}
    print(json.dumps(record | {"seconds": round(seconds, 1), "ms_per_run_step": round(seconds / steps * 1e3, 3)} | accuracy))


if __name__ == "__main__":
    main()
