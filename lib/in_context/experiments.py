"""What the study of in-context learning trains, for each profile.

The paper's settings section was not available to us. M₁ = 6, M₂ = 24, α = .8, l = 20 and δ are as the talk has them, as far as
they can be read. So is the start of W_O: the talk's neurons begin with halves of W_O W_V of .02 to .03, which at δ = .2 is a
standard deviation of .02. The number of neurons can be counted in the talk's Fig. 14: its points stand at multiples of 1 / 64.
The size of a is chosen by the norms that the talk prints for the end, among stored trials on seeds that no figure shows
(SEARCH, lib.in_context.starts). The norm β = 2 of patterns, batch, rate and
steps are ours. `laptop` and `paper` are one here, as everything fits two cores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lib.core.model.init import gamma_of
from lib.core.record.spec import RunSpec, TrainSpec, check_number
from lib.core.sweep.experiment import Experiment, always, check_profile, in_one_list, once_more
from lib.in_context.models import OneLayerSpec, VectorGPT2Spec
from lib.in_context.study import CONDITIONS, make_study
from lib.in_context.task import Task

VERSION = 1
DELTA, HALF = 0.2, 0.5
"""δ of W_Q, W_K and W_V, and the γ at which W_O's standard deviation m^−γ is 1 / √m: both recalled from the paper."""
STD = 0.02
"""The standard deviation of W_O at the start, as the talk's neurons have it (its Figs 10, 11 and 14)."""
STREAMS = (90, 91)
"""Seeds of trials."""
PACE = 0.06
"""Rate times size of a: a step moves a row of W_O by this multiple of a mean over prompts, whatever the size of a."""
WIDE: dict[str, Any] = {"neurons": 400, "a": None, "gamma": HALF, "rate": 0.3}
"""The start with W_O and a of order 1 / √m, as the paper's text is recalled: the comparison of chapter 17."""
TRIED = tuple((m, total) for m in (60, 64, 100, 200) for total in (1.0, 2.0, 3.0))
"""Trials of the start: neurons m, and m times the size of a."""
LENGTH, ALPHA = 20, 0.8
ALPHAS = (0.2, 0.4, 0.6, 0.8, 1.0)
COUNTS, FEW_OTHERS = (4, 6, 8, 12, 16, 24), 6
"""M₁, and M₂ beside it: 24 and 6 patterns fill the 30 dimensions."""
LENGTHS = (5, 10, 20, 40)
COVERS: dict[str, dict[str, Any]] = {
    "18 of 30, each pattern alike": {"shifts": (1, 2, 3)},
    "6 of 30, a cycle": {"shifts": (1,)},
    "6 of 30, three patterns only": {"shifts": (1, 2), "among": 3},
}
"""Sets of training tasks: the main runs', the smallest that covers all patterns alike, and one that does not cover them."""
DEEP_START: dict[str, Any] = {"depth": 3, "delta": 0.4, "rate": 0.5, "back": 0.3}
"""Three layers as the talk's figures begin: attention of the first layer at .53, rows of W_O W_V of norm .013. Rate, batch and
W_P's start are our choice, by trials on other seeds."""
DEEP_BACKS = (0.1, 0.3)
"""Trials of W_P's start."""
DEEP_STD = 0.005
"""Standard deviation of W_O's start in three layers."""
DEEP: dict[str, dict[str, Any]] = {
    "every layer read, no stream": {"skip": False, "every": True},
    "last layer read, no stream": {"skip": False},
    "every layer read, stream": {"every": True},
    "last layer read, stream": {},
}
"""Three layers by two choices that the talk's figures do not show: whether a block's output is added to its input (a residual
stream) or replaces it, and whether the neurons of every layer or of the last alone are read."""
GPT, TURNED = "18 of 30 tasks, each with its reverse", "18 tasks, reverses left out"
DRAWN = tuple(f"18 of 30 tasks at random, choice {i}" for i in (1, 2, 3))
APART = "18 tasks, each with its reverse, none within a mixture"
CROSSED = "12 tasks, each with its reverse, all odd-even, none within a mixture"
ALIKE = "12 tasks, each with its reverse, none odd-even"
EVEN = "18 tasks, each with its reverse, all six within a mixture, no other odd-even"
GPTS: dict[str, dict[str, Any]] = {
    GPT: {"shifts": (1, 3, 5)},
    "the query's answer alone": {"shifts": (1, 3, 5), "query_only": True},
    "three patterns a mixture": {"m1": 12, "m2": 18, "mix": 3, "shifts": (1, 3, 5, 7, 9, 11), "longer": 3},
    TURNED: {},
    **{name: {"drawn": i} for i, name in enumerate(DRAWN, start=1)},
    APART: {"shifts": (2, 3, 4)},
    EVEN: {"shifts": (2, 4), "within": True},
    CROSSED: {"shifts": (1, 3, 5), "within": False},
    ALIKE: {"shifts": (2, 4)},
}
"""GPT-2's training: tasks closed under reversal; the same without the answers of the context; twelve patterns, so that new ones
can mix three, which takes `longer` to learn; shifts 1, 2, 3, by which every task that is not trained is a trained one reversed;
three random choices of as many tasks in which every pattern is first at least once, and second; tasks closed under reversal
of which none is between the two patterns that a new one mixes; and such of which six are, and no others between an odd and an
even pattern, of which the set before has as many; and twelve tasks closed under reversal, none within a mixture, all between an
odd and an even pattern or none."""
STORY_DELTAS, STORY_GAMMAS = (0.1, 0.2, 0.5, 1.0), (0.15, 0.35, 0.6, 0.94)
"""δ, and γ of W_O; the last is the main runs'."""
WIDE_GAMMAS = (0.1, 0.3, 0.5, 0.7)
"""γ of W_O where a is of order 1 / √m."""
TABLE_STARTS: dict[str, tuple[bool, float, float]] = {"small": (False, DELTA, STORY_GAMMAS[-1]), "large": (True, 0.5, 0.1)}
"""Two of these starts, from which runs are trained where only a table is left: is a of order 1 / √m, δ, γ. The small one is the
main runs'. The large one has the largest neurons, at a δ that hides the other pattern of a task less than the largest does."""


