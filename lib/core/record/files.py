"""Files that are there whole or not at all, and words for why one could not be written."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename. Raises OSError; what was at `path` is then still there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".writing-{path.stem}-", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def reason(error: OSError) -> str:
    """Why the system refused, for a sentence to a person."""
    return "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
