"""Parts of pages that are written anew at every build: the landing page's, the claims, provenance, the list of sources."""

from __future__ import annotations

import ast
import hashlib
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from matplotlib.figure import Figure

from lib.book import bridge, chapters, contents, front, ledger
from lib.book.claims import by_construction, totals
from lib.book.display import made_from, plain, provenance_line
from lib.book.explorer import Explorer
from lib.book.paths import BOOK, ROOT
from lib.book.recall import BUILD
from lib.book.registry import CLAIMS_OF, EXPERIMENTS
from lib.book.status import ExperimentStatus, experiment_status
from lib.book.text import Text
from lib.composition.exploration import hero
from lib.composition.phase_diagram import figures
from lib.composition.trajectories import GAMMAS
from lib.core.read import style, typeset
from lib.core.read.tables import table
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, StoreError
from lib.core.train.machine import one_thread

PROFILE = "laptop"
FOLDER = BOOK / "generated"


@one_thread()  # the models are tiny: threads would only wait for each other
def write_all(store: Store) -> None:
    """Write every part. Raises LookupError if what the first page shows is not stored."""
    FOLDER.mkdir(exist_ok=True)
    claims = ledger.evaluate_all(store, PROFILE, BUILD / "claims.json")
    rows, everywhere, tried = front.forms(store), bridge.tasks(store, PROFILE), bridge.trials(store, PROFILE)
    played = next(iter(rows.values()))
    _draw("headline", figures.kinds(rows))
    for narrow, name in ((False, ""), (True, "-narrow")):
        _draw(f"bridge{name}", bridge.draw(everywhere, narrow))
    ids = {chapter: [claim.id for claim in claims_of] for chapter, claims_of in CLAIMS_OF.items()}
    words = Text([(BOOK / "intro.md").read_text(encoding="utf-8")], front.facts(store, rows, everywhere, claims, ids))
    parts = {
        "question.html": front.question(rows),
        "numbers.html": words.html(),
        "bridge.md": bridge_text(everywhere, tried),
        "totals.md": claims_line(claims),
        "contents.html": contents.all_chapters(claims),
        "explorer.html": Explorer(
            hero(played, PROFILE), "rm-landing", gamma=min(GAMMAS), depth=2, panels=("answers", "map", "flow")
        ).static(),
        "explorer.md": made_from(provenance_line(played, PROFILE), Explorer) + "\n",
        "claims.html": ledger.page(claims),
        "environment.md": environment(),
        "sweeps.md": sweeps(store),
        "chapters.md": chapter_states(store),
        "sources.md": source_list(),
    }
    for name, text in parts.items():
        path = FOLDER / name
        text = typeset.markdown(text) if path.suffix == ".md" else text
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def claims_line(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many claims there are and what came out; tests of the task are not among them."""
    return f"**{sum(not by_construction(row) for row in rows)} claims:** {totals(rows)}.\n"


def bridge_text(found: Sequence[bridge.Task], tried: Sequence[bridge.Task]) -> str:
    """What stands under the picture of all tasks: the sentence, what trials say, and all numbers folded away."""
    runs = [run for task in found for run in task.runs]
    return (
        f"{bridge.sentence(found)}\n{bridge.trial_sentence(tried)}\n\n"
        + made_from(provenance_line(runs, PROFILE), bridge.draw)
        + f"\n\n```{{dropdown}} In numbers\n{typeset.markdown(bridge.rows(found, tried))}\n```\n"
    )


def _draw(name: str, figure: Figure) -> None:
    """Write a figure of the first page, one of which the README shows as well, if it is not the one that is there."""
    drawn, path = style.png(figure), BOOK / "assets" / f"{name}.png"
    if not path.exists() or path.read_bytes() != drawn:
        path.write_bytes(drawn)


def environment() -> str:
    """What these pages were built with."""
    names = re.findall(r"^[\w.-]+(?=[=>])", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    packages = [(name, metadata.version(name)) for name in names]
    lock = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    rows = [
        ("Python", platform.python_version()),
        ("system", f"{platform.system()} on {platform.machine()}"),
        ("revision of the sources", _revision()),
        ("sha256 of `requirements.lock`", f"`{lock}`"),
        *packages,
    ]
    return table(("what", "which"), rows) + "\n"


def _revision() -> str:
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    if done.returncode:
        return "unknown"
    name = done.stdout.strip()
    return f"`{name.removesuffix('-dirty')}`" + (", and changes that are not committed" if name.endswith("-dirty") else "")


def _words(values: Sequence[object]) -> str:
    """Each value with how often it occurs, the most frequent first; the value alone where there is one."""
    counts = Counter(str(v) for v in values)
    return next(iter(counts)) if len(counts) == 1 else "; ".join(f"{v} ({n})" for v, n in counts.most_common())


def sweeps(store: Store) -> str:
    """Every stored sweep: what was trained, on what, and what it cost."""
    rows, others = [], []
    for experiment in EXPERIMENTS.values():
        found = experiment_status(experiment, store)
        others.append(_others(found))
        for p in found.profiles:
            if not p.stored:
                continue
            runs = [run for spec in experiment.specs(p.profile) if (run := _get(store, spec)) is not None]
            made = [run.provenance for run in runs]
            rows.append(
                (
                    f"`{experiment.name}`, version {experiment.version}",
                    p.profile,
                    plain(_words([f"{m['device']}, {m['precision']}, torch {m['torch']}" for m in made])),
                    f"{p.stored}/{p.runs}",
                    str(len({run.spec.seed for run in runs})),
                    f"{sum(run.steps for run in runs):,}",
                    f"{sum(run.seconds * (run.provenance.get('threads') or 1) for run in runs) / 3600:.2f}",
                )
            )
    head = ("sweep", "profile", "trained on", "runs", "seeds", "steps", "core hours")
    return (
        table(head, rows)
        + "\n"
        + "\n"
        + ("\n".join(filter(None, others)) or "Nothing that is stored is stale or damaged.")
        + "\n"
    )


def _get(store: Store, spec: RunSpec) -> StoredRun | None:
    """The stored run; None also where it cannot be read, which the line of damaged results tells."""
    try:
        return store.get(spec)
    except StoreError:
        return None


def _others(found: ExperimentStatus) -> str:
    words = [f"{found.stale - found.older} of an older version"] * bool(found.stale - found.older)
    words += [f"{found.older} stored before some metric existed"] * bool(found.older)
    words += [f"{found.other} outside every profile"] * bool(found.other)
    words += [f"{len(found.unreadable)} that cannot be read"] * bool(found.unreadable)
    return f"- `{found.experiment}` also has {', '.join(words)}." if words else ""


def chapter_states(store: Store) -> str:
    """Every chapter with what it read and whether it is fresh."""
    rows = []
    for chapter in chapters.chapters():
        reasons = chapters.stale(chapter, store)
        results = chapters.record(chapter).get("results", {})
        read = ", ".join("timings" if name == "benchmarks" else f"{r['runs']} of {name}" for name, r in results.items())
        state = "fresh" if not reasons else f"**stale**: {plain('; '.join(reasons))}"
        rows.append((f"[{chapter.title()}]({chapter.name})", plain(read) or "none", state))
    return table(("chapter", "results read", "state"), rows) + "\n"


def source_list() -> str:
    """Every module, linked to its page, with the first sentence of its docstring."""
    rows = []
    for path in sorted((ROOT / "lib").rglob("*.py")):
        if words := " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()):
            name, summary = path.relative_to(ROOT).as_posix(), re.split(r"(?<=\.) ", words)[0]
            shown = plain(name).replace("/", "/<wbr>")  # so that a phone can break it
            rows.append((f'<a href="../source/{name}.html"><code>{shown}</code></a>', summary.replace("|", "\\|")))
    return table(("module", "what it is for"), rows) + "\n"
