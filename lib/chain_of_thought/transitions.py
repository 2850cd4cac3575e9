"""Examples that err: matrices of the probabilities with which a step goes from one pattern to another (Li et al. 2025).

A_k (M', M') holds in row i the probabilities of the outputs of step k from pattern i; the correct output is the most probable.
A path may err at every step and still the correct step is the most frequent one. What need not hold is that the correct *end*
is the most frequent end: B = A_1 A_2 … A_K adds the paths up (Condition 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lib.core.record.spec import SpecError, check_count, check_number


@dataclass(frozen=True)
class Transitions:
    """`matrices` (K, M', M'), rows are probabilities. Raises SpecError for rows that are none, or without one correct
    output."""

    matrices: Tensor

    def __post_init__(self) -> None:
        a = self.matrices
        if a.dim() != 3 or a.shape[1] != a.shape[2] or bool((a < 0).any()) or not torch.allclose(a.sum(-1), a.new_ones(())):
            raise SpecError("transition matrices must be (K, M', M') with rows of probabilities that sum to 1.")
        if a.shape[1] > 1 and bool((a.topk(2, -1).values.diff(dim=-1) > -1e-9).any()):
            raise SpecError("every row of a transition matrix needs one output that is more probable than all others.")

    @property
    def steps(self) -> int:
        return len(self.matrices)

    @property
    def count(self) -> int:
        """M', how many patterns there are."""
        return self.matrices.shape[1]

    @property
    def paths(self) -> Tensor:
        """(M', K + 1) the correct path from every start: the most probable output, step by step."""
        found = [torch.arange(self.count)]
        for matrix in self.matrices:
            found.append(matrix.argmax(-1)[found[-1]])
        return torch.stack(found, -1)

    @property
    def product(self) -> Tensor:
        """(M', M') B, the probabilities of ends given starts."""
        return torch.linalg.multi_dot(list(self.matrices)) if self.steps > 1 else self.matrices[0]

    @property
    def tau(self) -> float:
        """τ: over all starts the smallest probability of the most probable path."""
        best = torch.ones(self.count, dtype=self.matrices.dtype)
        for matrix in self.matrices.flip(0):
            best = (matrix * best).amax(-1)
        return best.min().item()

    @property
    def gap(self) -> float:
        """ρ: over all steps and patterns the least by which the correct output is more probable than any other."""
        top = self.matrices.topk(2, -1).values
        return (top[..., 0] - top[..., 1]).min().item()

    @property
    def tau_o(self) -> float:
        """τ_o: over all starts the smallest probability of the most probable end."""
        return self.product.amax(-1).min().item()

    @property
    def holds(self) -> Tensor:
        """(M',) Condition 1 for each start: is the correct end the most probable one?"""
        return self.product.argmax(-1) == self.paths[:, -1]


def worked_example() -> Transitions:
    """The talk's matrices, for two patterns and two steps: Condition 1 fails from the first pattern and holds from the
    second."""
    first, second = [[0.6, 0.4], [0.4, 0.6]], [[0.4, 0.6], [0.8, 0.2]]
    return Transitions(torch.tensor([first, second], dtype=torch.float64))


def step_shares(steps: int, first: float = 0.0) -> list[float]:
    """K numbers that sum to 1: step k is correct with probability τ to the power of its share. All are alike at first = 0; else
    the first step has the share `first` and the others the rest. Raises SpecError for a share outside [0, 1)."""
    if not 0 <= check_number("first", first) < 1:
        raise SpecError(f"first must be a share of at least 0 and below 1, got {first!r}.")
    if not first or steps == 1:
        return [1 / steps] * steps
    return [first] + [(1 - first) / (steps - 1)] * (steps - 1)


def jumping(
    count: int, steps: int, tau: float, jumps: Sequence[Sequence[int]], competitors: int = 1, first: float = 0.0
) -> Transitions:
    """Step k is correct with probability τ to the power of its share (`step_shares`); an error there jumps from the path of
    start i to that of another, the start `jumps`[k][i] further on (counted around), or with equal probability to one of
    `competitors` from there on.

    Correct paths stay at their start's number: a prompt relabels the patterns of every step. Raises SpecError for what is no
    probability, and where an error would be as probable as the correct step.
    """
    for name, value, low in (("count", count, 2), ("steps", steps, 1), ("competitors", competitors, 1)):
        check_count(name, value, low)
    if not 0 < check_number("tau", tau) <= 1:
        raise SpecError(f"tau must lie above 0 and be at most 1, got {tau!r}.")
    rights = [tau**share for share in step_shares(steps, first)]
    if competitors >= count or (1 - min(rights)) / competitors >= min(rights):
        raise SpecError(
            f"tau = {tau:g} over {steps} steps leaves a correct step {min(rights):.2f}: use a larger tau, and "
            f"between 1 and {count - 1} competitors, got {competitors}."
        )
    start = torch.arange(count)
    matrices = torch.stack([right * torch.eye(count, dtype=torch.float64) for right in rights])
    for matrix, right, jump in zip(matrices, rights, jumps, strict=True):
        for offset in range(competitors):
            to = (start + 1 + (torch.tensor(jump) - 1 + offset) % (count - 1)) % count
            matrix[start, to] += (1 - right) / competitors
    return Transitions(matrices)


def reconverging(count: int, steps: int, tau: float, starts: int = 0) -> Transitions:
    """Without Condition 1: every error jumps by one, so that all paths with one error reach one wrong end. With `starts` this
    is so from the first starts only, and errors from the others jump as in `parting`. Raises SpecError for a τ at which that
    end is less probable than the correct one, or where the others do not keep the condition."""
    check_count("starts", starts, 0, count)
    failing = torch.arange(count) < (starts or count)
    found = jumping(count, steps, tau, [[1 if fails else 2**k for fails in failing.tolist()] for k in range(steps)])
    if bool((found.holds & failing).any()):
        raise SpecError(f"Condition 1 fails only for tau below {widest_tau(steps):.3f} at {steps} steps, got {tau:g}.")
    if lost := int((~(found.holds | failing)).sum()):
        raise SpecError(f"Condition 1 fails from {lost} of the other {count - starts} starts, too: use more patterns or steps.")
    return found


def parting(count: int, steps: int, tau: float, competitors: int = 1, first: float = 0.0) -> Transitions:
    """With Condition 1: errors at different steps jump by 1, 2, 4, …, so that no two wrong paths meet while there are patterns
    enough. Raises SpecError where they do meet and the correct end is not the most probable one."""
    found = jumping(count, steps, tau, [[2**k] * count for k in range(steps)], competitors, first)
    if not bool(found.holds.all()):
        raise SpecError(
            f"Condition 1 does not hold with {count} patterns and {steps} steps at tau = {tau:g}: use a larger tau."
        )
    return found


def widest_tau(steps: int) -> float:
    """Below it the ends of `reconverging` break Condition 1: K p^(K−1) (1 − p) > p^K for p < K / (K + 1)."""
    return (steps / (steps + 1)) ** steps
