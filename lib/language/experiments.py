"""What the study of language and other real tasks trains, for each profile.

`paper` has the sizes of Zhang et al. 2024 as far as they are known (numbers below 1,000, GPT-2); `laptop` has ours, chosen by
trials on seeds that are not reported; `smoke` is for tests and claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.sweep.experiment import Experiment, again, always, check_profile, in_one_list, once_more
from lib.core.sweep.jobs import StudyFactory
from lib.language import cogs, own
from lib.language.addition_task import MARKS
from lib.language.models import FIXED_HEAD, SCRIPT, CausalSpec
from lib.language.study import make_adding, make_asking, make_cogs, make_mix, make_own, make_scan, mix_data, own_words
from lib.language.text import LanguageError

VERSION = 1
LARGE, SMALL = (0.5, 0.01), (0.7, 0.1)
"""γ and weight decay of the two arms of Fig. 7, the only ones whose values the paper gives. Its arms differ in both."""
CROSSED = ((0.5, 0.1), (0.7, 0.01))
"""With the arms above, every γ has every decay."""
LARGER = (0.3, 0.0)
"""A larger start, without decay (our choice)."""
SQUARE, RANDOM = "square", "random"


@dataclass(frozen=True)
class AddingSetting:
    """What the addition runs of a profile share. `form`: study 1's (post-norm, ReLU, no biases) or GPT-2's."""

    numbers: int
    low: int
    high: int
    seeds: tuple[int, ...]
    form: str
    d_model: int
    depth: int
    heads: int
    rate: float
    train: TrainSpec


def _train(batch: int, steps: int, eval_every: int) -> TrainSpec:
    return TrainSpec(batch=batch, steps=steps, warmup=steps // 20, eval_every=eval_every, fit_metric="train")


ADDING = {
    "smoke": AddingSetting(16, 6, 9, (0,), "study 1", 16, 2, 1, 3e-3, _train(32, 20, 10)),
    "laptop": AddingSetting(200, 80, 120, (0, 1, 2), "study 1", 128, 2, 1, 1e-3, _train(512, 30_000, 1_000)),
    "paper": AddingSetting(1000, 400, 600, (0, 1, 2), "GPT-2", 768, 12, 12, 1e-4, _train(512, 200_000, 5_000)),
}
FORMS = {
    "study 1": {"norm": "post", "activation": "relu", "bias": False},
    "GPT-2": {"norm": "pre", "activation": "gelu", "bias": True},
}


def adding_spec(profile: str, gamma: float, decay: float, seed: int, split: str = SQUARE, **other: Any) -> RunSpec:
    """One run, `other` than the profile's setting where that is given. Study 1's form has its widths: d_ff = 3 d_model, d_k =
    d_model / 2."""
    s = replace(ADDING[check_profile(profile)], **other)
    d_k, d_ff = (s.d_model // 2, 3 * s.d_model) if s.form == "study 1" else (s.d_model // s.heads, 4 * s.d_model)
    shape = {"depth": s.depth, "d_model": s.d_model, "d_ff": d_ff, "d_k": d_k, "d_v": d_k, "heads": s.heads}
    model = ModelSpec(vocab=len(MARKS) + 2 * s.numbers - 1, positions=3, **shape, **FORMS[s.form])
    task = {"numbers": s.numbers, "low": s.low, "high": s.high, "split": split, "keep": (s.train.steps,)}
    return RunSpec("language-addition", VERSION, gamma, seed, s.rate, decay, model, s.train, tuple(task.items()))


def adding_specs(profile: str) -> dict[tuple[str, float, float], list[RunSpec]]:
    """{(split, γ, weight decay): runs}, from the largest start on: every arm on the square, and the largest start on a random
    split as well."""
    s = ADDING[check_profile(profile)]
    arms = [(SQUARE, *arm) for arm in sorted((LARGER, LARGE, SMALL, *CROSSED))] + [(RANDOM, *LARGER)]
    return {
        (split, gamma, decay): [adding_spec(profile, gamma, decay, seed, split) for seed in s.seeds]
        for split, gamma, decay in arms
    }


LOW_RATE = 3e-4
"""The learning rate that the chapter showed first, before the trials were stored. Both arms add there (our choice)."""


def low_rate_specs(profile: str) -> dict[tuple[str, float, float], list[RunSpec]]:
    """The same runs at the low learning rate; only the laptop has them."""
    if check_profile(profile) != "laptop":
        return {}
    return {key: [replace(spec, rate=LOW_RATE) for spec in specs] for key, specs in adding_specs(profile).items()}


SEARCH_SEED = 100
SEARCHED = tuple((form, rate) for form in FORMS for rate in (3e-4, 1e-3))
"""Forms of the model and learning rates that were tried with the paper's two arms."""


def adding_search(profile: str) -> list[RunSpec]:
    """The trials, on a seed that is not reported: what decided the form and the learning rate."""
    rates = SEARCHED if profile != "smoke" else SEARCHED[:1]
    return [
        replace(adding_spec(profile, *arm, SEARCH_SEED, form=form, rate=rate), experiment="language-addition-search")
        for form, rate in rates
        for arm in (LARGE, SMALL)
    ]


GPT2_SEEDS = (0, 1, 2, 3)


