"""What the book consists of: every experiment and every claim of every study."""

from __future__ import annotations

from lib.chain_of_thought import claims as chain_of_thought
from lib.composition import claims as composition
from lib.core.read.claim import OURS, Claim
from lib.core.record.spec import SpecError
from lib.core.sweep.experiment import Experiment
from lib.in_context import claims as in_context
from lib.language import claims as language
from lib.reasoning_bias import claims as reasoning_bias

STUDIES = (composition, reasoning_bias, in_context, chain_of_thought, language)
EXPERIMENTS: dict[str, Experiment] = {e.name: e for study in STUDIES for e in study.EXPERIMENTS}
CLAIMS_OF: dict[str, tuple[Claim, ...]] = dict(sorted(chapter for study in STUDIES for chapter in study.CLAIMS_OF.items()))
"""The claims that each chapter tests."""
PAPERS: dict[str, str] = {name: said for study in STUDIES for name, said in study.PAPERS.items()} | OURS
"""The sources of claims, in the words of a table."""
CLAIMS: tuple[Claim, ...] = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)


def experiment(name: str) -> Experiment:
    """Raises SpecError, listing the experiments, for one that does not exist."""
    if name not in EXPERIMENTS:
        raise SpecError(f"unknown experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
