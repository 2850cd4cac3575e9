"""Where the project's parts are, wherever a command is called from."""

from __future__ import annotations

import os
from pathlib import Path

from lib.book.recall import ROOT, STORE_VARIABLE, store_root
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, StoreError

BOOK = ROOT / "book"
READS_VARIABLE = "REASON_OR_MEMORIZE_READS"
"""Names a file in which a chapter's store notes what it reads; set while the book's build executes it."""


class RecordingStore(Store):
    """A store that notes in a file what is read from it, and what was not there."""

    def __init__(self, root: Path | str, reads: Path) -> None:
        super().__init__(root)
        self._reads = reads
        self._noted: set[Path] = set()

    def get(self, spec: RunSpec) -> StoredRun | None:
        run = super().get(spec)
        if run is None:
            note_read(self.path(spec), self._reads, MISSED)
        return run

    def read(self, path: Path) -> StoredRun:
        run = super().read(path)
        if path not in self._noted:
            self._noted.add(path)
            note_read(path, self._reads)
        return run


MISSED = "missed "
"""Stands before a result that was looked for and not there."""


def note_read(path: Path, reads: Path | None = None, how: str = "") -> None:
    """Note a file of results in the log of the execution, if there is one."""
    log = reads or os.environ.get(READS_VARIABLE)
    if log:
        with Path(log).open("a") as lines:
            lines.write(f"{how}{path.absolute()}\n")


def default_store() -> Store:
    """The committed store, or the folder that the variable REASON_OR_MEMORIZE_STORE names.

    Raises StoreError where something else is in its place; a folder that is not there yet is an empty store.
    """
    root = store_root()
    if os.path.lexists(root) and not os.path.isdir(root):
        raise StoreError(f"the store {root} is not a folder: move it away, or let {STORE_VARIABLE} name another place.")
    reads = os.environ.get(READS_VARIABLE)
    return RecordingStore(root, Path(reads)) if reads else Store(root)
