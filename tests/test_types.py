"""What annotations say of lib/ is so, as far as pyright can tell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYRIGHT = shutil.which("basedpyright", path=Path(sys.executable).parent)


def checked(*paths: Path) -> subprocess.CompletedProcess:
    assert PYRIGHT is not None
    return subprocess.run([PYRIGHT, *map(str, paths)], cwd=ROOT, capture_output=True, text=True)


def test_annotations_of_the_library_are_true() -> None:
    done = checked()
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_wrong_annotation_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def length(name: str) -> str:\n    return len(name)\n")
    done = checked(wrong)
    assert done.returncode
    assert "reportReturnType" in done.stdout
