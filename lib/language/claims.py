"""What the book has of this study: its experiments, and every statement that is tested, by chapter."""

from __future__ import annotations

from lib.core.read.claim import Claim
from lib.language.addition import claims as addition
from lib.language.experiments import EXPERIMENTS
from lib.language.mixture import claims as mixture
from lib.language.prontoqa import claims as prontoqa
from lib.language.scan_cogs import claims as scan_cogs

__all__ = ["CLAIMS_OF", "EXPERIMENTS", "PAPERS"]
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    "19-addition": addition.CLAIMS,
    "20-scan-and-cogs": scan_cogs.CLAIMS,
    "21-prontoqa": prontoqa.CLAIMS,
    "22-questions-and-stories": mixture.CLAIMS,
}
"""The claims that each chapter of this study tests."""
PAPERS: dict[str, str] = {}
"""Sources of these claims that no other study has, in the words of a table."""
