"""Many runs as one program: nobody sees who shares the batch, slots are refilled, divergence stays at home."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from conftest import SpecFactory
from torch import Tensor, nn

from lib.composition.study import Composition
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Transformer, from_weights
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, derived_seed
from lib.core.train import loop as train_module
from lib.core.train import machine
from lib.core.train.ensemble import Ask, Ensemble
from lib.core.train.loop import Progress, train
from lib.core.train.machine import DeviceError
from lib.core.train.plan import Options, backend_for, slots_for

CPU = torch.device("cpu")
ROUNDING = {"rtol": 1e-4, "atol": 1e-5}
STUDY = Composition()
Predict = Callable[[Tensor], Tensor]


def options(slots: int = 8) -> Options:
    return Options(device="cpu", slots=slots, bf16=False, backend="eager")


def run_all(specs: list[RunSpec], slots: int = 8, study: Any = STUDY) -> dict[RunSpec, RunResult]:
    return {result.spec: result for result in train(specs, study, options(slots))}


def assert_same_run(one: RunResult, other: RunResult) -> None:
    """Equal but for rounding and for the time it took."""
    assert (one.spec, one.steps, one.status, one.fit_step) == (other.spec, other.steps, other.status, other.fit_step)
    assert one.history["step"] == other.history["step"]
    assert one.history["loss"] == pytest.approx(other.history["loss"], rel=1e-5)
    for name, value in one.metrics.items():  # at most two answers of the 560 on an edge
        assert value == pytest.approx(other.metrics[name], abs=2 / 560)
    assert one.weights.keys() == other.weights.keys()
    for name, weight in one.weights.items():
        torch.testing.assert_close(weight, other.weights[name], **ROUNDING, msg=lambda m, name=name: f"{name}: {m}")


@pytest.fixture(scope="module")
def mixed_runs(tiny_spec: SpecFactory) -> list[RunSpec]:
    """Runs of one shape that differ in everything in which runs of an ensemble may."""
    return [
        tiny_spec(),
        tiny_spec(gamma=0.9, seed=1, rate=1e-2, decay=0.0),
        tiny_spec(gamma=0.2, seed=2, rate=1e-4, decay=1.0),
        tiny_spec(gamma=0.7, seed=3),
        tiny_spec(gamma=0.5, seed=4, rate=2e-3, nudge=3),
    ]


@pytest.fixture(scope="module")
def alone(mixed_runs: list[RunSpec]) -> dict[RunSpec, RunResult]:
    """Each of them in a fresh ensemble of its own."""
    return {spec: run_all([spec], slots=1)[spec] for spec in mixed_runs}


@pytest.mark.parametrize(
    ("slots", "order"),
    [(5, 1), (2, 1), (1, 1), (4, -1)],
    ids=["together", "refilled slots", "one after another", "from the end of the queue"],
)
def test_a_run_does_not_depend_on_its_company(
    mixed_runs: list[RunSpec], alone: dict[RunSpec, RunResult], slots: int, order: int
) -> None:
    together = run_all(mixed_runs[::order], slots)
    assert together.keys() == set(mixed_runs)
    for spec in mixed_runs:
        assert_same_run(together[spec], alone[spec])


def test_runs_of_the_fixture_do_learn_and_do_differ(alone: dict[RunSpec, RunResult]) -> None:
    """Otherwise equality above would say nothing."""
    finals = [result.history["loss"][-1] for result in alone.values()]
    assert len({round(loss, 3) for loss in finals}) == len(finals)
    first, last = next(iter(alone.values())).history["loss"]
    assert last < first - 0.1


def test_training_twice_gives_the_same_bits(tiny_spec: SpecFactory) -> None:
    one, other = (run_all([tiny_spec(), tiny_spec(seed=1)]) for _ in range(2))
    for spec, result in one.items():
        assert result.history == other[spec].history
        assert result.metrics == other[spec].metrics
        assert all(torch.equal(w, other[spec].weights[name]) for name, w in result.weights.items())


def filled(specs: list[RunSpec], slots: int) -> Ensemble:
    ensemble = Ensemble(specs[0], slots, CPU, torch.float32, backend="eager")
    for slot, spec in enumerate(specs):
        ensemble.load(slot, spec)
    return ensemble


def test_compact_keeps_the_active_runs(mixed_runs: list[RunSpec]) -> None:
    """Weights, moments and clocks move with the run; training goes on as if nothing had happened."""
    left, right = filled(mixed_runs[:4], 4), filled(mixed_runs[:4], 4)
    for ensemble in (left, right):
        for _ in range(7):
            ensemble.train_step(STUDY.batch)
    left.free(0)
    left.free(2)
    assert left.active == [1, 3]
    left.compact(2)
    assert left.runs == [mixed_runs[1], mixed_runs[3]]
    assert left.active == [0, 1]
    for new, old in enumerate([1, 3]):
        for name, weight in left.weights(new).items():
            assert torch.equal(weight, right.weights(old)[name])
        for ours, theirs in zip((*left.exp_avg, *left.exp_avg_sq), (*right.exp_avg, *right.exp_avg_sq), strict=True):
            assert torch.equal(ours[new], theirs[old])
        for name in ("step", "data_seed", "rate", "decay", "anneal_from", "diverged_at", "loss_sum", "loss_steps"):
            assert getattr(left, name)[new] == getattr(right, name)[old], name
    for ensemble in (left, right):
        for _ in range(7):
            ensemble.train_step(STUDY.batch)
    assert left.step.tolist() == [14, 14]
    for new, old in enumerate([1, 3]):
        for name, weight in left.weights(new).items():
            torch.testing.assert_close(weight, right.weights(old)[name], **ROUNDING)
    expected = right.mean_losses()
    assert left.mean_losses() == pytest.approx([expected[1], expected[3]], rel=1e-5)


def test_compact_may_keep_empty_slots(mixed_runs: list[RunSpec]) -> None:
    ensemble = filled(mixed_runs[:3], 6)
    ensemble.free(0)
    ensemble.compact(3)
    assert ensemble.runs == [mixed_runs[1], mixed_runs[2], None]
    ensemble.load(2, mixed_runs[4])
    fresh = filled([mixed_runs[4]], 1)
    for name, weight in fresh.weights(0).items():
        assert torch.equal(ensemble.weights(2)[name], weight)


def test_loading_wipes_what_the_slot_held(mixed_runs: list[RunSpec]) -> None:
    used, fresh = filled(mixed_runs[:2], 2), filled([mixed_runs[3]], 1)
    for _ in range(3):
        used.train_step(STUDY.batch)
    used.diverged_at[1] = 2
    used.free(1)
    used.load(1, mixed_runs[3])
    for name, weight in fresh.weights(0).items():
        assert torch.equal(used.weights(1)[name], weight)
    assert not any(moment[1].any() for moment in (*used.exp_avg, *used.exp_avg_sq))
    for name in ("step", "data_seed", "rate", "decay", "anneal_from", "diverged_at", "loss_sum", "loss_steps"):
        assert getattr(used, name)[1] == getattr(fresh, name)[0], name
    assert used.step.tolist() == [3, 0]


def test_data_and_weights_have_their_own_seeds(tiny_spec: SpecFactory) -> None:
    """Changing γ, rate or depth does not reshuffle the data; changing the seed does."""
    ensemble = filled([tiny_spec(seed=5)], 1)
    assert ensemble.data_seed.tolist() == [derived_seed(5, "data")]
    assert filled([tiny_spec(seed=5, depth=1, gamma=0.9, rate=1.0)], 1).data_seed.tolist() == ensemble.data_seed.tolist()
    purposes = {derived_seed(seed, purpose) for seed in range(50) for purpose in ("data", "weights")}
    assert len(purposes) == 100
    assert all(0 <= seed < 2**62 for seed in purposes)


def test_a_nudge_moves_every_weight_by_one_unit_in_its_last_place(tiny_spec: SpecFactory) -> None:
    """Up and down, the same way wherever it is drawn; none leaves the bits of the γ initialization."""
    ensemble = filled([tiny_spec(nudge=nudge) for nudge in (0, 1, 2, 1)], 4)
    model = Transformer(tiny_spec().model, 1)
    apply_gamma_stacked(model, [0.5], [derived_seed(0, "weights")])
    plain, one, two, again = (ensemble.weights(slot) for slot in range(4))
    for name, p in model.named_parameters():
        assert torch.equal(plain[name], p[0])
        up, down = (torch.nextafter(p[0], torch.tensor(sign * math.inf)) for sign in (1, -1))
        for nudged in (one[name], two[name]):
            zero = p[0] == 0
            assert (nudged[zero] == 0).all()
            assert ((nudged == up) | (nudged == down))[~zero].all()
            assert zero.all() or nudged.numel() < 20 or 0.25 < (nudged == up)[~zero].float().mean() < 0.75
        assert zero.all() or not torch.equal(one[name], two[name])
        assert torch.equal(one[name], again[name])


def test_rows_are_consumed_in_order(mixed_runs: list[RunSpec]) -> None:
    """Step s of a run takes rows s·batch to (s + 1)·batch − 1 of its own data set, also after its slot's first run."""
    asked: list[tuple[Tensor, Tensor]] = []

    def rows(seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        asked.append((seed.clone(), index.clone()))
        return STUDY.batch(seed, index)

    ensemble = filled(mixed_runs[:2], 2)
    ensemble.train_step(rows)
    ensemble.load(1, mixed_runs[2])
    ensemble.train_step(rows)
    assert asked[0][0].tolist() == [[derived_seed(0, "data")], [derived_seed(1, "data")]]
    assert asked[1][0].tolist() == [[derived_seed(0, "data")], [derived_seed(2, "data")]]
    assert asked[0][1].tolist() == [list(range(32))] * 2
    assert asked[1][1].tolist() == [list(range(32, 64)), list(range(32))]


def test_predict_does_not_depend_on_the_chunk(mixed_runs: list[RunSpec]) -> None:
    ensemble = filled(mixed_runs[:3], 3)
    tokens = STUDY.held_out.tokens[:50]
    whole = ensemble.predict(tokens)
    assert whole.shape == (3, 50)
    assert torch.equal(ensemble.predict(tokens, chunk=7), whole)
    expected = ensemble.model(tokens.expand(3, -1, -1)).argmax(-1)
    assert torch.equal(whole, expected)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_logits_are_those_that_the_answers_were_read_off(tiny_spec: SpecFactory, dtype: torch.dtype | None) -> None:
    """In the precision that was asked for, also where rows come in chunks. A bias of the head would hide that precision."""
    ensemble = filled([tiny_spec(seed=seed, gamma=0.3 + 0.2 * seed, head_bias=False) for seed in range(3)], 3)
    ask, tokens = Ask(ensemble, dtype), STUDY.held_out.tokens[:50]
    logits = ask.logits(tokens)
    assert (logits.shape, logits.dtype) == ((3, 50, 201), torch.float32)
    assert not logits.requires_grad
    assert torch.equal(logits.argmax(-1), ask(tokens))
    exact = ensemble.model(tokens.expand(3, -1, -1)).detach()
    assert torch.equal(logits, exact) is (dtype is None)
    for other in (exact, ensemble.logits(tokens, dtype, chunk=7)):
        assert (logits - other).norm() < (0.05 if dtype else 1e-6) * exact.norm()


# ---------------------------------------------------------------- the optimizer of the spec


@pytest.mark.parametrize("clip", [0.02, 1e6], ids=["clipped", "not clipped"])
def test_an_sgd_run_is_torch_sgd_step_by_step(tiny_spec: SpecFactory, clip: float) -> None:
    """Beside a neighbour of another rate: warm-up and cosine restated, clipping by torch, decay in the gradient."""
    spec = tiny_spec(optimizer="sgd", rate=0.5, decay=0.1, clip=clip, gamma=0.3, start=0.2, final=0.1)
    ensemble = filled([tiny_spec(optimizer="sgd", rate=0.05, clip=clip, seed=1, start=0.2, final=0.1), spec], 2)
    reference = from_weights(spec.model, ensemble.weights(1)).requires_grad_(True)
    optimizer = torch.optim.SGD(reference.parameters(), lr=1.0, weight_decay=0.1)
    seed = torch.tensor(derived_seed(0, "data"))
    norms = []
    for step in range(8):
        tokens, target = STUDY.batch(seed, torch.arange(32 * step, 32 * (step + 1)))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(reference(tokens[None])[0], target).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(reference.parameters(), clip).item())
        share = 0.2 + 0.8 * step / 4 if step < 4 else 0.1 + 0.9 * (1 + math.cos(math.pi * (step - 4) / 16)) / 2
        optimizer.param_groups[0]["lr"] = 0.5 * share
        optimizer.step()
        ensemble.train_step(STUDY.batch)
        for name, weight in reference.named_parameters():
            torch.testing.assert_close(ensemble.weights(1)[name], weight[0].detach(), **ROUNDING, msg=lambda m, n=name: n + m)
    assert all((norm > clip) is (clip < 1) for norm in norms)


