"""What the book has of this study: its experiments, and every statement that is tested, by chapter."""

from __future__ import annotations

from lib.chain_of_thought.chain.claims import CLAIMS
from lib.chain_of_thought.experiments import EXPERIMENTS
from lib.core.read.claim import Claim

__all__ = ["CLAIMS_OF", "EXPERIMENTS", "PAPERS"]
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {"15-chain-of-thought": CLAIMS}
PAPERS: dict[str, str] = {
    "li2025cot": "Li et al. 2025",
}
"""The sources of these claims, in the words of a table."""
