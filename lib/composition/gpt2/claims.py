"""Claims on GPT-2's architecture (chapter 8)."""

from __future__ import annotations

from lib.composition.runs import MAPPINGS, REGION, learned_among
from lib.composition.trends import BY_GAMMA, curves, slope
from lib.composition.variations import GPT2
from lib.core.read.claim import Claim, Finding, graded
from lib.core.record.store import Store, load


def _gpt2(norm: str):  # noqa: ANN202
    """A check of Fig. 2c: symmetric at some γ, inferential at a larger one, by the mean over seeds."""

    def check(store: Store, profile: str) -> Finding:
        runs = [r for r in load(GPT2.specs(profile), store) if r.spec.model.norm == norm]
        shares = curves(runs)
        gammas = shares["test"][0]
        best = {m: int(shares[m][1].mean(1).argmax()) for m in MAPPINGS}
        value = {m: float(shares[m][1].mean(1)[best[m]]) for m in MAPPINGS}
        ordered = gammas[best["symmetric"]] < gammas[best["inferential"]]
        words = "; ".join(f"{m} at most {value[m]:.2f} (γ = {gammas[best[m]]:g})" for m in MAPPINGS)
        s, low, high = slope(learned_among(runs) or runs, BY_GAMMA, "inferential")
        return Finding(
            f"{words}; rank correlation of γ and the inferential share {s:+.2f} [{low:+.2f}, {high:+.2f}]",
            graded(
                {
                    f"symmetric at least {REGION:g}, at the smaller γ": bool(value["symmetric"] >= REGION and ordered),
                    f"inferential at least {REGION:g}, at the larger γ": bool(value["inferential"] >= REGION and ordered),
                    "inferential share rises with γ": low > 0,
                }
            ),
            len({r.spec.seed for r in runs}),
        )

    return check


CHAPTER_08 = (
    Claim(
        "gpt2-post",
        "zhang2024",
        "Fig 2c",
        "GPT-2 (post-norm) answers symmetrically at large and inferentially at small initialization.",
        "accuracies against γ, four runs each",
        "best mean of each answer at least .95, symmetric at the smaller γ; inferential share rises with γ",
        _gpt2("post"),
    ),
    Claim(
        "gpt2-pre",
        "zhang2024",
        "Fig 2c",
        "The pre-norm variant agrees.",
        "in the text",
        "the same",
        _gpt2("pre"),
    ),
)
