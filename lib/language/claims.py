"""Every statement on language and other real tasks that the book tests, chapter by chapter."""

from __future__ import annotations

from lib.core.read.claim import Claim
from lib.language.adding import claims as adding
from lib.language.asking import claims as asking
from lib.language.commands import claims as commands
from lib.language.mixing import claims as mixing

CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    "19-addition": adding.CLAIMS,
    "20-scan-and-cogs": commands.CLAIMS,
    "21-prontoqa": asking.CLAIMS,
    "22-questions-and-stories": mixing.CLAIMS,
}
"""The claims that each chapter of this study tests."""
PAPERS: dict[str, str] = {}
"""Sources of these claims that no other study has, in the words of a table."""