def test_sgd_is_left_to_pytorch(tiny_spec: SpecFactory) -> None:
    """The program in C++ knows AdamW alone, whatever the shape."""
    spec = tiny_spec(optimizer="sgd", d_k=16, d_v=16)
    assert backend_for([spec], Options(device="cpu")) == "eager"
    with pytest.raises(DeviceError, match="AdamW"):
        backend_for([spec], Options(device="cpu", backend="native"))


# ---------------------------------------------------------------- snapshots


class Keeping:
    """A study whose runs keep their embeddings, of the steps that it is told."""

    length = STUDY.length

    def __init__(self, *steps: int) -> None:
        self.steps = steps

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return STUDY.batch(seed, index)

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        return {"test": (ask(STUDY.held_out.tokens[:5]).cpu() == STUDY.held_out.key[:5]).float().mean(1)}

    def snapshot(self, model: nn.Module, step: int) -> dict[str, Tensor]:
        return {"token": model.embedding.token, "step": torch.full((model.n_runs,), step)} if step in self.steps else {}


def test_snapshots_are_the_runs_own_at_the_steps_that_were_asked_for(tiny_spec: SpecFactory) -> None:
    """Five runs in two slots: of each run its own row at its own step, what it had when training alone ended there."""
    specs = [tiny_spec(seed=seed, gamma=0.3 + 0.1 * seed, steps=15, eval_every=5) for seed in range(5)]
    results = run_all(specs, slots=2, study=Keeping(5, 15, 20))
    for spec in specs:
        found = results[spec].snapshots
        assert list(found) == [5, 15]
        assert all(kept["step"].item() == step for step, kept in found.items())
        torch.testing.assert_close(found[15]["token"], results[spec].weights["embedding.token"], rtol=0, atol=0)
        alone = filled([spec], 1)
        for _ in range(5):
            alone.train_step(STUDY.batch)
        torch.testing.assert_close(found[5]["token"], alone.weights(0)["embedding.token"], **ROUNDING)
        assert not found[5]["token"].requires_grad


