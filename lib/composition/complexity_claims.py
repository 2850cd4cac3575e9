"""Claims on condensation and complexity (chapter 5)."""

from __future__ import annotations

import numpy as np

from lib.composition import complexity
from lib.composition.analysis import SHADOW
from lib.composition.complexity_report import GROWN, aucs, fitted, growth, half_way, measures_of
from lib.composition.experiments import PHASE
from lib.composition.phases import material, weighty_specs
from lib.composition.variations import FLIP
from lib.core.claim import Claim, Finding, graded
from lib.core.store import Store
from lib.core.sweep import load


def _ends(name: str, rises: bool):  # noqa: ANN202
    """A check that a measure differs between the smallest and the largest initialization, by two standard errors, depth by
    depth."""

    def check(store: Store, profile: str) -> Finding:
        runs = fitted(load(weighty_specs(profile)[PHASE.name], store))
        runs = [r for r in runs if r.has_weights]
        if not runs:
            raise LookupError(f"no weights of the phase diagram are stored for the profile {profile!r}")
        words, parts = [], []
        for depth in sorted({r.spec.model.depth for r in runs}):
            here = [r for r in runs if r.spec.model.depth == depth]
            middle = np.median([r.spec.gamma for r in here])
            low = np.array([measures_of(r)[name] for r in here if r.spec.gamma < middle])
            high = np.array([measures_of(r)[name] for r in here if r.spec.gamma > middle])
            error = float(np.hypot(low.std(ddof=1) / len(low) ** 0.5, high.std(ddof=1) / len(high) ** 0.5))
            difference = float(high.mean() - low.mean())
            parts.append((difference if rises else -difference) > 2 * error)
            words.append(f"depth {depth}: {low.mean():.2f} → {high.mean():.2f} (difference {difference:+.2f} ± {error:.2f})")
        return Finding(
            f"{name}, γ below → above the middle of the grid: " + "; ".join(words),
            graded(parts),
            len({r.spec.seed for r in runs}),
        )

    return check


def _growth(store: Store, profile: str) -> Finding:
    runs = [r for r in load(FLIP.specs(profile), store) if r.metrics["test"] >= SHADOW]
    small = [r for r in runs if r.spec.gamma > np.median([q.spec.gamma for q in runs])] if runs else []
    if not small:
        raise LookupError("no run of small initialization has learned the seen pairs")
    steps = [np.array(growth(r), dtype=float) for r in small]
    order = [complexity.spearman(np.arange(len(g), dtype=float), g) for g in steps if len(g) > 2] or [0.0]
    first = [bool(len(g)) and g[0] == g.min() for g in steps]
    half = [a <= b for a, b in map(half_way, small)]
    last = [abs(r.history["eigenvalue 1"][-1] / r.history["eigenvalue 1"][-3] - 1) for r in small]
    return Finding(
        f"{sum(first)} of {len(small)} runs: no eigenvalue has grown {GROWN:g} times before the largest; rank correlation of "
        f"number and time {np.mean(order):+.2f} ± {np.std(order):.2f}; change in the last two evaluations {np.mean(last):.1%}. "
        f"Half of its final value the largest has no later than the second in {sum(half)} runs",
        graded([np.mean(first) > 0.5, bool(np.mean(order) > 0.5), bool(np.mean(last) < 0.05)]),
        len({r.spec.seed for r in small}),
    )


def _order(store: Store, profile: str) -> Finding:
    runs = fitted(material(store, profile))
    found = aucs(runs)
    if not found:
        raise LookupError("one of the two phases has no decided run with weights")
    gamma = found.pop("γ")
    best = max(found, key=lambda n: abs(found[n][0] - 0.5))
    apart = abs(found[best][0] - 0.5) > abs(gamma[0] - 0.5)
    informs = not found[best][1] <= 0.5 <= found[best][2]
    clear = found[best][1] > gamma[2] or found[best][2] < gamma[1]
    return Finding(
        f"γ {gamma[0]:.2f} [{gamma[1]:.2f}, {gamma[2]:.2f}]; best measure, {best}, "
        f"{found[best][0]:.2f} [{found[best][1]:.2f}, {found[best][2]:.2f}]",
        graded([apart and informs, apart and clear]),
        len({r.spec.seed for r in runs}),
    )


def _claim(id: str, item: str, statement: str, reported: str, criterion: str, check, paper: str = "zhang2024") -> Claim:  # noqa: ANN001
    return Claim(id, paper, item, statement, reported, criterion, check)


_SEEN = "a grid of one model a cell"
_APART = "mean above the middle γ against below, at every depth, by two standard errors"
CHAPTER_05 = (
    _claim(
        "condensation",
        "Figs 5a, b, 10",
        "At small initialization the neurons of the first query matrix condense onto few directions.",
        _SEEN,
        f"condensation rises with γ: {_APART}",
        _ends("condensation of W_Q(1)", rises=True),
    ),
    _claim(
        "embedding-order",
        "Figs 5c, d, 11",
        "At small initialization the embedding of numbers is ordered.",
        _SEEN,
        f"order of the embedding rises with γ: {_APART}",
        _ends("order of the embedding", rises=True),
    ),
    _claim(
        "embedding-eigenvalues",
        "Fig 12a",
        "At small initialization few eigenvalues of the embedding's covariance are large.",
        "one spectrum for each γ",
        f"effective dimension falls with γ: {_APART}",
        _ends("embedding's effective dimension", rises=False),
    ),
    _claim(
        "eigenvalue-growth",
        "Fig 12b",
        "At small initialization the largest eigenvalue grows first, then the others, then growth stops.",
        "one run",
        "above the middle γ, mostly: the largest grows threefold first; number and time correlate by .5; last change below 5 %",
        _growth,
    ),
    _claim(
        "stable-rank",
        "Fig 13; stable rank",
        "The smaller the initialization, the lower the rank of the weights.",
        "singular values of two runs",
        f"mean stable rank falls with γ: {_APART}",
        _ends("mean stable rank", rises=False),
        "zhang2025",
    ),
    _claim(
        "order-parameter",
        "order parameter",
        "The complexity of the weights foretells the answer better than γ does.",
        "not reported; our question",
        "the best of five AUCs is further from 0.5 than γ's and its interval excludes 0.5; fully if the two do not overlap",
        _order,
        "ours",
    ),
)
