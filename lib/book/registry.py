"""What the book consists of: every experiment and every claim of every study."""

from __future__ import annotations

from lib.chain_of_thought import claims as cot_claims
from lib.chain_of_thought import experiments as cot
from lib.composition import claims as composition_claims
from lib.composition import experiments as composition
from lib.composition.controls import CONTROLS
from lib.composition.diagram import HEADLINE, PHASE
from lib.composition.flip import CONFIRM, HYBRIDS, RANGE
from lib.composition.trajectories import PLAYED
from lib.composition.variations import VARIATIONS
from lib.core.read.claim import OURS, Claim
from lib.core.record.spec import SpecError
from lib.core.sweep.experiment import Experiment
from lib.in_context import claims as icl_claims
from lib.in_context import experiments as icl
from lib.language import claims as language_claims
from lib.language import experiments as language
from lib.reasoning_bias import claims as bias_claims
from lib.reasoning_bias import experiments as bias

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
CLAIMS_OF: dict[str, tuple[Claim, ...]] = dict(
    sorted(
        {
            **composition_claims.CLAIMS_OF,
            **bias_claims.CLAIMS_OF,
            **icl_claims.CLAIMS_OF,
            **cot_claims.CLAIMS_OF,
            **language_claims.CLAIMS_OF,
        }.items()
    )
)
"""The claims that each chapter tests."""
PAPERS: dict[str, str] = {
    **composition_claims.PAPERS,
    **bias_claims.PAPERS,
    **icl_claims.PAPERS,
    **cot_claims.PAPERS,
    **language_claims.PAPERS,
    **OURS,
}
"""The sources of claims, in the words of a table."""
CLAIMS: tuple[Claim, ...] = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)


def experiment(name: str) -> Experiment:
    """Raises SpecError, listing the experiments, for one that does not exist."""
    if name not in EXPERIMENTS:
        raise SpecError(f"unknown experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
