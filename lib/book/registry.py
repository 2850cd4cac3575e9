"""What the book consists of: every experiment and every claim of every study."""

from __future__ import annotations

from lib.composition import claims as composition_claims
from lib.composition import experiments as composition
from lib.composition.variations import VARIATIONS
from lib.core.claim import Claim
from lib.core.experiment import Experiment
from lib.core.spec import SpecError

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (composition.PHASE, *VARIATIONS)}
CLAIMS: tuple[Claim, ...] = (*composition_claims.CLAIMS,)


def experiment(name: str) -> Experiment:
    """Raises SpecError, listing the experiments, for one that does not exist."""
    if name not in EXPERIMENTS:
        raise SpecError(f"unknown experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
