"""Every statement of Yao et al. 2025 on the synthetic task that the book tests, chapter by chapter."""

from __future__ import annotations

from lib.core.read.claim import Claim
from lib.reasoning_bias.attention import claims as attention
from lib.reasoning_bias.embeddings import claims as embeddings
from lib.reasoning_bias.memory_and_reasoning import claims as memory_and_reasoning

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