def _in_single(
    name: str, profile: str, arm: tuple[float, float], seeds: tuple[int, ...], times: float = 1, **other: Any
) -> list[RunSpec]:
    """Runs of the experiment `name` on these seeds, of which only the laptop has more than one, in single precision, for so
    many times the steps of the profile, and `other` than its setting where that is given."""
    train = replace(_longer(ADDING[profile].train, times), precision="float32")
    seeds = seeds if profile == "laptop" else seeds[:1]
    return [replace(adding_spec(profile, *arm, seed, train=train, **other), experiment=name) for seed in seeds]


def gpt2_adding_specs(profile: str) -> dict[tuple[float, float], list[RunSpec]]:
    """{(γ, weight decay): runs} of the paper's two arms and of those between in GPT-2's form, at the rate at which one trial
    said that the large start adds and the small one does not; the profile paper has that form anyway."""
    if check_profile(profile) == "paper":
        return {}
    made = partial(_in_single, "language-addition-gpt2", profile, seeds=GPT2_SEEDS, form="GPT-2", rate=LOW_RATE)
    return {arm: made(arm) for arm in (LARGE, SMALL, *CROSSED)}


GPT2_RATES = {1e-3: 1.0, 2e-4: 1.5}
"""Learning rates beside LOW_RATE, the trials' higher one first, and for how many times as many steps: at 2e-4 for as much rate
times steps as at LOW_RATE (our choice)."""


def gpt2_rates_specs(profile: str) -> dict[tuple[float, float, float], list[RunSpec]]:
    """{(learning rate, γ, weight decay): runs} of the paper's two arms in GPT-2's form, on the same seeds at other rates; the
    profile paper has none."""
    if check_profile(profile) == "paper":
        return {}
    made = partial(_in_single, "language-addition-rates", profile, seeds=GPT2_SEEDS, form="GPT-2")
    return {(rate, *arm): made(arm, times=times, rate=rate) for rate, times in GPT2_RATES.items() for arm in (LARGE, SMALL)}


POST_SEEDS = {LARGE: tuple(range(3, 11)), SMALL: tuple(range(3, 11))}
"""None of them was tried or shown before. The small ones were trained for what they do with numbers: six of eight large starts
add, so that even eight of eight small ones would not surely be more."""


def post_adding_specs(profile: str) -> dict[tuple[float, float], list[RunSpec]]:
    """{(γ, weight decay): runs} of the paper's two arms in the profile's own form and at its rate once more, on new seeds and
    in single precision; the profile paper has none."""
    if check_profile(profile) == "paper":
        return {}
    return {arm: _in_single("language-addition-post", profile, arm, seeds) for arm, seeds in POST_SEEDS.items()}


HIGH_RATE = 2e-3
"""Twice the laptop's own."""


def post_high_specs(profile: str) -> dict[tuple[float, float], list[RunSpec]]:
    """{(γ, weight decay): runs} of the first four of these seeds at the high learning rate; the profile paper has none."""
    if check_profile(profile) == "paper":
        return {}
    made = partial(_in_single, "language-addition-post-high", profile, rate=HIGH_RATE)
    return {arm: made(arm, seeds=seeds[:4]) for arm, seeds in POST_SEEDS.items()}


def _language(name: str, title: str, make: StudyFactory, *specs: Callable[[str], Any]) -> Experiment:
    return Experiment(name, title, VERSION, make, in_one_list(*specs), models=(CausalSpec,))


ADDITION = Experiment(
    "language-addition", "Addition with a square held out", VERSION, make_adding, in_one_list(adding_specs, low_rate_specs)
)
ADDITION_SEARCH = Experiment(
    "language-addition-search", "Addition: trials of forms and learning rates", VERSION, make_adding, adding_search
)

ADDITION_GPT2 = Experiment(
    "language-addition-gpt2", "Addition in GPT-2's form", VERSION, make_adding, in_one_list(gpt2_adding_specs), always
)

ADDITION_RATES = Experiment(
    "language-addition-rates",
    "Addition in GPT-2's form at other learning rates",
    VERSION,
    make_adding,
    in_one_list(gpt2_rates_specs),
)

ADDITION_POST = Experiment(
    "language-addition-post", "Addition on eight new seeds", VERSION, make_adding, in_one_list(post_adding_specs), always
)

ADDITION_POST_HIGH = Experiment(
    "language-addition-post-high",
    "Addition on four new seeds at a higher learning rate",
    VERSION,
    make_adding,
    in_one_list(post_high_specs),
)


# ----------------------------------------------------------------------------------------------- rows of a source and a target

SMALLER = (0.8, 1.0)
"""A smaller start, with as much decay over a run as the paper's small arm has over its own (our choice)."""
ARMS = (LARGER, LARGE, *CROSSED, SMALL, SMALLER)
"""All arms, from the largest start on; those of one size only but for the paper's two."""


@dataclass(frozen=True)
class GPT:
    """GPT-2's form in one size, and how it is trained."""

    depth: int
    d_model: int
    heads: int
    rate: float
    train: TrainSpec

    def spec(self, vocab: int, positions: int, tied: bool = True) -> CausalSpec:
        shape = {"depth": self.depth, "d_ff": 4 * self.d_model, **FORMS["GPT-2"]}
        return CausalSpec.split_heads(self.d_model, self.heads, vocab=vocab, positions=positions, **shape, tied=tied)


