"""How long chapters take with stored results: python benchmarks/chapters.py [12 13 …] writes it into benchmarks/chapters.json.

Without numbers all of them; else only those, and the timings of the others stay.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lib.book import chapters, registry  # noqa: F401 (every study's kinds of models)
from lib.core.train.machine import cores


def main(names: list[str]) -> None:
    path = Path(__file__).with_name("chapters.json")
    seconds = json.loads(path.read_text())["seconds"] if names else {}
    with tempfile.TemporaryDirectory() as folder:
        for chapter in [chapters.find(name) for name in names] or chapters.chapters():
            print(chapter.name, file=sys.stderr)
            began = time.perf_counter()
            chapters.execute(chapter, {}, Path(folder) / chapter.path.name, progress=False)
            seconds[chapter.name] = round(time.perf_counter() - began, 1)
    record = {"cores": cores(), "seconds": dict(sorted(seconds.items()))}
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
