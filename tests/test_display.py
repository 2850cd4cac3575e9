"""What is drawn: numbers to six digits, so that machines that round otherwise draw the same pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.book.display import rounded


@dataclass(frozen=True)
class Curve:
    name: str
    values: np.ndarray


@given(arrays(float, 6, elements=st.floats(-1e6, 1e6)))
def test_what_another_machine_rounds_otherwise_is_drawn_alike(values: np.ndarray) -> None:
    found = rounded({"curves": [Curve("one", values)], "level": float(values[0])})
    assert np.allclose(found["curves"][0].values, values, rtol=1e-5)
    assert rounded(found)["curves"][0].values.tolist() == found["curves"][0].values.tolist()  # once is enough
    assert found["level"] == pytest.approx(values[0], rel=1e-5)


def test_differences_in_the_seventh_digit_vanish() -> None:
    values = np.array([0.123456, -98765.4, 3.0e-9, 0.0, np.nan, np.inf])
    other = values * (1 + 1e-9)
    assert np.array_equal(rounded(values), rounded(other), equal_nan=True)
    assert rounded(values).tolist()[:4] == [0.123456, -98765.4, 3.0e-9, 0.0]  # what was short stays what it was
    assert torch.equal(rounded(torch.tensor([0.5, 1 / 3])), rounded(torch.tensor([0.5, 1 / 3 + 1e-8])))


def test_what_is_no_number_stays_itself() -> None:
    kept = Curve("one", np.arange(3))
    found = rounded((kept, "γ", 3, None, True))
    assert found[1:] == ("γ", 3, None, True)
    assert found[0].values.dtype == kept.values.dtype
    assert (found[0].name, found[0].values.tolist()) == ("one", [0, 1, 2])
    assert kept.values is not None  # the original is not touched