SMOKE = GPT(1, 16, 2, 3e-3, _train(4, 4, 2))


@dataclass(frozen=True)
class ReadingSetting:
    """What the runs of one task and profile share. `sizes` of training sets; `middle`: the one at which all arms are run;
    `shape`: tokens of the vocabulary and positions; `task`: what the task object is made from."""

    gpt: GPT
    sizes: tuple[int, ...]
    middle: int
    seeds: tuple[int, ...]
    shape: tuple[int, int]
    task: tuple[tuple[str, Any], ...]


def _trained(setting: ReadingSetting, train: TrainSpec) -> ReadingSetting:
    """The setting, trained in another way."""
    return replace(setting, gpt=replace(setting.gpt, train=train))


def _small(batch: int, steps: int, eval_every: int) -> GPT:
    return GPT(2, 128, 4, 1e-3, _train(batch, steps, eval_every))


def _full(batch: int, steps: int, eval_every: int) -> GPT:
    """GPT-2 small, at the learning rate of the follow-up's script."""
    return GPT(12, 768, 12, 5e-5, _train(batch, steps, eval_every))


def _follow_up() -> GPT:
    """The follow-up's own numbers: GPT-2 small at a constant rate, for the 360,000 steps of its 5,000 epochs of 10,000 rows at
    most. A decay of .1 shrinks a weight by e^−1.8 over them."""
    steps = 360_000
    return replace(
        _full(140, steps, 4_000), train=TrainSpec(140, steps, 0, start=1.0, final=1.0, eval_every=4_000, fit_metric="train")
    )


SEEDS = (0, 1, 2)
TURN, JUMP = "addprim_turn_left", "addprim_jump"
SCAN = {
    "smoke": ReadingSetting(SMOKE, (300,), 300, (0,), (22, 64), (("test", 100),)),
    "laptop": ReadingSetting(_small(64, 2_500, 125), (500, 2_000, 21_890), 2_000, SEEDS, (22, 64), (("test", 1_208),)),
    "paper": ReadingSetting(
        _follow_up(),
        (1_000, 5_000, 21_890),
        5_000,
        SEEDS,
        (22, 64),
        (("test", 1_208),),
    ),
}
COGS = {
    "smoke": ReadingSetting(
        SMOKE,
        (150,),
        150,
        (0,),
        (401, 400),
        (("train", 160), ("test", 10), ("case", 10), ("nouns", 30), ("verbs", 10)),
    ),
    "laptop": ReadingSetting(
        _small(64, 3_000, 250),
        (4_000, 16_000),
        4_000,
        SEEDS,
        (401, 400),
        (("train", 16_000), ("test", 500), ("case", 50), ("nouns", 30), ("verbs", 10)),
    ),
    "paper": ReadingSetting(
        _follow_up(),
        (5_000, 10_000, 24_155),
        10_000,
        SEEDS,
        (1_151, 400),
        (("train", 24_155), ("test", 1_000), ("case", 100), ("nouns", 100), ("verbs", 20)),
    ),
}
ASKING = {
    "smoke": ReadingSetting(SMOKE, (40,), 40, (0,), (78, 104), (("test", 20), ("concepts", 6), ("hops", (1, 2)))),
    "laptop": ReadingSetting(
        # In the trials the labels of 4,000 questions are learned behind step 2,100.
        _small(32, 2_500, 50),
        (250, 1_000, 4_000, 16_000),
        1_000,
        SEEDS,
        (78, 112),
        (("test", 300), ("concepts", 6), ("hops", (1, 2))),
    ),
    "paper": ReadingSetting(
        _full(64, 50_000, 500),
        (1_000, 10_000, 100_000),
        10_000,
        SEEDS,
        (90, 216),
        (("test", 1_000), ("concepts", 10), ("hops", (1, 2, 3, 4, 5))),
    ),
}


def reading_spec(name: str, setting: ReadingSetting, gamma: float, decay: float, seed: int, size: int, **other: Any) -> RunSpec:
    """One run of the experiment `name`; `other` goes to its task."""
    task = {"size": size, "keep": (setting.gpt.train.steps,)} | dict(setting.task) | other
    gpt = setting.gpt
    return RunSpec(name, VERSION, gamma, seed, gpt.rate, decay, gpt.spec(*setting.shape), gpt.train, tuple(task.items()))


Kind = tuple[str, int, float, float]
"""A kind of task (a split, or a variant), the size of the training set, γ and weight decay."""


def _kinds(
    setting: ReadingSetting,
    main: str,
    others: Sequence[str] = (),
    more: Sequence[tuple[float, float]] = ARMS,
    at: int | None = None,
) -> list[Kind]:
    """The paper's two arms at every size, `more` arms at the middle one, and of the other kinds of task the two arms at the
    size `at`, the middle one if none is given."""
    kinds = [(main, size, *arm) for size in setting.sizes for arm in (LARGE, SMALL)]
    kinds += [(main, setting.middle, *arm) for arm in more if arm not in (LARGE, SMALL)]
    return kinds + [(other, at or setting.middle, *arm) for other in others for arm in (LARGE, SMALL)]


AS_SCRIPT = ", drawn as by the follow-up's code"
"""Behind the name of a task whose runs do not start as the papers say."""


