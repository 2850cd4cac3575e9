"""What the study trains: nothing yet. Its tasks come first, each tested against its published definition."""

from __future__ import annotations

from lib.core.sweep.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
