"""What the book consists of: every experiment and every claim of every study."""

from __future__ import annotations

from lib.chain_of_thought import claims as cot_claims
from lib.chain_of_thought import experiments as cot
from lib.composition import claims as composition_claims
from lib.composition import experiments as composition
from lib.composition.diagram import HEADLINE, PHASE
from lib.composition.paper_size import SIZE
from lib.composition.variations import VARIATIONS
from lib.core.claim import Claim
from lib.core.experiment import Experiment
from lib.core.spec import SpecError
from lib.in_context import claims as icl_claims
from lib.in_context import deeper_claims, domain_claims, pruning_claims, story_claims
from lib.in_context import experiments as icl
from lib.reasoning_bias import claims as bias_claims
from lib.reasoning_bias import experiments as bias

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (PHASE, HEADLINE, SIZE, composition.FAST, *VARIATIONS, *bias.EXPERIMENTS, *icl.EXPERIMENTS, *cot.EXPERIMENTS)
}
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    **composition_claims.CLAIMS_OF,
    "09-memory-and-reasoning": bias_claims.CHAPTER_09,
    "10-embeddings": bias_claims.CHAPTER_10,
    "11-attention": bias_claims.CHAPTER_11,
    "12-in-context": icl_claims.CHAPTER_12,
    "13-out-of-domain": domain_claims.CHAPTER_13,
    "14-pruning": pruning_claims.CHAPTER_14,
    **cot_claims.CLAIMS_OF,
    "16-deeper-models": deeper_claims.CHAPTER_16,
    "17-one-story": story_claims.CHAPTER_17,
}
"""The claims that each chapter tests."""
CLAIMS: tuple[Claim, ...] = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)


def experiment(name: str) -> Experiment:
    """Raises SpecError, listing the experiments, for one that does not exist."""
    if name not in EXPERIMENTS:
        raise SpecError(f"unknown experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