def _as_script(profile: str, runs: dict[Kind, list[RunSpec]], main: str, size: int) -> dict[Kind, list[RunSpec]]:
    """With a third arm of the paper's profile: both arms again, as the follow-up's code draws weights."""
    again = [arm for arm in (LARGE, SMALL) if profile == "paper"]
    drawn = lambda spec: replace(spec, model=replace(spec.model, start=SCRIPT))
    return runs | {(main + AS_SCRIPT, size, *arm): [drawn(spec) for spec in runs[main, size, *arm]] for arm in again}


_SENTENCES = 100  # in a training set of a user's COGS, at least


def _of_user(kind: str) -> dict[str, str]:
    """What the task of a run on a user's data says beside all else."""
    return {"data": digest} if (digest := own.given(kind)) else {}


def scan_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(split, size, γ, decay): runs}. The control, the other primitive, has the size of the middle too."""
    s, data = SCAN[check_profile(profile)], _of_user(own.SCAN)
    runs = {
        kind: [reading_spec("language-scan", s, *kind[2:], seed, kind[1], split=kind[0], **data) for seed in s.seeds]
        for kind in _kinds(s, TURN, (JUMP,))
    }
    return _as_script(profile, runs, TURN, s.middle)


NEW_SEEDS = tuple(range(3, 9))


def new_scan_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(split, size, γ, decay): runs} of the paper's two arms on "turn left" once more, on seeds that were not seen before and
    in single precision, always on the book's own data; the profile paper has none."""
    s = SCAN[check_profile(profile)]
    if profile == "paper":
        return {}
    setting = _trained(s, replace(s.gpt.train, precision="float32"))
    seeds = NEW_SEEDS if profile == "laptop" else NEW_SEEDS[:1]
    return {
        (TURN, size, *arm): [reading_spec("language-scan-new", setting, *arm, seed, size, split=TURN) for seed in seeds]
        for size in s.sizes
        for arm in (LARGE, SMALL)
    }


def _rounded(profile: str) -> list[RunSpec]:
    """Of these runs, those of the middle size."""
    new, size = new_scan_specs(profile), SCAN[check_profile(profile)].middle
    return [spec for arm in (LARGE, SMALL) for spec in new.get((TURN, size, *arm), ())]


ROUNDED_NAME = "language-scan-bfloat16"


def rounded_scan_specs(profile: str) -> list[RunSpec]:
    """The same runs in bfloat16 where the machine has it."""
    return [replace(s, experiment=ROUNDED_NAME, train=replace(s.train, precision="any")) for s in _rounded(profile)]


MOVED = once_more(
    "language-scan-roundings",
    "SCAN on new seeds, from weights off by their last bit",
    make_scan,
    rounded_scan_specs,
    models=(CausalSpec,),
    nudges=(1,),
)


def scan_again(profile: str) -> list[RunSpec]:
    """The same runs in single precision, from weights off by their last bit and not; only the laptop has them."""
    return [*again(MOVED, profile), *_rounded(profile)] if profile == "laptop" else []


MUCH, TENTH = 0.7, 0.07
"""Weight decays that take as much from a weight over SCAN's runs of twice the steps as those of the paper's arms in its Figure
7 would by the follow-up's learning rate and steps: learning rate × decay × steps is about 1.8 and .18 (our choice)."""


def _with_decays(
    name: str, s: ReadingSetting, main: str, seeds: Sequence[int], decays: Sequence[float], **other: Any
) -> dict[Kind, list[RunSpec]]:
    """{(main, size, γ, decay): runs} of the experiment `name`: either start of the paper's arms with each of these decays, for
    twice as many steps, since runs with much decay learn late."""
    setting = _trained(s, _longer(s.gpt.train))
    made = lambda gamma, decay, seed: reading_spec(name, setting, gamma, decay, seed, s.middle, **other)
    arms = [(gamma, decay) for gamma in (LARGE[0], SMALL[0]) for decay in decays]
    return {(main, s.middle, *arm): [made(*arm, seed) for seed in seeds] for arm in arms}


def scan_decay_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(split, size, γ, decay): runs} with the decay of the paper's large arm, TENTH and MUCH, on the new seeds, in bfloat16
    where the machine has it, always on the book's own data. The profile paper, whose decay is large enough, has none."""
    if check_profile(profile) == "paper":
        return {}
    seeds = NEW_SEEDS if profile == "laptop" else NEW_SEEDS[:1]
    return _with_decays("language-scan-decay", SCAN[profile], TURN, seeds, (LARGE[1], MUCH, TENTH), split=TURN)


COGS_MUCH, COGS_TENTH = 0.58, 0.058
"""Decays that take as much over COGS's runs of twice the steps, of which there are more than SCAN's (our choice)."""
COGS_DECAY_SEEDS = NEW_SEEDS[:5]


def cogs_decay_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{("COGS", size, γ, decay): runs} with COGS_TENTH and COGS_MUCH, else as those of SCAN; the profile paper has none."""
    if check_profile(profile) == "paper":
        return {}
    seeds = COGS_DECAY_SEEDS if profile == "laptop" else COGS_DECAY_SEEDS[:1]
    return _with_decays("language-cogs-decay", COGS[profile], "COGS", seeds, (COGS_MUCH, COGS_TENTH))


def scan_script_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(split, size, γ, decay): runs} of the paper's two arms, drawn as by the follow-up's code, all else as in
    `rounded_scan_specs`; the profile paper has them among its own."""
    found: dict[Kind, list[RunSpec]] = {}
    for spec in rounded_scan_specs(profile):
        model = replace(cast(CausalSpec, spec.model), start=SCRIPT)
        drawn = replace(spec, experiment="language-scan-script", model=model)
        found.setdefault((TURN, SCAN[profile].middle, spec.gamma, spec.decay), []).append(drawn)
    return found