def test_a_study_that_keeps_nothing_leaves_no_snapshots(alone: dict[RunSpec, RunResult]) -> None:
    assert all(result.snapshots == {} for result in alone.values())


# ---------------------------------------------------------------- divergence


def test_a_diverged_run_stops_alone(tiny_spec: SpecFactory) -> None:
    healthy, wild = tiny_spec(), tiny_spec(seed=1, rate=1e30)
    finished = list(train([wild, healthy], STUDY, options()))
    assert [result.spec for result in finished] == [wild, healthy]
    diverged, neighbour = finished
    assert diverged.status == "diverged"
    assert diverged.steps == 1  # the first loss is of the initialization; the second shows the first step's damage
    assert diverged.history["step"] == [10]
    assert diverged.history["loss"] == [None]
    assert math.isfinite(diverged.metrics["test"])
    assert diverged.metrics["train_loss"] is None
    assert neighbour.status == "unfitted"
    assert neighbour.steps == 20
    assert_same_run(neighbour, run_all([healthy], slots=1)[healthy])


def test_the_slot_of_a_diverged_run_serves_the_next(tiny_spec: SpecFactory) -> None:
    """NaNs of the former tenant must not reach the next one, nor the run beside it."""
    runs = [tiny_spec(seed=1, rate=1e30), tiny_spec(), tiny_spec(seed=2, gamma=0.8)]
    together = run_all(runs, slots=2)
    assert [together[spec].status for spec in runs] == ["diverged", "unfitted", "unfitted"]
    for spec in runs[1:]:
        assert_same_run(together[spec], run_all([spec], slots=1)[spec])


