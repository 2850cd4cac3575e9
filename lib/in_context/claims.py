"""What the book has of this study: its experiments, and every statement that is tested, by chapter."""

from __future__ import annotations

from lib.core.read.claim import Claim
from lib.in_context.baselines.claims import CLAIMS as BASELINES
from lib.in_context.deeper.claims import CLAIMS as DEEPER
from lib.in_context.experiments import EXPERIMENTS
from lib.in_context.learning.claims import CLAIMS as LEARNING
from lib.in_context.out_of_domain.claims import CLAIMS as OUT_OF_DOMAIN
from lib.in_context.pruning.claims import CLAIMS as PRUNING
from lib.in_context.story.claims import CLAIMS as STORY

__all__ = ["CLAIMS_OF", "EXPERIMENTS", "PAPERS"]
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    "12-in-context": LEARNING,
    "13-out-of-domain": OUT_OF_DOMAIN,
    "14-pruning": PRUNING,
    "16-deeper-models": DEEPER,
    "17-one-story": STORY,
    "18-classical-learners": BASELINES,
}
PAPERS: dict[str, str] = {
    "li2024talk": "Li 2024",
    "li2024nonlinear": "Li et al. 2024",
}
"""The sources of these claims, in the words of a table."""
