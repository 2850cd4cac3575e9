"""Counter-based random integers: a draw is a pure function of its seed and its place.

A generator with state would have to be saved, restored and kept apart for every run of an ensemble. Here the k-th draw of
a stream is a hash of (seed, stream, k), so a batch can be made on any device, in any order, and resuming needs no more than
the step number. The hash is the finalizer of SplitMix64 (Steele, Lea and Flood 2014), applied once to the key of the stream
and once to the counter.
"""

from __future__ import annotations

from jaxtyping import Int
from torch import Tensor

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit integer
_MIX1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
_MIX2 = -7723592293110705685  # 0x94D049BB133111EB


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift of int64 (torch's own is arithmetic)."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix(x: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """Hash int64 to int64, a bijection with full avalanche."""
    x = x + _GOLDEN
    x = (x ^ _shift(x, 30)) * _MIX1
    x = (x ^ _shift(x, 27)) * _MIX2
    return x ^ _shift(x, 31)


def randint(
    seed: Int[Tensor, "*#shape"], stream: int, index: Int[Tensor, "*#shape"], high: int | Int[Tensor, "*#shape"]
) -> Int[Tensor, "*#shape"]:
    """Uniform integers in [0, high), one for each entry of `seed` and `index` broadcast together.

    `high` may be a tensor of limits, at most 2**31 each; the deviation from uniformity is below high / 2**31.
    """
    bits = _shift(mix(mix(seed * 1_000_003 + stream) + index), 33)
    return (bits * high) >> 31
