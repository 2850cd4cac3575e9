"""The landing page's figure and the two lines under it, from stored results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt

from lib.book.display import provenance_line
from lib.book.registry import CLAIMS
from lib.composition import analysis, figures
from lib.composition.experiments import PHASE
from lib.core.claim import STATUSES
from lib.core.store import Store
from lib.core.sweep import load

PROFILE = "laptop"


def write_headline(store: Store, book: Path) -> None:
    """Write assets/headline.png and headline.md. Raises LookupError if the phase diagram is not stored."""
    runs = load(PHASE.specs(PROFILE), store)
    figure = figures.phase_diagram(analysis.phase_table(runs))
    figure.savefig(book / "assets" / "headline.png", metadata={"Software": None})
    plt.close(figure)
    counts = Counter(claim.evaluate(store, PROFILE)["status"] for claim in CLAIMS)
    totals = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    (book / "headline.md").write_text(
        f'<p class="rm-provenance">{provenance_line(runs, PROFILE)}</p>\n\n**{len(CLAIMS)} claims so far:** {totals}.\n',
        encoding="utf-8",
    )
