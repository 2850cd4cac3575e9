"""Timings that were measured, as benchmarks/ keeps them."""

from __future__ import annotations

import json
from typing import Any

from lib.book.paths import ROOT, note_read

FOLDER = ROOT / "benchmarks"


def load(name: str) -> Any:
    """A record of benchmarks/. Raises LookupError where it was not measured yet."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise LookupError(f"benchmarks/{name}.json is not there: measure it first, see benchmarks/README.md.")
    note_read(path)
    return json.loads(path.read_text())
