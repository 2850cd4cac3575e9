"""What `status` said the last time, for as long as no file that it rests on has changed.

Nothing is imported that takes long: to find that nothing has changed is a matter of a tenth of a second, to read all results
anew one of seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from lib.core.record.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
STORE_VARIABLE = "REASON_OR_MEMORIZE_STORE"
BUILD = ROOT / "_build"
PLACE = BUILD / "status.json"


def store_root() -> Path:
    """The folder of the committed store, or the one that the variable REASON_OR_MEMORIZE_STORE names."""
    return Path(os.path.expanduser(os.environ.get(STORE_VARIABLE) or ROOT / "results"))


def fingerprint(kind: str) -> str:
    """A digest of the kind of question, and of the path, size and times of every file of the code and of every result."""
    store = store_root().absolute()
    found = [f"{kind} of {store}, {os.path.lexists(store)} {store.is_dir()}"]
    for path in (*Path(__file__).parents[1].rglob("*.py"), *store.glob("*/[!.]*.json")):
        with contextlib.suppress(OSError):  # a link that leads nowhere, or a file that has just gone
            info = path.stat()
            found.append(f"{path} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}")
    return hashlib.sha256("\n".join(sorted(found)).encode(errors="surrogateescape")).hexdigest()


def recalled(now: str) -> str | None:
    """What was said when the fingerprint was this one; None where that is not known."""
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(PLACE.read_text())
        if isinstance(kept, dict) and kept.get("fingerprint") == now and isinstance(kept.get("said"), str):
            return kept["said"]
    return None


def keep(now: str, said: str) -> None:
    """For the next time, where this folder can be written."""
    with contextlib.suppress(OSError):
        PLACE.parent.mkdir(exist_ok=True)
        write_atomically(PLACE, json.dumps({"fingerprint": now, "said": said}).encode())
