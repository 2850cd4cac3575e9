"""What the book consists of: every experiment and every claim of every study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lib.chain_of_thought import experiments as cot
from lib.composition import experiments as composition
from lib.composition.controls import CONTROLS
from lib.composition.diagram import HEADLINE, PHASE
from lib.composition.flip import CONFIRM, HYBRIDS, RANGE
from lib.composition.trajectories import PLAYED
from lib.composition.variations import VARIATIONS
from lib.core.record.spec import SpecError
from lib.core.sweep.experiment import Experiment
from lib.in_context import experiments as icl
from lib.language import experiments as language
from lib.reasoning_bias import experiments as bias

if TYPE_CHECKING:
    from lib.core.read.claim import Claim

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        PHASE,
        HEADLINE,
        RANGE,
        CONFIRM,
        HYBRIDS,
        *CONTROLS,
        composition.FAST,
        *VARIATIONS,
        PLAYED,
        *bias.EXPERIMENTS,
        *icl.EXPERIMENTS,
        *cot.EXPERIMENTS,
        *language.EXPERIMENTS,
        bias.AGAIN,
        icl.AGAIN,
    )
}
CLAIMS_OF: dict[str, tuple[Claim, ...]]
"""The claims that each chapter tests."""
PAPERS: dict[str, str]
"""The sources of claims, in the words of a table."""
CLAIMS: tuple[Claim, ...]


def __getattr__(name: str) -> Any:
    """What is said of claims, once it is asked for: their analyses take a second to import."""
    if name not in ("CLAIMS_OF", "PAPERS", "CLAIMS"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lib.chain_of_thought import claims as cot
    from lib.composition import claims as composition
    from lib.core.read.claim import OURS
    from lib.in_context import claims as icl
    from lib.language import claims as language
    from lib.reasoning_bias import claims as bias

    studies = (composition, bias, icl, cot, language)
    of = dict(sorted((chapter, claims) for study in studies for chapter, claims in study.CLAIMS_OF.items()))
    papers = {source: words for study in studies for source, words in study.PAPERS.items()} | OURS
    globals().update(CLAIMS_OF=of, PAPERS=papers, CLAIMS=tuple(claim for claims in of.values() for claim in claims))
    return globals()[name]


def experiment(name: str) -> Experiment:
    """Raises SpecError, listing the experiments, for one that does not exist."""
    if name not in EXPERIMENTS:
        raise SpecError(f"unknown experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
