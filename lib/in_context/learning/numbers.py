"""What the claims of chapter 12 ask of stored runs: projections, attention, neurons, gradients."""

from __future__ import annotations

import copy

import numpy as np

from lib.core.claim import Finding, graded
from lib.core.ensemble import at_start
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context import theory
from lib.in_context.experiments import train_specs
from lib.in_context.runs import fresh, history, lucky, neurons_at, row_size, snapshots, steps_to, task_of, trained
from lib.in_context.runs import large as large_rows
from lib.in_context.task import D_X

PAPER_ATTENTION, PAPER_STEP = 0.98, 120
"""Fig. 9, read off the plot: attention on the query's pattern, and the epoch by which it is there."""


def runs_of(store: Store, profile: str) -> list[StoredRun]:
    return load(train_specs(profile), store)


def ends(run: StoredRun) -> tuple[int, int]:
    """The first and the last step with neurons."""
    kept = sorted(snapshots(run))
    return kept[0], kept[-1]


def large_neurons(run: StoredRun) -> np.ndarray:
    """(m,) neurons whose trained row of W_O W_V is large."""
    return large_rows(row_size(neurons_at(run, ends(run)[1])))


def generalizes(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    if any(run.status == "diverged" for run in runs):
        raise LookupError("a run diverged and has no error")
    seen, unseen = (np.array([1 - run.metrics[name] for run in runs]) for name in ("seen", "unseen"))
    steps = [steps_to(run) for run in runs]
    learned = [s for s in steps if s is not None]
    return Finding(
        f"wrong on trained tasks {spread(seen, 4)}, on unseen tasks {spread(unseen, 4)}; held-out hinge loss of .1 after "
        f"{f'{np.mean(learned):.0f} steps on average' if learned else 'no number of steps'} ({len(learned)} of "
        f"{len(runs)} runs)",
        graded([bool(unseen.max() <= 0.01), bool((unseen - seen).max() <= 0.01)]),
        len(runs),
    )


def projections(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    grown, close, plateau, words = [], [], [], []
    for where in ("", "foreign "):
        for part in ("query", "key"):
            _, norm = history(runs, f"{where}{part} norm")
            _, along = history(runs, f"{where}{part} projection")
            grown.append(bool((norm[:, -1] >= 2 * norm[:, 0]).all()))
            close.append(bool((along[:, -1] >= 0.9 * norm[:, -1]).all()))
            plateau.append(bool((norm[:, -1] <= 1.1 * norm[:, norm.shape[1] // 2]).all()))
            words.append(
                f"{where}{part} {spread(norm[:, -1] / norm[:, 0], 1)} times, {spread(along[:, -1] / norm[:, -1])} along"
            )
    return Finding(
        "norms grow (out of domain: foreign) and lie along the pattern: " + "; ".join(words),
        graded([all(grown), all(close), all(plateau)]),
        len(runs),
    )


def attention(store: Store, profile: str, where: str = "") -> Finding:
    runs = runs_of(store, profile)
    steps, values = history(runs, f"{where}attention.1")
    at = min(int(np.searchsorted(steps, PAPER_STEP)), len(steps) - 1)
    return Finding(
        f"attention on the query's pattern {spread(values[:, 0])} at step {steps[0]}, "
        f"{spread(values[:, at])} at step {steps[at]}, "
        f"{spread(values[:, -1], 3)} at the end",
        graded([bool((values[:, -1] >= 0.9).all()), bool((values[:, -1] >= PAPER_ATTENTION).all())]),
        len(runs),
    )


def foreign_attention(store: Store, profile: str) -> Finding:
    return attention(store, profile, "foreign ")


def feature_half(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    first, last = (
        np.array([neurons_at(run, ends(run)[i])["feature angle"][large_neurons(run)].mean() for run in runs]) for i in (0, 1)
    )
    return Finding(
        f"mean angle of the large neurons to the mean pattern: {spread(first)} π at step {ends(runs[0])[0]}, "
        f"{spread(last)} π at "
        "the end",
        graded([bool((np.abs(first - 0.5) <= 0.05).all()), bool((last <= 0.2).all())]),
        len(runs),
    )


def label_angles(run: StoredRun) -> tuple[float, float]:
    """Mean angle to q of the large neurons with a > 0 and with a < 0, in units of π."""
    positive, big = trained(run).a.numpy() > 0, large_neurons(run)
    found = neurons_at(run, ends(run)[1])["label angle"]
    return float(found[big & positive].mean()), float(found[big & ~positive].mean())


def label_half(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    up, down = np.array([label_angles(run) for run in runs]).T
    return Finding(
        f"mean angle of the large neurons to q: {spread(up)} π for a > 0, {spread(down)} π for a < 0",
        graded([bool((up <= 0.25).all()), bool((down >= 0.75).all())]),
        len(runs),
    )


def luck_ratio(run: StoredRun) -> float:
    """Mean norm of the trained rows of lucky neurons over that of the others; NaN where one of the groups is empty."""
    size, mask = row_size(neurons_at(run, ends(run)[1])), lucky(run)
    return float(size[mask].mean() / size[~mask].mean()) if 0 < mask.sum() < len(mask) else float("nan")


def lucky_grow(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    share, ratio = np.array([lucky(run).mean() for run in runs]), np.array([luck_ratio(run) for run in runs])
    return Finding(
        f"{spread(share)} of the neurons are lucky; their trained rows are {spread(ratio)} times as long as those "
        "of the others",
        graded([bool((share >= 0.1).all()), bool((ratio >= 1.5).all())]),
        len(runs),
    )


def gradient_gap(run: StoredRun, query_too: bool, count: int = 100) -> float:
    """The largest deviation of a slide's gradient from automatic differentiation, over the largest entry of that gradient,
    before and after training; in double precision."""
    gaps = []
    drawn = fresh(task_of(run), run.spec.seed, count)
    prompts, z = drawn.prompt.double(), drawn.answer.double()
    for model in (at_start(run.spec), trained(run)):
        model = copy.deepcopy(model).double().requires_grad_(True)
        layer = model.layers[0]
        context = prompts if query_too else prompts[:, :-1]
        margin = layer(context[None], prompts[None, :, -1:])[0, :, 0] @ model.a
        (1 - z * margin).clamp(min=0).mean().backward()
        told = theory.gradients(theory.arrays(model), prompts.numpy(), z.numpy(), query_too)
        parts = {"W_O": layer.W_O, "W_V": layer.W_V, "W_K": layer.attention.W_K, "W_Q": layer.attention.W_Q}
        for name, part in parts.items():
            grad = part.weight.grad[0].numpy()
            gaps.append(np.abs(told[name] - grad).max() / max(np.abs(grad).max(), 1e-12))
    return float(max(gaps))


def gradients(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    gaps = [max(gradient_gap(run, query_too) for run in runs) for query_too in (False, True)]
    return Finding(
        f"largest relative deviation {gaps[0]:.0e} summed over the l columns of the context, {gaps[1]:.0e} over l + 1",
        graded([gap <= 1e-6 for gap in gaps]),
        len(runs),
    )


def first_push(run: StoredRun, count: int = 2000) -> np.ndarray:
    """(n,) the cosine of −∂L/∂W_Q p_query with the unit pattern of the query, before training, in the feature half."""
    drawn = fresh(task_of(run), run.spec.seed, count)
    prompts = drawn.prompt.double().numpy()
    pushed = -prompts[:, -1] @ theory.gradients(theory.arrays(at_start(run.spec)), prompts, drawn.answer.numpy())["W_Q"].T
    unit = task_of(run).patterns[drawn.pattern[:, -1]].double().numpy()
    return (pushed[:, :D_X] * unit).sum(1) / np.maximum(np.linalg.norm(pushed, axis=1), 1e-30)


def first_gradient(store: Store, profile: str) -> Finding:
    runs = runs_of(store, profile)
    found = np.array([first_push(run).mean() for run in runs])
    return Finding(
        f"mean cosine of the first push on W_Q p_query with the query's pattern {spread(found)}, between {found.min():.2f} and "
        f"{found.max():.2f}",
        graded([bool((found > 0).all()), bool((found >= 0.5).all())]),
        len(runs),
    )
