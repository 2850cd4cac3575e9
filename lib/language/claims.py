"""What is claimed of language, by chapter: nothing before there are results."""

from __future__ import annotations

from lib.core.read.claim import Claim

CLAIMS_OF: dict[str, tuple[Claim, ...]] = {}
PAPERS: dict[str, str] = {}
"""The sources of these claims, in the words of a table."""
