"""An experiment: a name, a version, and what each profile trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from lib.core.model.transformer import AnyModel
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, SpecError, register_models
from lib.core.record.store import Store, StoredRun, load
from lib.core.sweep.jobs import KeepWeights, StudyFactory, never, sweep
from lib.core.train.plan import Options

PROFILES = ("smoke", "laptop", "paper")


def always(result: RunResult) -> bool:
    """Keep the weights of every run."""
    return True


def in_one_list(*specs: Callable[[str], Any]) -> Callable[[str], list[RunSpec]]:
    """The runs of a profile in one list, each once, from functions that return them in groups: mappings of lists, or deeper."""

    def flat(part: Any) -> list[RunSpec]:
        return [spec for group in part.values() for spec in flat(group)] if isinstance(part, Mapping) else list(part)

    return lambda profile: list(dict.fromkeys(spec for groups in specs for spec in flat(groups(profile))))


def check_profile(profile: str) -> str:
    """The profile itself. Raises SpecError for one that does not exist."""
    if profile not in PROFILES:
        raise SpecError(f"unknown profile {profile!r}: use one of {', '.join(PROFILES)}.")
    return profile


@dataclass(frozen=True)
class Experiment:
    """`version` is part of every key; raise it when the meaning of the experiment's results changes.

    `own_profiles`: those that it has beside PROFILES, for runs that no chapter trains.

    `stored_as`: the experiment that the specs, and so results, name where it is not this one: one that shares its runs, or had
    another name when they were stored.

    `models`: the kinds of models that its specs use beside the transformer; where the experiment is, they are known.
    """

    name: str
    title: str
    version: int
    make_study: StudyFactory
    profile_specs: Callable[[str], list[RunSpec]]
    keep: KeepWeights = never
    stored_as: str = ""
    own_profiles: tuple[str, ...] = ()
    models: tuple[type[AnyModel], ...] = ()

    def __post_init__(self) -> None:
        register_models(*self.models)

    @property
    def profiles(self) -> tuple[str, ...]:
        return PROFILES + self.own_profiles

    @property
    def folder(self) -> str:
        """The folder of its results in a store."""
        return self.stored_as or self.name

    def specs(self, profile: str) -> list[RunSpec]:
        """The runs of a profile, in the order in which they should be trained. Raises SpecError for one that does not exist."""
        if profile not in self.profiles:
            raise SpecError(f"unknown profile {profile!r}: use one of {', '.join(self.profiles)}.")
        return list(self._specs(profile))

    @cache  # noqa: B019 (experiments live as long as the process); the same specs each time: each then knows its key
    def _specs(self, profile: str) -> tuple[RunSpec, ...]:
        return tuple(self.profile_specs(profile))

    def obtain(
        self, specs: Sequence[RunSpec], store: Store, options: Options = Options(), progress: bool = True
    ) -> list[StoredRun]:
        """Stored results of specs, training first what the store lacks."""
        sweep(specs, store, self.make_study, options, self.keep, progress=progress)
        return load(specs, store)


ROUNDINGS = "roundings"
"""The profile of runs that are trained once more under other roundings; chapters show what is stored of them."""


def again(experiment: Experiment, profile: str) -> list[RunSpec]:
    """The runs of `once_more` for a profile whose runs they repeat; none for others."""
    return experiment.specs(ROUNDINGS) if profile == "laptop" else []


def once_more(
    name: str,
    title: str,
    make_study: StudyFactory,
    specs: Callable[[str], Sequence[RunSpec]],
    models: tuple[type[AnyModel], ...] = (),
    nudges: Sequence[int] = (0, 1),
) -> Experiment:
    """Runs of the laptop's profile (or of the smoke profile) once more, all in single precision, and again from initial weights
    that are off by their last bit: what bfloat16 changes can be held against what such a bit does. `nudges`: (1,) where the
    first of these are stored by another experiment."""

    def profile_specs(profile: str) -> list[RunSpec]:
        runs = specs("smoke" if profile == "smoke" else "laptop") if profile in ("smoke", ROUNDINGS) else ()
        single = [replace(spec, experiment=name, train=replace(spec.train, precision="float32")) for spec in runs]
        return [replace(spec, nudge=nudge) for spec in single for nudge in nudges]

    return Experiment(name, title, 1, make_study, profile_specs, own_profiles=(ROUNDINGS,), models=models)