# ---------------------------------------------------------------- the schedule "fit"


class Scripted:
    """A study whose metric reaches its level at a step that the test sets for each seed; spies on the rates used."""

    length = STUDY.length

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fit_at: dict[int, int]) -> None:
        self.fit_at = fit_at
        self.rates: dict[int, list[float]] = {seed: [] for seed in fit_at}
        study = self

        class Spy(Ensemble):
            def __init__(self, *args: Any) -> None:
                super().__init__(*args)
                study.ensemble = self

            def train_step(self, rows: Callable) -> None:
                for run, rate in zip(self.runs, self.current_rate().tolist(), strict=True):
                    if run is not None:
                        study.rates[run.seed].append(rate)
                super().train_step(rows)

        monkeypatch.setattr(train_module, "Ensemble", Spy)

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return STUDY.batch(seed, index)

    def measure(self, predict: Predict) -> dict[str, Tensor]:
        steps = self.ensemble.step.tolist()
        fitted = [
            run is not None and step >= self.fit_at[run.seed] for run, step in zip(self.ensemble.runs, steps, strict=True)
        ]
        return {"test": torch.tensor([float(f) for f in fitted])}


FIT = {"schedule": "fit", "steps": 60, "warmup": 4, "hold": 10, "anneal": 20, "eval_every": 5, "start": 0.2, "final": 0.1}


