"""What the theory of Yao et al. 2025 says of embeddings, as functions to be laid beside measurements.

Tokens are numbers; d_vob is the size of the vocabulary, d_m the width of the embedding. Rows of a matrix are tokens.
"""

from __future__ import annotations

import math

import numpy as np

from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, MEMORY, REASONING, VOCAB


def label_distribution(token: int, vocab: int = VOCAB) -> np.ndarray:
    """(vocab,) P^s of an anchor: how the labels of sequences with the token s are distributed (Prop. 1), exactly.

    Memory anchors: uniform on the keys' range. Reasoning anchors: s + Z + A for an independent key Z and other anchor A, both
    uniform; the two held-out pairs are counted as if they were there, which changes P^11 and P^13 by a percent. Raises
    ValueError for a token that is no anchor.
    """
    found = np.zeros(vocab)
    keys = np.arange(FIRST_KEY, LAST_KEY + 1)
    if token in MEMORY:
        found[keys] = 1 / len(keys)
    elif token in REASONING:
        for other in REASONING:
            found[keys + other + token] += 1 / (len(keys) * len(REASONING))
    else:
        raise ValueError(f"{token} is no anchor: use {MEMORY[0]} to {REASONING[-1]}.")
    return found


SPREAD = math.sqrt(6)
"""σ_P of Theorem 1 as the paper plots it (Eq. 14); the theorem (Eq. 12) leaves it free. The labels' standard deviation is about
29: a shape that was fitted, not derived."""


def fitted_shape(token: int, width: int, spread: float = SPREAD) -> np.ndarray:
    """(width,) the embedding of a reasoning anchor s by Theorem 1 without its noise (Eqs 12 and 14):
    exp(−(i − s)²/2σ²) − 1/d_m; σ is `spread`."""
    i = np.arange(width)
    return np.exp(-((i - token) ** 2) / (2 * spread**2)) - 1 / width
