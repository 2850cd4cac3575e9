"""The wheel: what is `lib` in the work tree is `reason_or_memorize` where it is installed, a name that nobody else has."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

NAME = "reason_or_memorize"
_OURS = re.compile(r"(?<=\bfrom )lib(?=[. ])|(?<=\bimport )lib(?=[.\s])|(?<=[\"'])lib(?=\.)|(?<=python -m )lib\b")
"""Where a source says `lib` and means the package."""


class Renamed(build_py):
    def run(self) -> None:
        super().run()
        built, renamed = Path(self.build_lib) / "lib", Path(self.build_lib) / NAME
        if self.editable_mode or not built.exists():
            return
        built.rename(renamed)
        for path in renamed.rglob("*.py"):
            path.write_text(_OURS.sub(NAME, path.read_text(encoding="utf-8")), encoding="utf-8")


setup(cmdclass={"build_py": Renamed})