@dataclass(frozen=True)
class Setting:
    """What the runs of a profile share. `batch`, `steps` and `keep` (steps of snapshots) are of the one-layer model; `short`
    the steps of the experiments that ask how fast it learns; `deep`, `gpt` and `story` are (steps, batch); `prompts` is on
    how many prompts each GPT-2 is tested in each condition."""

    seeds: tuple[int, ...]
    neurons: int
    batch: int
    steps: int
    keep: tuple[int, ...]
    every: int
    short: int
    deep: tuple[int, int]
    gpt: tuple[int, int]
    prompts: int
    story: tuple[int, int]
    total: float = 2.0

    @property
    def a(self) -> float:
        """The size of every entry of a."""
        return self.total / self.neurons


_FULL = Setting(
    seeds=(0, 1, 2, 3, 4, 5, 6, 7),
    neurons=64,
    batch=200,
    steps=1000,
    keep=(10, 30, 50, 60, 70, 80, 100, 150, 250, 400, 1000),
    every=10,
    short=600,
    deep=(1500, 50),
    gpt=(800, 64),
    prompts=5000,
    story=(1000, 100),
)
SETTINGS = {
    "smoke": Setting((0,), 20, 16, 20, (10, 20), 10, 20, (20, 16), (10, 8), 40, (20, 16)),
    "laptop": _FULL,
    "paper": _FULL,
}


def constant(steps: int, batch: int, every: int, optimizer: str = "sgd") -> TrainSpec:
    """A constant rate, and a clip that nothing reaches."""
    rest = {"warmup": 0, "start": 1.0, "final": 1.0, "clip": 1e9, "fit_metric": "seen", "optimizer": optimizer}
    return TrainSpec(batch=batch, steps=steps, eval_every=every, **rest)


def one_layer(
    name: str, s: Setting, seed: int, task: Mapping[str, Any] | None = None, steps: int | None = None, **change: Any
) -> RunSpec:
    """A run of the one-layer model with the main runs' start, unless `change` says otherwise of rate, gamma, delta, optimizer,
    depth, skip, every, back, neurons, a or batch; evaluated every `watched` steps."""
    task = {"length": LENGTH} | dict(task or {})
    own = {"neurons": s.neurons, "a": s.a, "gamma": gamma_of(STD, s.neurons), "rate": round(PACE / s.a, 6)}
    given = own | {"delta": DELTA, "optimizer": "sgd", "batch": s.batch, "watched": s.every} | change
    shape = {key: given[key] for key in ("depth", "skip", "a", "every", "back") if key in given}
    model = OneLayerSpec(given["neurons"], given["delta"], task["length"] + 1, **shape)
    train = constant(s.steps if steps is None else steps, given["batch"], given["watched"], given["optimizer"])
    return RunSpec(name, VERSION, given["gamma"], seed, given["rate"], 0.0, model, train, tuple(task.items()))


def train_specs(profile: str) -> list[RunSpec]:
    s = SETTINGS[check_profile(profile)]
    return [one_layer("icl-train", s, seed, {"keep": s.keep}) for seed in s.seeds]