def cogs_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{("COGS", size, γ, decay): runs}. Its runs are the longest, so beside the paper's arms there are but the crossed ones."""
    s, data = COGS[check_profile(profile)], _of_user(own.COGS)
    if data:
        words, needed = own_words(data["data"]), own.needed(own.COGS, data["data"], OWN[profile].longest)
        # smoke has fewer rows than the release has single words, and these are kept first
        least = sum(row.case != cogs.IN_DISTRIBUTION for row in own.cogs_of(data["data"]).train) + _SENTENCES
        asked = tuple((name, count) for name, count in s.task if name in ("test", "case"))
        s = replace(s, shape=(len(words), needed + _ROOM), task=asked, middle=max(s.middle, least))
        s = replace(s, sizes=tuple(sorted({max(size, least) for size in s.sizes})))
    runs = {
        kind: [reading_spec("language-cogs", s, *kind[2:], seed, kind[1], **data) for seed in s.seeds]
        for kind in _kinds(s, "COGS", more=CROSSED)
    }
    return _as_script(profile, runs, "COGS", s.middle)


def rounded_cogs_specs(profile: str) -> list[RunSpec]:
    """The runs of the paper's two arms, in bfloat16 where the machine has it."""
    return [spec for kind, specs in cogs_specs(profile).items() if kind[2:] in (LARGE, SMALL) for spec in specs]


COGS_MOVED = once_more(
    "language-cogs-roundings", "COGS under other roundings", make_cogs, rounded_cogs_specs, models=(CausalSpec,)
)
COGS_SEEDS = (3, 4, 5)


def longer_cogs_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{("COGS", size, γ, decay): runs} of the paper's two arms on the most rows for as many passes as others take over the
    fewest, on seeds that were not seen before and in single precision, always on the book's own data; the profile paper has
    none."""
    s = COGS[check_profile(profile)]
    if profile == "paper":
        return {}
    few, most = min(s.sizes), max(s.sizes)
    setting = _trained(s, replace(_longer(s.gpt.train, most // few), precision="float32"))
    seeds = COGS_SEEDS if profile == "laptop" else COGS_SEEDS[:1]
    return {
        ("COGS", most, *arm): [reading_spec("language-cogs-longer", setting, *arm, seed, most, once=True) for seed in seeds]
        for arm in (LARGE, SMALL)
    }


DOUBLED = {TURN: "language-scan-doubled", "COGS": "language-cogs-doubled"}


def doubled_specs(main: str, profile: str) -> dict[Kind, list[RunSpec]]:
    """{(split, size, γ, decay): runs} of the paper's two arms at the size of the middle in a model of twice the depth and twice
    the width, on seeds, and so on rows, that the model itself was trained on, too; always on the book's own data. The profile
    paper has none."""
    if check_profile(profile) == "paper":
        return {}
    s, seeds, other = (SCAN[profile], NEW_SEEDS, {"split": TURN}) if main == TURN else (COGS[profile], SEEDS, {})
    twice = replace(s.gpt, depth=2 * s.gpt.depth, d_model=2 * s.gpt.d_model, heads=2 * s.gpt.heads)
    seeds = seeds if profile == "laptop" else seeds[:1]
    made = lambda gamma, decay, seed: reading_spec(DOUBLED[main], replace(s, gpt=twice), gamma, decay, seed, s.middle, **other)
    return {(main, s.middle, *arm): [made(*arm, seed) for seed in seeds] for arm in (LARGE, SMALL)}


CHAIN, HARD = "chain", "hard"


def asking_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(variant, size, γ, decay): runs}: the questions as published, or a user's, and with the most of them a distractor that
    cannot be told by its looks, always of the book. Beside the paper's arms there are but the crossed ones, as in COGS. The
    most questions are trained on for twice as many steps: in the trials chains of one's own begin to be right then."""
    s, data = ASKING[check_profile(profile)], _of_user(own.QUESTIONS)
    told = {CHAIN: s, HARD: s}
    if data:
        known, _, words = own.questions_of(data["data"])
        needed = own.needed(own.QUESTIONS, data["data"], OWN[profile].longest)
        s = replace(s, sizes=tuple(size for size in s.sizes if size <= len(known)))
        if not s.sizes:
            least = min(told[CHAIN].sizes)
            what = f"{len(known):,} questions for training, and the profile {profile} trains on {least:,} at least"
            raise LanguageError(f"the data have {what}: give more.")
        s = replace(s, middle=s.middle if s.middle in s.sizes else max(s.sizes))
        asked = tuple((name, count) for name, count in s.task if name == "test")
        told = {CHAIN: replace(s, shape=(len(words), needed + _ROOM), task=asked), HARD: s}
    most = max(s.sizes)

    def spec(variant: str, size: int, gamma: float, decay: float, seed: int) -> RunSpec:
        long = size == most and len(s.sizes) > 1
        setting = _trained(told[variant], _longer(s.gpt.train)) if long else told[variant]
        more = {} if variant == HARD else data
        return reading_spec("language-prontoqa", setting, gamma, decay, seed, size, chain=True, hard=variant == HARD, **more)

    return {kind: [spec(*kind, seed) for seed in s.seeds] for kind in _kinds(s, CHAIN, (HARD,), CROSSED, most)}


