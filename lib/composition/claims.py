"""What the book has of this study: its experiments, and every statement of its sources that is tested, by chapter."""

from __future__ import annotations

from lib.composition.condensation.claims import CHAPTER_05
from lib.composition.controls import CONTROLS
from lib.composition.diagram import HEADLINE, PHASE
from lib.composition.experiments import FAST
from lib.composition.flip import CONFIRM, HYBRIDS, RANGE
from lib.composition.gpt2.claims import CLAIMS as CHAPTER_08
from lib.composition.information_flow.claims import CHAPTER_03
from lib.composition.phase_diagram.claims import CHAPTER_02
from lib.composition.rate_decay_data.claims import CLAIMS as CHAPTER_06
from lib.composition.the_task.claims import CLAIMS as CHAPTER_01
from lib.composition.trajectories import PLAYED
from lib.composition.variations import VARIATIONS
from lib.composition.vectors.claims import CHAPTER_04
from lib.composition.width.claims import CLAIMS as CHAPTER_07
from lib.core.read.claim import Claim
from lib.core.sweep.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (PHASE, HEADLINE, RANGE, CONFIRM, HYBRIDS, *CONTROLS, FAST, *VARIATIONS, PLAYED)
CLAIMS_OF: dict[str, tuple[Claim, ...]] = {
    "01-the-task": CHAPTER_01,
    "02-phase-diagram": CHAPTER_02,
    "03-information-flow": CHAPTER_03,
    "04-vectors": CHAPTER_04,
    "05-condensation": CHAPTER_05,
    "06-rate-decay-data": CHAPTER_06,
    "07-width": CHAPTER_07,
    "08-gpt2": CHAPTER_08,
}
PAPERS: dict[str, str] = {
    "zhang2024": "Zhang et al. 2024",
    "zhang2024slides": "Zhang 2024, talk",
    "zhang2025": "Zhang et al. 2025",
}
"""The sources of these claims, in the words of a table."""
