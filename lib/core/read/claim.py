"""A claim: a statement of a source, and a function from stored results to whether it holds here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lib.core.record.store import Store

OURS = {"ours": "this book"}
"""The source of claims that no paper makes; papers are named by the studies that read them."""
REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_RUN = "reproduced", "partly", "not reproduced", "not run"
STATUSES = (REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_RUN)


class Grade(str):
    """A status that knows which named parts of its criterion do not hold, `failed`."""

    failed: tuple[str, ...]

    def __new__(cls, status: str, failed: Sequence[str] = ()) -> Grade:
        grade = super().__new__(cls, status)
        grade.failed = tuple(failed)
        return grade


@dataclass(frozen=True)
class Finding:
    """What a check found: the measured value in words, its status, and on how many seeds (0 where none are involved)."""

    measured: str
    status: str
    n_seeds: int = 0

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {STATUSES}, got {self.status!r}.")

    @property
    def failed(self) -> tuple[str, ...]:
        """The named parts of the criterion that do not hold."""
        return self.status.failed if isinstance(self.status, Grade) else ()


@dataclass(frozen=True)
class Claim:
    """`check(store, profile)` computes the finding; it raises LookupError itself (no KeyError or IndexError) where the results
    that it needs are not stored.

    `by_construction`: it tests the task itself, on which no trained model has a say, and so must not count as a result.
    `revised`: where the criterion is not the first one, why it was replaced. Results of the former were known by then.
    """

    id: str
    paper: str
    item: str
    statement: str
    reported: str
    criterion: str
    check: Callable[[Store, str], Finding]
    by_construction: bool = False
    revised: str = ""

    def evaluate(self, store: Store, profile: str) -> dict[str, Any]:
        """The claim with what was measured, as plain data."""
        try:
            finding = self.check(store, profile)
        except (IndexError, KeyError):
            raise  # a mistake, not a missing result
        except LookupError as error:
            finding = Finding(str(error).strip("'\""), NOT_RUN)
        return {
            "id": self.id,
            "paper": self.paper,
            "item": self.item,
            "statement": self.statement,
            "reported": self.reported,
            "criterion": self.criterion,
            "measured": finding.measured,
            "status": str(finding.status),
            "profile": profile,
            "n_seeds": finding.n_seeds,
            "failed": list(finding.failed),
            "by_construction": self.by_construction,
            "revised": self.revised,
        }


def graded(parts: Mapping[str, bool], given: Mapping[str, bool] | None = None) -> Grade:
    """Reproduced if every part holds, partly if some do, not reproduced if none does. What has to be `given` before a part can
    say anything, such as that runs have learned, earns nothing by holding, and stands among what failed where it does not. The
    names say, in the words of the criterion, what has to hold: the grade tells which failed."""
    if not parts:
        return Grade(NOT_RUN)
    failed = [name for name, held in parts.items() if not held]
    missing = [name for name, held in (given or {}).items() if not held]
    if len(failed) == len(parts):
        return Grade(NOT_REPRODUCED, missing + failed)
    return Grade(PARTLY if failed or missing else REPRODUCED, missing + failed)
