"""How fast the explorer redraws, and how large it is: python benchmarks/explorer.py > benchmarks/explorer.json

Needs the built book (`make book`) and a browser (requirements-test.txt). Every stop of every slider is visited once; the time
is that of the page's own work, from the slider's event to the end of its handler, layout included.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import launch, offline

HTML = Path(__file__).parents[1] / "_build" / "html" / "book"
PAGES = {
    "intro": "rm-landing",
    "02-phase-diagram": "rm-02",
    "03-information-flow": "rm-03",
    "05-condensation": "rm-05",
    "09-memory-and-reasoning": "rm-09",
    "13-out-of-domain": "rm-13",
    "15-chain-of-thought": "rm-15",
}
VISIT = """
(id) => {
  const times = [];
  for (const slider of document.querySelectorAll(`#${id} input[type=range]`)) {
    for (let value = Number(slider.min); value <= Number(slider.max) + 1e-9; value += Number(slider.step)) {
      slider.value = value;
      const began = performance.now();
      slider.dispatchEvent(new Event("input"));
      document.getElementById(id).getBoundingClientRect();
      times.push(performance.now() - began);
    }
  }
  return times;
}
"""


def main() -> None:
    records = {}
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, explorer in PAGES.items():
            with offline(browser) as watched:
                page = watched.open(HTML / f"{name}.html")
                times = sorted(page.evaluate(VISIT, explorer))
                size = page.evaluate("(id) => document.getElementById(`${id}-data`).textContent.length", explorer)
            records[name] = {
                "redraws": len(times),
                "median_ms": round(statistics.median(times), 1),
                "slowest_ms": round(times[-1], 1),
                "data_bytes": size,
                "page_bytes": (HTML / f"{name}.html").stat().st_size,
            }
    print(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
