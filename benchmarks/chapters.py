"""How long each chapter takes with stored results: python benchmarks/chapters.py > benchmarks/chapters.json"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lib.book import chapters
from lib.core.machine import cores


def main() -> None:
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for chapter in chapters.chapters():
            print(chapter.name, file=sys.stderr)
            began = time.perf_counter()
            chapters.execute(chapter, {}, Path(folder) / chapter.path.name, progress=False)
            seconds[chapter.name] = round(time.perf_counter() - began, 1)
    print(json.dumps({"cores": cores(), "seconds": seconds}, indent=1))


if __name__ == "__main__":
    main()