def fit_rates(peak: float, anneal_from: int) -> Iterator[float]:
    """The rate at each step, restated: rise over 4 steps, hold, cosine over 20."""
    for step in range(anneal_from + 20):
        if step < 4:
            yield peak * (0.2 + 0.8 * step / 4)
        elif step < anneal_from:
            yield peak
        else:
            yield peak * (0.1 + 0.9 * (1 + math.cos(math.pi * (step - anneal_from) / 20)) / 2)


@pytest.mark.parametrize(
    ("fit_at", "fit_step", "anneal_from"),
    [(13, 15, 25), (5, 5, 15), (29, 30, 40), (33, 35, 40), (42, 45, 40), (10_000, None, 40)],
    ids=["fits", "at once", "hold just fits in", "step limit cuts the hold", "fits while annealing", "never fits"],
)
def test_fit_schedule_anneals_after_hold_and_ends_after_anneal(
    tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, fit_at: int, fit_step: int | None, anneal_from: int
) -> None:
    study = Scripted(monkeypatch, {0: fit_at})
    spec = tiny_spec(rate=2e-3, **FIT)
    (result,) = train([spec], study, options())
    assert result.fit_step == fit_step
    assert result.steps == anneal_from + 20
    assert result.status == ("unfitted" if fit_step is None else "fitted")
    assert study.rates[0] == pytest.approx(list(fit_rates(2e-3, anneal_from)), rel=1e-9)
    assert result.history["step"] == list(range(5, anneal_from + 21, 5))


