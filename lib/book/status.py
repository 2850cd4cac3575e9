"""What is stored, stale and missing for each experiment and profile, and what the missing part would cost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import mean

from lib.book.registry import EXPERIMENTS
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, StoreError
from lib.core.sweep.experiment import Experiment
from lib.core.train.plan import training_work

# Costs of a run nobody has timed: multiply-adds a second that two cores sustained at laptop size (benchmarks/speed.json).
_SUSTAINED = 2.5e11


@dataclass
class ProfileStatus:
    """Numbers of runs, and hours of this kind of machine for the missing ones; `basis` says how the hours were found."""

    experiment: str
    profile: str
    runs: int
    stored: int
    missing: int
    unusable: int
    hours_missing: float
    basis: str


@dataclass
class ExperimentStatus:
    """`stale`: results of a version that no experiment has any more, and those of this version, `older` in number, that lack a
    metric which its runs record by now. `other`: results of this version outside every profile, such as a reader's own points.
    Where experiments share a folder, each counts its own version."""

    experiment: str
    version: int
    profiles: list[ProfileStatus]
    stale: int
    older: int
    other: int
    unreadable: list[str]


def _hours(missing: list[RunSpec], known: Iterable[StoredRun], length: int | None) -> tuple[float, str]:
    """Estimate from stored runs of the same shape where there are any, else from operations on `length` tokens, or on all that
    the model could read: to make the data may take seconds."""
    times: dict[tuple, list[float]] = {}
    for run in known:
        times.setdefault(run.spec.shape, []).append(run.seconds)
    measured = [mean(times[s.shape]) for s in missing if s.shape in times]
    untimed = [s for s in missing if s.shape not in times]
    guessed = [training_work(s, length or s.model.positions) / _SUSTAINED for s in untimed]
    basis = "stored timings" if not guessed else "operations on two cores" if not measured else "stored timings and operations"
    return (sum(measured) + sum(guessed)) / 3600, basis if missing else "nothing missing"


def experiment_status(experiment: Experiment, store: Store) -> ExperimentStatus:
    good: dict[str, StoredRun] = {}
    unreadable = []
    sharing = [e for e in EXPERIMENTS.values() if e.folder == experiment.folder] or [experiment]
    versions = {e.version for e in sharing}
    newest = next(e for e in sharing if e.version == max(versions))
    claimed = {e.name: {spec.key for p in e.profiles for spec in e.specs(p)} for e in sharing}
    stale = 0
    for path in store.files(experiment.folder):
        try:
            run = store.read(path)
            if run.spec.version == experiment.version:
                good[run.key] = run
            else:
                stale += experiment is newest and run.spec.version not in versions
        except StoreError as error:
            owner = next((e for e in sharing if path.stem in claimed[e.name]), newest)
            if owner is experiment:
                unreadable.append(str(error))
    length = getattr(experiment.make_study, "length", None)
    profiles = []
    for profile in experiment.profiles:
        specs = experiment.specs(profile)
        if not specs:
            continue
        missing = [spec for spec in specs if spec.key not in good]
        broken = sum(store.path(spec).exists() for spec in missing)
        hours, basis = _hours(missing, good.values(), length)
        profiles.append(
            ProfileStatus(
                experiment.name,
                profile,
                len(specs),
                len(specs) - len(missing),
                len(missing) - broken,
                broken,
                round(hours, 3),
                basis,
            )
        )
    other = len(set(good) - set().union(*claimed.values())) if experiment is _first(sharing, experiment.version) else 0
    names = set(getattr(experiment.make_study, "records", ()))
    older = sum(not names <= run.metrics.keys() for run in good.values() if run.key in claimed[experiment.name])
    return ExperimentStatus(experiment.name, experiment.version, profiles, stale + older, older, other, unreadable)


def _first(experiments: list[Experiment], version: int) -> Experiment:
    """Of experiments that share a folder and a version, the one that speaks for what no profile has."""
    return next(e for e in experiments if e.version == version)


def status(store: Store) -> list[ExperimentStatus]:
    return [experiment_status(e, store) for e in EXPERIMENTS.values()]


def place(store: Store) -> str:
    """Where the store is: a misspelt one must not pass for an empty one."""
    return f"store: {store.root.absolute()}" + ("" if store.root.is_dir() else " (there is no such folder yet)")


def verify(store: Store, as_record: bool = False) -> None:
    """Print what Store.verify finds, in words or as JSON. Raises StoreError, with how to get them back, if files are lost."""
    files, wrong = store.verify()
    if as_record:
        print(json.dumps({"store": str(store.root.absolute()), "files": files, "wrong": wrong}, indent=1))
    else:
        print("\n".join([place(store), *(f"  ! {line}" for line in wrong), f"{files} files were read, {len(wrong)} problems."]))
    if wrong:
        raise StoreError(
            f"{len(wrong)} results are missing a file or are not what was written: `git checkout -- results` brings back "
            "what came with the project; for others delete the files that are named above, .json and .safetensors, and "
            "run `python -m lib sweep` of their experiment, which trains only what is missing."
        )


def as_json(items: list[ExperimentStatus]) -> list[dict]:
    return [asdict(item) for item in items]


def as_text(items: list[ExperimentStatus]) -> str:
    lines = []
    for item in items:
        older = f" ({item.older} lacking a metric that runs record by now)" * bool(item.older)
        counts = f"{item.stale} stale{older}, {item.other} outside every profile"
        lines.append(f"{item.experiment} (version {item.version}): {counts}")
        for p in item.profiles:
            cost = f"; the missing part would take about {p.hours_missing:.2g} h ({p.basis})" if p.missing + p.unusable else ""
            broken = f", {p.unusable} unusable" if p.unusable else ""
            lines.append(f"  {p.profile:10} {p.stored} of {p.runs} runs stored, {p.missing} missing{broken}{cost}")
        lines += [f"  ! {message}" for message in item.unreadable]
    return "\n".join(lines)
