"""What the runs of each study record: a name that comes or goes makes stored results another kind of thing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lib.book.chapters import RECORD, chapters, read_notebook
from lib.book.paths import ROOT
from lib.book.registry import EXPERIMENTS
from lib.book.status import as_text, experiment_status
from lib.core.record.result import RunResult
from lib.core.record.store import Store
from lib.core.sweep.experiment import Experiment
from lib.core.train.loop import train
from lib.core.train.plan import Options

STUDIES = {e.make_study: e for e in EXPERIMENTS.values() if e.specs("smoke")}
"""One experiment for each kind of study."""


@pytest.mark.parametrize("experiment", STUDIES.values(), ids=lambda e: e.name)
def test_a_run_records_what_its_study_says(experiment: Experiment) -> None:
    """Where this fails, raise the version of the experiments, or say the new name and accept that stored runs lack it."""
    spec = experiment.specs("smoke")[0]
    steps = max(spec.train.eval_every, *dict(spec.task).get("keep", ()), 1)
    spec = replace(spec, train=replace(spec.train, steps=steps, warmup=0))
    study = experiment.make_study(spec)
    assert study.length <= (experiment.make_study.length or spec.model.positions)  # by which `status` estimates
    (result,) = train([spec], study, Options(device="cpu", backend="eager", bf16=False))
    always, sometimes = set(experiment.make_study.records), set(experiment.make_study.sometimes)
    assert always <= set(result.metrics) <= always | sometimes


def test_results_that_lack_a_metric_are_stale(tmp_path: Path) -> None:
    experiment, store = EXPERIMENTS["cot-steps"], Store(tmp_path)
    specs = experiment.specs("smoke")[:3]
    for spec, names in zip(specs, (experiment.make_study.records, ("right",), ("right", "both")), strict=True):
        store.put(RunResult(spec, dict.fromkeys(names, 0.5), {}, 1, "fitted", None, 1.0), {})
    found = experiment_status(experiment, store)
    assert (found.stale, found.older) == (2, 2)
    assert "cot-steps (version 1): 2 stale (2 lacking a metric that runs record by now), 0 outside" in as_text([found])


UNREAD = {
    "composition-separation": "trials by which settings were chosen; chapter 2 pools only those of the paper's own task",
    "cot-train": "its profile paper, with more seeds than the chapters show",
    "cot-steps": "its profile paper, with more seeds than the chapters show",
}
"""Experiments of which the book reads not every stored result, and why they are kept."""


def test_every_stored_result_is_read_by_a_chapter() -> None:
    read: dict[str, set[str]] = {}
    for chapter in chapters():
        for name, entry in read_notebook(chapter.path).metadata[RECORD]["results"].items():
            read.setdefault(name, set()).update(entry["keys"].split())
    stored = {folder: {path.stem for path in folder.glob("*.json")} for folder in (ROOT / "results").iterdir()}
    unread = {
        folder.name for folder, keys in stored.items() if folder.name != "derived" and not keys <= read.get(folder.name, set())
    }
    assert unread == UNREAD.keys()


def test_the_status_waits_for_no_analysis() -> None:
    """What its modules import, in a fresh interpreter, is not what claims are computed and figures drawn with."""
    code = "import sys, lib.book.status; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"scipy", "sklearn", "matplotlib"} & set(done.stdout.split())