def test_each_run_anneals_on_its_own_clock(tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs in two slots: the third starts when the first has finished, in its slot, with the warm-up of its own."""
    fit_at = {0: 5, 1: 25, 2: 15}
    anneal_from = {0: 15, 1: 35, 2: 25}
    study = Scripted(monkeypatch, fit_at)
    specs = [tiny_spec(seed=seed, rate=1e-3 * (seed + 1), **FIT) for seed in fit_at]
    results = list(train(specs, study, options(slots=2)))
    assert [(r.spec.seed, r.fit_step, r.steps) for r in results] == [(0, 5, 35), (1, 25, 55), (2, 15, 45)]
    for seed in fit_at:
        assert study.rates[seed] == pytest.approx(list(fit_rates(1e-3 * (seed + 1), anneal_from[seed])), rel=1e-9)


def test_cosine_schedule_runs_to_its_last_step(tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has fitted goes on; the rates are those of warm-up and cosine."""
    study = Scripted(monkeypatch, {0: 1})
    (result,) = train([tiny_spec(rate=1e-3, start=0.2, final=0.1)], study, options())
    assert (result.status, result.steps) == ("fitted", 20)
    expected = [1e-3 * (0.2 + 0.8 * s / 4) for s in range(4)]
    expected += [1e-3 * (0.1 + 0.9 * (1 + math.cos(math.pi * (s - 4) / 16)) / 2) for s in range(4, 20)]
    assert study.rates[0] == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------- shapes, slots, golden numbers


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 1},
        {"d_ff": 16},
        {"batch": 16},
        {"steps": 30},
        {"precision": "float32"},
        {"task": (("modulus", 9),)},
        {"version": 2},
        {"experiment": "other"},
    ],
    ids=lambda c: next(iter(c)),
)
def test_runs_of_differing_shapes_are_refused(tiny_spec: SpecFactory, change: dict[str, Any]) -> None:
    specs = [tiny_spec(), tiny_spec(**change)]
    with pytest.raises(ValueError, match="must agree in everything but gamma, seed, nudge, rate and decay"):
        next(train(specs, STUDY, options()))


def test_number_of_slots_halves_while_half_would_do() -> None:
    assert [slots_for(n, 8) for n in (1, 2, 3, 4, 5, 8, 9, 100)] == [1, 2, 4, 4, 8, 8, 8, 8]
    assert [slots_for(n, 6) for n in (1, 2, 3, 4, 6)] == [1, 3, 3, 6, 6]


def test_progress_is_reported_at_every_evaluation(tiny_spec: SpecFactory) -> None:
    seen: list[Progress] = []
    list(train([tiny_spec(), tiny_spec(seed=1), tiny_spec(seed=2)], STUDY, options(slots=2), on_step=seen.append))
    assert [(now.done, now.total) for now in seen] == [(0, 3), (2, 3), (2, 3), (3, 3)]
    assert set(seen[0].metrics) == {"test", "symmetric", "inferential", "train", "train_loss"}


GOLDEN_LOSS = [5.28943, 4.94813, 4.73346, 4.61865, 4.60690, 4.58100]
GOLDEN_NORM = 22.0525


def test_golden_numbers(tiny_spec: SpecFactory) -> None:
    """A change of meaning anywhere between spec and loss shows here: then raise the versions of the experiments."""
    spec = tiny_spec(gamma=0.6, seed=7, rate=1e-2, steps=60)
    result = run_all([spec])[spec]
    norm = math.sqrt(sum(w.double().square().sum().item() for w in result.weights.values()))
    assert result.history["loss"] == pytest.approx(GOLDEN_LOSS, abs=1e-3)
    assert norm == pytest.approx(GOLDEN_NORM, rel=1e-3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_a_compiler_that_fails_is_said_once_and_training_goes_on(
    tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """One that is found but cannot compile: the same numbers as without it."""
    from torch._inductor import compile_fx

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("it is raining")

    monkeypatch.setattr(machine, "said", set())
    monkeypatch.setattr(compile_fx, "compile_fx", fail)
    torch._dynamo.reset()
    how = {"device": "cpu", "bf16": False}
    (compiled,) = train([tiny_spec()], STUDY, Options(backend="compiled", **how))
    (eager,) = train([tiny_spec()], STUDY, Options(backend="eager", **how))
    assert compiled.program == "eager"
    assert compiled.history == eager.history
    words = capsys.readouterr().err
    assert "The compiler failed (" in words
    assert words.count("\n") == 1
