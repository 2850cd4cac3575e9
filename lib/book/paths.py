"""Where the project's parts are, wherever a command is called from."""

from __future__ import annotations

import os
from pathlib import Path

from lib.core.store import Store

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
BUILD = ROOT / "_build"
STORE_VARIABLE = "REASON_OR_MEMORIZE_STORE"


def default_store() -> Store:
    """The committed store, or the folder that the variable REASON_OR_MEMORIZE_STORE names."""
    return Store(os.environ.get(STORE_VARIABLE) or ROOT / "results")