def wide_specs(profile: str) -> list[RunSpec]:
    """The main runs from the start of order 1 / √m (WIDE)."""
    s = SETTINGS[check_profile(profile)]
    wide = WIDE if profile != "smoke" else WIDE | {"neurons": s.neurons}
    return [one_layer("icl-train", s, seed, {"keep": s.keep}, **wide) for seed in s.seeds]


def point_specs(profile: str, alpha: float) -> list[RunSpec]:
    """The main runs with another share α of matching examples in training. Raises SpecError for one outside 0 … 1."""
    s = SETTINGS[check_profile(profile)]
    if alpha == ALPHA:
        return train_specs(profile)
    alpha = float(check_number("alpha", alpha))
    Task(alpha=alpha)
    return [one_layer("icl-train", s, seed, {"keep": s.keep, "alpha": alpha}) for seed in s.seeds]


def speed_specs(profile: str) -> dict[str, dict[float, list[RunSpec]]]:
    """{what is varied: {value: runs}}: α, M₁ (evaluated at every step) and l at α = .8 (Theorem 1)."""
    s = SETTINGS[check_profile(profile)]
    runs = lambda **task: [one_layer("icl-speed", s, seed, task, s.short) for seed in s.seeds[:6]]
    every = lambda **task: [one_layer("icl-speed", s, seed, task, s.short // 2, watched=1) for seed in s.seeds[:6]]
    return {
        "α": {alpha: runs(alpha=alpha) for alpha in ALPHAS},
        "M₁": {count: every(m1=count, m2=FEW_OTHERS) for count in COUNTS},
        "α l": {ALPHA * length: runs(length=length) for length in LENGTHS},
    }


def cover_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{set of training tasks: runs} (Theorem 1, condition 1)."""
    s = SETTINGS[check_profile(profile)]
    return {name: [one_layer("icl-cover", s, seed, task, s.short) for seed in s.seeds[:6]] for name, task in COVERS.items()}


def deep_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{variant: runs} of three layers (Figs 21 to 26), all from one start."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.deep
    keep = tuple(step for step in (50, 100, 400, steps) if step <= steps)
    how = DEEP_START | {"gamma": gamma_of(DEEP_STD, s.neurons), "batch": batch, "watched": min(50, steps)}
    return {
        name: [one_layer("icl-deep", s, seed, {"keep": keep}, steps, **how | change) for seed in s.seeds]
        for name, change in DEEP.items()
    }


def deep_trial_specs(profile: str) -> dict[float, RunSpec]:
    """{W_P's start: run} of three layers, every one read, no stream: what the runs above were chosen by."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.deep
    how = DEEP_START | {"gamma": gamma_of(DEEP_STD, s.neurons), "batch": batch, "watched": min(50, steps)}
    change = {"skip": False, "every": True}
    tried = DEEP_BACKS if profile != "smoke" else DEEP_BACKS[:1]
    return {b: one_layer("icl-search", s, STREAMS[0], {}, steps, **how | change | {"back": b}) for b in tried}


def gpt_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{variant: runs} of the small GPT-2, by AdamW with warm-up and cosine; γ = ½ is near its usual start (our choice)."""
    s = SETTINGS[check_profile(profile)]
    small = {"d_model": 16, "depth": 1} if profile == "smoke" else {}
    found = {}
    for name, change in GPTS.items():
        task = dict(change)
        steps, batch = s.gpt
        longer = task.pop("longer", 1)
        steps *= longer if profile != "smoke" else 1
        model = VectorGPT2Spec(**small, positions=LENGTH + 1, query_only=task.pop("query_only", False))
        train = TrainSpec(batch, steps, min(100, steps // 2), eval_every=max(5, steps // 16), fit_metric="seen")
        task |= {"length": LENGTH, "keep": (steps,), "prompts": s.prompts}
        seeds = s.seeds if name == GPT else s.seeds[:4]
        rest = 1e-3, 0.01, model, train, tuple(task.items())
        found[name] = [RunSpec("icl-gpt2", VERSION, HALF, seed, *rest) for seed in seeds]
    return found


def floor_specs(profile: str) -> list[RunSpec]:
    """The first variant on as many other seeds, tested on its own tasks alone and on four times the prompts: is it better than
    a guess where no example shows the query's pattern?"""
    first, found = gpt_specs(profile)[GPT], []
    for spec in first:
        task = dict(spec.task)
        task |= {"prompts": 4 * task["prompts"], "only": CONDITIONS[0][0]}
        found.append(replace(spec, seed=spec.seed + len(first), task=tuple(task.items())))
    return found


def story_specs(profile: str, wide: bool = False) -> dict[tuple[float, float], list[RunSpec]]:
    """{(δ, γ): runs} trained on the six tasks of a cycle alone. `wide`: with an a of 1 / √m in place of the main runs'. The
    rate shrinks with the start of W_O, m^−γ: a step moves F through W_V by the square of it."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.story
    own: dict[str, Any] = WIDE | {"neurons": WIDE["neurons"] // 2 if profile != "smoke" else s.neurons} if wide else {}
    neurons = own.get("neurons", s.neurons)
    found = {}
    for delta in STORY_DELTAS if profile != "smoke" else STORY_DELTAS[1:3]:
        gammas = WIDE_GAMMAS if wide else STORY_GAMMAS
        for gamma in gammas if profile != "smoke" else gammas[1:3]:
            # the rate where W_O starts at 1 / √m or smaller, less by the square of its scale where it starts larger
            scale = max(1.0, neurons ** (HALF - gamma))
            rate = own["rate"] / scale**2 if wide else round(PACE / s.a / scale**2, 6)
            how = own | {"delta": delta, "gamma": gamma, "batch": batch, "rate": rate}
            found[delta, gamma] = [one_layer("icl-story", s, seed, {"shifts": (1,)}, steps, **how) for seed in s.seeds[:5]]
    return found


def all_stories(profile: str) -> dict[bool, dict[tuple[float, float], list[RunSpec]]]:
    """{is a of order 1 / √m: runs}"""
    return {wide: story_specs(profile, wide) for wide in (False, True)}


def table_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{start: runs} like those of `story_specs`, but that all labels in the prompt are coins: only a table can be learned."""
    stories, found = all_stories(profile), {}
    for name, (wide, delta, gamma) in TABLE_STARTS.items():
        runs = stories[wide].get((delta, gamma)) or next(reversed(stories[wide].values()))
        found[name] = [replace(spec, experiment="icl-table", task=(*spec.task, ("hidden", True))) for spec in runs]
    return found


def start_specs(profile: str) -> dict[tuple[int, float], list[RunSpec]]:
    """{(neurons m, m times the size of a): runs}: the trials of the start, as long as the main runs."""
    s = SETTINGS[check_profile(profile)]
    tried = TRIED if profile != "smoke" else ((20, 1.0), (20, 2.0))
    how = {"keep": (s.keep[0], s.keep[-1])}
    return {
        (m, total): [one_layer("icl-search", replace(s, neurons=m, total=total), seed, how) for seed in STREAMS]
        for m, total in tried
    }


def search_specs(profile: str) -> list[RunSpec]:
    """All trials: of the start, of three layers, and earlier ones of β and the rate from the start of order 1 / √m."""
    s = SETTINGS[check_profile(profile)]
    starts = [spec for runs in start_specs(profile).values() for spec in runs] + [*deep_trial_specs(profile).values()]
    tried = [(norm, rate) for norm in (1.0, 2.0, 3.0) for rate in (0.3, 1.0)] if profile != "smoke" else []
    return starts + [
        one_layer("icl-search", s, seed, {"norm": norm}, min(s.steps, 400), **WIDE | {"rate": rate})
        for norm, rate in tried
        for seed in STREAMS
    ]


TRAIN = Experiment(
    "icl-train",
    "In-context learning, one layer",
    VERSION,
    make_study,
    lambda profile: [*train_specs(profile), *wide_specs(profile)],
    always,
    models=(OneLayerSpec,),
)
SPEED = Experiment(
    "icl-speed", "Steps to learn in context", VERSION, make_study, in_one_list(speed_specs), models=(OneLayerSpec,)
)
COVER = Experiment(
    "icl-cover", "Which tasks are trained", VERSION, make_study, in_one_list(cover_specs), models=(OneLayerSpec,)
)
DEEPER = Experiment(
    "icl-deep", "In-context learning, three layers", VERSION, make_study, in_one_list(deep_specs), models=(OneLayerSpec,)
)
GPT2 = Experiment(
    "icl-gpt2",
    "In-context learning, a small GPT-2",
    VERSION,
    make_study,
    in_one_list(gpt_specs, floor_specs),
    models=(VectorGPT2Spec,),
)
STORY = Experiment(
    "icl-story", "In-context learning from other starts", VERSION, make_study, in_one_list(all_stories), models=(OneLayerSpec,)
)
TABLE = Experiment(
    "icl-table", "Tasks without labels in the prompt", VERSION, make_study, in_one_list(table_specs), models=(OneLayerSpec,)
)
SEARCH = Experiment("icl-search", "Trials of settings", VERSION, make_study, search_specs, models=(OneLayerSpec,))
AGAIN = once_more(
    "icl-roundings",
    "A small GPT-2 in context, under other roundings",
    make_study,
    lambda profile: gpt_specs(profile)[GPT],
    (VectorGPT2Spec,),
)
EXPERIMENTS = (TRAIN, SPEED, COVER, DEEPER, GPT2, STORY, TABLE, SEARCH, AGAIN)
