"""What the book has of this study: its experiments, and every statement that is tested, by chapter."""

from __future__ import annotations

from lib.core.read.claim import Claim
from lib.reasoning_bias.attention import claims as attention
from lib.reasoning_bias.embeddings import claims as embeddings
from lib.reasoning_bias.experiments import EXPERIMENTS
from lib.reasoning_bias.memory_and_reasoning import claims as memory_and_reasoning

__all__ = ["CLAIMS_OF", "EXPERIMENTS", "PAPERS"]
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    "09-memory-and-reasoning": memory_and_reasoning.CLAIMS,
    "10-embeddings": embeddings.CLAIMS,
    "11-attention": attention.CLAIMS,
}
"""The claims that each chapter of this study tests."""
PAPERS: dict[str, str] = {
    "yao2025": "Yao et al. 2025",
}
"""The sources of these claims, in the words of a table."""