TWIN, SHUFFLED, ALONE = "twin", "shuffled twin", "label alone"
"""Beside a twin of the chain, with rules in order and in any: with chains of thought as published, and with nothing before the
label."""
TWINS = {TWIN: "language-prontoqa-twin", SHUFFLED: "language-prontoqa-shuffled"}
TWIN_TRIALS = "language-prontoqa-twin-search"
TWIN_SEEDS = {TWIN: (0, 1, 2, 3), SHUFFLED: (4, 5, 6, 7)}


def _twin_spec(profile: str, variant: str, study: str, arm: tuple[float, float], seed: int, **other: Any) -> RunSpec:
    """One run on the most questions, in single precision; `other` than the profile's way to train where that is given. A twin
    takes as many concepts as the chain, so that the paper's profile has one hop less."""
    s = ASKING[check_profile(profile)]
    about = dict(s.task)
    hops = tuple(count for count in about["hops"] if count < about["concepts"] // 2)
    train = replace(_longer(s.gpt.train) if len(s.sizes) > 1 else s.gpt.train, precision="float32", **other)
    setting = replace(_trained(s, train), task=tuple((about | {"hops": hops}).items()))
    beside = {"twin": True} | ({"shuffled": True} if variant == SHUFFLED else {})
    return reading_spec(study, setting, *arm, seed, max(s.sizes), chain=True, hard=False, **beside)


def twin_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(variant, size, γ, decay): runs} of the paper's two arms, always on questions of the book."""
    seeds = slice(None if check_profile(profile) != "smoke" else 1)
    size = max(ASKING[profile].sizes)
    return {
        (variant, size, *arm): [_twin_spec(profile, variant, TWINS[variant], arm, seed) for seed in TWIN_SEEDS[variant][seeds]]
        for variant in TWINS
        for arm in (LARGE, SMALL)
    }


def _beside(variant: str, profile: str) -> list[RunSpec]:
    return [spec for spec in in_one_list(twin_specs)(profile) if spec.experiment == TWINS[variant]]


