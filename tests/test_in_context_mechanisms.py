"""Pruning, three layers, and the story of copying: on models and runs that are planted every number can be worked out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from torch import Tensor

from lib.core.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED, Claim
from lib.core.ensemble import at_start
from lib.core.spec import RunSpec
from lib.core.store import Store, StoredRun
from lib.in_context import analysis, deeper_claims, deeper_figures, deeper_report, pruning_checks, pruning_figures
from lib.in_context import pruning_report, story_claims, story_figures, story_report
from lib.in_context.deeper_claims import NO_SKIP, THEORY
from lib.in_context.experiments import deep_specs, one_layer, story_specs, train_specs, SETTINGS
from lib.in_context.models import OneLayer, signs
from lib.in_context.pruning_checks import RATES, SHARES, Cost, cost, kept
from lib.in_context.study import make_study
from lib.in_context.task import D_X, Task, no_match_floor

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in (*pruning_checks_claims(), *deeper_claims.CHAPTER_16, *story_claims.CHAPTER_17)
} if False else {}