def twin_search(profile: str) -> list[RunSpec]:
    """The trials, on a seed that is not reported: with chains, rules in order and in any, and labels alone."""
    every = max(1, ASKING[check_profile(profile)].gpt.train.steps // 25)
    trial = lambda variant, arm: _twin_spec(profile, variant, TWIN_TRIALS, arm, SEARCH_SEED, eval_every=every)
    chains = {variant: [trial(variant, arm) for arm in (LARGE, SMALL)] for variant in TWINS}
    alone = [replace(spec, task=tuple((dict(spec.task) | {"chain": False}).items())) for spec in chains[TWIN]]
    return [*chains[TWIN], *chains[SHUFFLED], *alone] if profile != "smoke" else alone


def _longer(train: TrainSpec, times: float = 2) -> TrainSpec:
    """So many times the steps, and as many evaluations."""
    return _train(train.batch, round(times * train.steps), round(times * train.eval_every))


def asking_search(profile: str) -> list[RunSpec]:
    """The trials, on a seed that is not reported: the paper's two arms at every size but the middle one, over twice the steps,
    since what a length of training leaves open can only be seen beyond it."""
    s = ASKING[check_profile(profile)]
    t = s.gpt.train
    long = s if profile == "smoke" else _trained(s, _train(t.batch, 2 * t.steps, t.steps // 20))
    return [
        reading_spec("language-prontoqa-search", long, *arm, SEARCH_SEED, size, chain=True, hard=False)
        for size in ([n for n in s.sizes if n != s.middle] or s.sizes)
        for arm in (LARGE, SMALL)
    ]


EVEN, AS_BEFORE = "language-prontoqa-even", "chain, half the steps"
EVEN_SEEDS = (3, 4, 5, 6)
"""None of them was seen before on questions as published."""


def even_asking_specs(profile: str) -> dict[Kind, list[RunSpec]]:
    """{(variant, size, γ, decay): runs} of the paper's two arms on questions as published, at every size and at four times the
    largest, with chains; and at the middle size and the largest with labels ALONE. All take as many steps, twice those of the
    profile, but for AS_BEFORE, at the middle size and with the profile's, so that seeds and steps are told apart; and are of
    the book's own data. The profile paper has none."""
    s = ASKING[check_profile(profile)]
    if profile == "paper":
        return {}
    setting, most = _trained(s, _longer(s.gpt.train)), max(s.sizes)
    seeds = EVEN_SEEDS if profile == "laptop" else EVEN_SEEDS[:1]
    kinds = [(CHAIN, size) for size in (*s.sizes, 4 * most)] + [(ALONE, size) for size in dict.fromkeys((s.middle, 4 * most))]
    kinds += [(AS_BEFORE, s.middle)]
    made = lambda variant, *rest: reading_spec(
        EVEN, s if variant == AS_BEFORE else setting, *rest, chain=variant != ALONE, hard=False
    )
    return {
        (variant, size, *arm): [made(variant, *arm, seed, size) for seed in seeds]
        for variant, size in kinds
        for arm in (LARGE, SMALL)
    }


def rounded_asking_specs(profile: str) -> list[RunSpec]:
    """Of these, the runs with chains at the middle size, of either length, in bfloat16 where the machine has it."""
    size = ASKING[check_profile(profile)].middle
    even = even_asking_specs(profile)
    return [s for variant in (CHAIN, AS_BEFORE) for arm in (LARGE, SMALL) for s in even.get((variant, size, *arm), ())]


ASKING_MOVED = once_more(
    "language-prontoqa-roundings", "PrOntoQA under other roundings", make_asking, rounded_asking_specs, models=(CausalSpec,)
)


# ------------------------------------------------------------------------------------------------------ the mix of two corpora

GAMMAS = (0.3, 0.5, 0.8)
"""The γ of Yao et al. 2025, Fig. 7A."""
MIX_DECAY = 0.01


@dataclass(frozen=True)
class MixSetting:
    """`each`: sequences of a corpus in training, of `length` tokens at most; `tests` more of each are held out."""

    gpt: GPT
    each: int
    tests: int
    length: int
    seeds: tuple[int, ...]
    vocab: int


MIX = {
    "smoke": MixSetting(SMOKE, 20, 10, 32, (0,), 1_453),
    # 2,000 steps: the largest start needs them to come to a loss that the smallest has early. Seeds 0 to 2 were seen in trials.
    "laptop": MixSetting(_small(32, 2_000, 20), 1_000, 100, 160, (3, 4, 5), 1_423),
    "paper": MixSetting(replace(_full(64, 30_000, 500), rate=1e-4), 5_000, 500, 256, SEEDS, 1_453),
}


def mix_specs(profile: str) -> dict[tuple[bool, float], list[RunSpec]]:
    """{(are the embeddings tied?, γ): runs}."""
    s, data = MIX[check_profile(profile)], _of_user(own.STORIES)
    task = (("each", s.each), ("tests", s.tests), ("length", s.length), *data.items())
    vocab = len(mix_data(s.each, s.tests, s.length)[0]) if data else s.vocab
    model = {tied: s.gpt.spec(vocab, s.length, tied) for tied in (True, False)}
    return {
        (tied, gamma): [
            RunSpec("language-mix", VERSION, gamma, seed, s.gpt.rate, MIX_DECAY, model[tied], s.gpt.train, task)
            for seed in s.seeds
        ]
        for tied in model
        for gamma in GAMMAS
    }


LONGER_TIMES, LONGER_SEEDS = 6.25, (6, 7, 8)
"""12,500 steps on the laptop, for the largest start comes down far more slowly (our choice), on seeds not seen before."""


def _book_mix(name: str, profile: str, seeds: Sequence[int], model: CausalSpec, train: TrainSpec) -> dict[float, list[RunSpec]]:
    """{γ: runs} of the experiment `name`, always on the book's own data."""
    s = MIX[profile]
    task = (("each", s.each), ("tests", s.tests), ("length", s.length))
    made = lambda gamma, seed: RunSpec(name, VERSION, gamma, seed, s.gpt.rate, MIX_DECAY, model, train, task)
    return {gamma: [made(gamma, seed) for seed in seeds] for gamma in GAMMAS}


def longer_mix_specs(profile: str) -> dict[float, list[RunSpec]]:
    """{γ: runs} with tied embeddings for so many times the steps; the profile paper has none."""
    s = MIX[check_profile(profile)]
    times, seeds = (LONGER_TIMES, LONGER_SEEDS) if profile == "laptop" else (2, LONGER_SEEDS[:1])
    model, train = s.gpt.spec(s.vocab, s.length), _longer(s.gpt.train, times)
    return {} if profile == "paper" else _book_mix("language-mix-longer", profile, seeds, model, train)


def fixed_head_specs(profile: str) -> dict[float, list[RunSpec]]:
    """{γ: runs}, untied and from an output matrix whose scale γ does not set; the profile paper has none."""
    s = MIX[check_profile(profile)]
    model = replace(s.gpt.spec(s.vocab, s.length, tied=False), start=FIXED_HEAD)
    return {} if profile == "paper" else _book_mix("language-mix-head", profile, s.seeds, model, s.gpt.train)


def tied_mix_specs(profile: str) -> list[RunSpec]:
    """The runs with tied embeddings, in bfloat16 where the machine has it."""
    return [spec for (tied, _), specs in mix_specs(profile).items() if tied for spec in specs]


MIX_MOVED = once_more("language-mix-roundings", "The mix under other roundings", make_mix, tied_mix_specs, models=(CausalSpec,))


# --------------------------------------------------------------------------------------------------------- a user's own data


@dataclass(frozen=True)
class OwnSetting:
    """`rows` of training at most, none of more than `longest` tokens."""

    gpt: GPT
    rows: int
    longest: int
    seeds: tuple[int, ...]


OWN = {
    "smoke": OwnSetting(SMOKE, 40, 512, (0,)),
    "laptop": OwnSetting(_small(64, 2_500, 125), 2_000, 512, SEEDS),
    "paper": OwnSetting(_full(64, 50_000, 500), 100_000, 1_024, SEEDS),
}
_ROOM = 8  # rows are padded to a multiple of so many tokens


def own_specs(profile: str, data: own.Own | None = None, rows: int = 0) -> dict[float, list[RunSpec]]:
    """{γ: runs} on a user's data, or on the example; `rows` of training at most, or as many as the profile takes. The arms
    differ in γ alone."""
    s = OWN[check_profile(profile)]
    most = rows or s.rows
    data = data or own.example(most)
    limit = s.longest if data.digest != own.EXAMPLE else 256  # nothing is read for the example; its stored runs say so
    every = (data.train, *data.held_out.values())
    longest = max(len(row.source) + len(row.target) + 2 for some in every for row in some)
    task = {"data": data.digest, "kind": data.kind, "rows": most, "longest": limit}
    model = s.gpt.spec(len(data.words), longest + _ROOM)
    return {
        gamma: [
            RunSpec("language-own", VERSION, gamma, seed, s.gpt.rate, MIX_DECAY, model, s.gpt.train, tuple(task.items()))
            for seed in s.seeds
        ]
        for gamma in GAMMAS
    }


OWN_DATA = _language("language-own", "A user's own data", make_own, own_specs)

EXPERIMENTS: tuple[Experiment, ...] = (
    ADDITION,
    ADDITION_SEARCH,
    ADDITION_GPT2,
    ADDITION_RATES,
    ADDITION_POST,
    ADDITION_POST_HIGH,
    _language("language-scan", "SCAN: a primitive that was seen alone", make_scan, scan_specs),
    _language("language-scan-new", "SCAN on new seeds", make_scan, new_scan_specs),
    Experiment(ROUNDED_NAME, "SCAN on new seeds, in bfloat16", VERSION, make_scan, rounded_scan_specs, models=(CausalSpec,)),
    MOVED,
    _language("language-scan-decay", "SCAN with as much decay as in the papers", make_scan, scan_decay_specs),
    _language("language-scan-script", "SCAN from the follow-up's start", make_scan, scan_script_specs),
    _language("language-cogs", "COGS: 21 cases", make_cogs, cogs_specs),
    COGS_MOVED,
    _language("language-cogs-decay", "COGS with as much decay as in the papers", make_cogs, cogs_decay_specs),
    _language("language-cogs-longer", "COGS: as many passes over most rows", make_cogs, longer_cogs_specs),
    _language(DOUBLED[TURN], "SCAN in a model of twice the depth and width", make_scan, partial(doubled_specs, TURN)),
    _language(DOUBLED["COGS"], "COGS in a model of twice the depth and width", make_cogs, partial(doubled_specs, "COGS")),
    _language("language-prontoqa", "PrOntoQA over sizes", make_asking, asking_specs),
    _language(TWINS[TWIN], "PrOntoQA beside a twin of the chain", make_asking, partial(_beside, TWIN)),
    _language(TWINS[SHUFFLED], "PrOntoQA beside a twin, rules in any order", make_asking, partial(_beside, SHUFFLED)),
    _language(EVEN, "PrOntoQA, as many steps at every size", make_asking, even_asking_specs),
    ASKING_MOVED,
    _language(TWIN_TRIALS, "PrOntoQA beside a twin: trials", make_asking, twin_search),
    _language("language-prontoqa-search", "PrOntoQA: trials of the length of training", make_asking, asking_search),
    _language("language-mix", "PrOntoQA and stories", make_mix, mix_specs),
    _language("language-mix-longer", "PrOntoQA and stories, longer", make_mix, longer_mix_specs),
    _language("language-mix-head", "PrOntoQA and stories, the head's scale fixed", make_mix, fixed_head_specs),
    MIX_MOVED,
    OWN_DATA,
)

_READS = {
    "language-scan": own.SCAN,
    "language-cogs": own.COGS,
    "language-prontoqa": own.QUESTIONS,
    "language-mix": own.STORIES,
}
_BESIDE = {
    own.QUESTIONS: " Both variants, the trials and the example questions are of the book.",
    own.STORIES: " Where words and captions have “our substitute corpus” or “our stories”, these are shown; the questions are "
    "the book's.",
}


def bring(path: str, profile: str, *names: str) -> str:
    """Let the experiments of these names train on the files in a user's folder, in this process, or on the book's own data if
    none is given: what a reader should know of it, in words; nothing without data.

    Raises LanguageError, before anything is trained, for files that are not there, are of another kind or not right in every
    row, and for rows that the models cannot read.
    """
    found = own.give(path, *(_READS[name] for name in names))
    for experiment in EXPERIMENTS:
        if _READS.get(experiment.name) in found:
            specs = [spec for spec in experiment.specs(profile) if "data" in dict(spec.task)]
            if not specs:  # an experiment makes its specs once
                raise LanguageError(own.RESTART)
            experiment.make_study(max(specs, key=lambda spec: dict(spec.task).get("size", 0)))
    if not found:
        return ""
    rest = [kind for kind in map(_READS.__getitem__, names) if kind not in found]
    told = " and ".join(f"{kind} (digest {digest})" for kind, digest in found.items())
    words = f"**Your data.** Figures, tables and verdicts are of runs on `{path}`: {told}."
    words += f" {' and '.join(rest)}: as in the book." if rest else ""
    return words + "".join(_BESIDE.get(kind, "") for kind in found) + " The text was written for the book's own data."
