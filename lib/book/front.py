"""The first page: its question and the squares that answer it, and the facts of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lib.book import bridge
from lib.composition import controls
from lib.composition.exploration import SETS
from lib.composition.flip import confirmed_runs
from lib.composition.gpt2.metrics import factor_runs, fresh_facts, more_seeds, until_facts, until_learned
from lib.composition.phase_diagram import metrics
from lib.composition.phase_diagram.metrics import WITHIN_ONE, composes, share_of
from lib.composition.runs import MAPPINGS, exact_kind, learned
from lib.composition.task import ANCHORS, HELD_OUT, INFERENTIAL_OFFSET, SYMMETRIC_OFFSET, taught
from lib.composition.the_task.figures import signed
from lib.composition.trajectories import KEY, PLAYED
from lib.composition.variations import NOTHING
from lib.core.read.claim import NOT_RUN, OURS, REPRODUCED
from lib.core.read.fact import Fact, in_words
from lib.core.record.store import Store, StoredRun, load

PROFILE = "laptop"
BEFORE = ("composition", "prompts")
"""Tasks of which the first page speaks before it speaks of others."""
COPIES = range(12, 19)
"""The chapters that ask how prompts are copied."""


def forms(store: Store) -> dict[str, list[StoredRun]]:
    """Two layers from large to small initial weights, every seed, in two forms. Raises LookupError where some are missing."""
    if not (new := confirmed_runs(store, PROFILE)):
        raise LookupError("the new seeds of the paper's form are not stored: python -m lib sweep composition-confirm")
    return {"pre-norm, GPT-2’s form": load(PLAYED.specs(PROFILE), store), "post-norm, as in Zhang et al.": new}


# --- The question ---


def _pairs() -> str:
    """What training teaches: a row a first symbol, a column a second one, a question mark where it shows nothing."""
    cell = lambda pair: "<td class='rm-asked'>?</td>" if pair == HELD_OUT else f"<td>{signed(taught(pair))}</td>"
    head = "".join(f'<th scope="col">{second}</th>' for second in ANCHORS)
    rows = (f'<tr><th scope="row">{first}</th>{"".join(cell((first, second)) for second in ANCHORS)}</tr>' for first in ANCHORS)
    caption = "<caption>row: first symbol, column: second</caption>"
    return f'<table class="rm-pairs">{caption}<thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _square(run: StoredRun, link: str) -> str:
    kind, share = exact_kind(run), {m: run.metrics[m] for m in MAPPINGS}
    if kind not in MAPPINGS and composes(run):
        kind = "near"
    said = (
        f"γ = {run.spec.gamma:g}, seed {run.spec.seed}: key − 6 {share['symmetric']:.0%}, key − 10 {share['inferential']:.0%}"
    )
    said += f", that or one beside it {share_of(run, WITHIN_ONE):.0%}" if kind == "near" else ""
    said += "" if learned(run) else "; has not learned"
    css = f"rm-kind rm-{kind}" + ("" if learned(run) else " rm-hollow")
    return f'<td><a class="{css}" href="{escape(link)}" title="{escape(said)}" aria-label="{escape(said)}"></a></td>'


def _panel(title: str, runs: Sequence[StoredRun], link: str) -> str:
    """A row a seed, a column a γ. link: a template with gamma and seed."""
    gammas, seeds = (sorted({getattr(run.spec, name) for run in runs}) for name in ("gamma", "seed"))
    at = {(run.spec.gamma, run.spec.seed): run for run in runs}
    head = "".join(f'<th scope="col">{"γ " if g == gammas[0] else ""}{g:g}</th>' for g in gammas)
    body = ""
    for seed in seeds:
        cells = [at.get((g, seed)) for g in gammas]
        body += "<tr>" + "".join(
            "<td></td>" if run is None else _square(run, link.format(gamma=run.spec.gamma, seed=seed)) for run in cells
        )
        body += "</tr>"
    return (
        f'<table class="rm-kinds"><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def question(found: Mapping[str, Sequence[StoredRun]]) -> str:
    """The fifteen pairs, the one that is missing, two buttons, and the squares behind them, which are there without scripts,
    too."""
    first, second = HELD_OUT
    answers = {m: KEY + offset for m, offset in zip(MAPPINGS, (SYMMETRIC_OFFSET, INFERENTIAL_OFFSET), strict=True)}
    buttons = "".join(f'<button type="button" data-kind="{m}" aria-pressed="false">{v}</button>' for m, v in answers.items())
    view = "gamma={gamma:g}&depth=2&seed={seed}"
    links = (f"#rm-landing?{view}", f"03-information-flow.html#rm-03?series={len(SETS)}&{view}")
    panels = "".join(_panel(title, runs, link) for (title, runs), link in zip(found.items(), links, strict=True))
    chip = lambda kind: f'<span class="rm-kind rm-{kind}"></span>'
    reasons, memorized = answers["inferential"], answers["symmetric"]
    why = (
        f"<p>By itself, {first} takes {-ANCHORS[first]} away and {second} takes {-ANCHORS[second]}: "
        f"({first},\u00a0{first}) and ({second},\u00a0{second}) show twice as much. "
        f"{chip('inferential')} {reasons} puts the two together: it <strong>reasons</strong>. "
        f"But ({second},\u00a0{first}) is taught as {signed(SYMMETRIC_OFFSET)}, the one exception to such sums. "
        f"{chip('symmetric')} {memorized} gives its mirror image the same: it has <strong>memorized</strong>.</p>"
    )
    legend = (
        f"<p>A square is a trained model, a column a γ: large first weights on the left, small ones on the right. Its colour "
        f"is what most of its answers are, over all keys. {chip('near')} Most are the sum or one number beside it. "
        f"{chip('neither')} Neither. {chip('neither rm-hollow')} It did not learn what it was shown.</p>"
    )
    return (
        f'<div id="rm-question">{_pairs()}<p class="rm-guess" hidden>Choose: key {KEY} with ({first},\u00a0{second}) is '
        f'<span class="rm-buttons">{buttons}</span></p><output aria-live="polite"></output>'
        f'<div class="rm-reveal">{why}{panels}{legend}</div></div>\n'
    )


# --- The text ---


def facts(
    store: Store,
    found: Mapping[str, Sequence[StoredRun]],
    everywhere: Sequence[bridge.Task],
    claims: Sequence[Mapping[str, Any]],
    of_chapter: Mapping[str, Sequence[str]],
) -> dict[str, Fact]:
    """What the first page says. found: of `forms`; everywhere: all tasks; claims: evaluated; of_chapter: {chapter: ids of its
    claims}."""
    pre, new_seeds = found.values()
    ends = metrics.ends(pre)
    others = [one for task, one in bridge.compared(everywhere) if not task.name.startswith(BEFORE)]
    leads = [one.lead for one in others]
    both = [one for one, (_, low, _) in zip(others, leads, strict=True) if low > 0 and one.decays_too]
    status = {row["id"]: row["status"] for row in claims if not row["by_construction"] and row["paper"] not in OURS}
    ids = [name for chapter, names in of_chapter.items() if int(chapter[:2]) in COPIES for name in names]
    copies = [status[name] for name in ids if status.get(name, NOT_RUN) != NOT_RUN]
    ahead, behind = (sum(map(wins, leads)) for wins in (lambda v: v[1] > 0, lambda v: v[2] < 0))
    at = {m: f"two pre-norm layers of GPT-2's form, four seeds: mean share at γ = {ends.gamma[m]:g}" for m in MAPPINGS}
    rests = "settings of real and synthetic tasks: 95 % interval over seeds, paired, of small less large start"
    new = metrics.new_facts(new_seeds)
    names = ("seeds", "symmetric-low", "symmetric-140", "inferential-140", "neither-75", "share-inferential-140")
    size = metrics.size_facts(controls.paper_size(store, PROFILE))
    sized = [
        f"size-{name}"
        for name in ("large", "large-share", "seeds", "middle", "middle-share", "small", "small-runs", "small-shares")
    ]
    shown = {name: size[name] for name in sized} | {f"new-{name}": new[f"new-{name}"] for name in names}
    deep = metrics.depth_facts(metrics.by_depth(new_seeds, controls.deep_runs(store, PROFILE)))
    shown["deep-4-large-inferential"] = deep["deep-4-large-inferential"]
    longer = until_learned(store, PROFILE)
    until = until_facts(longer)
    shown |= {f"until-{name}": until[f"until-{name}"] for name in ("nothing", "norm", "heads")}
    fresh = fresh_facts(factor_runs(store, PROFILE)[NOTHING], longer[NOTHING], more_seeds(store, PROFILE))
    shown |= {f"fresh-{name}": fresh[f"fresh-{name}"] for name in ("seeds", "large", "symmetric", "middle", "last")}
    return shown | {
        "pre-symmetric": Fact(ends.mean["symmetric"]["symmetric"], "{:.0%}", f"{at['symmetric']}, key − 6"),
        "pre-inferential": Fact(ends.mean["inferential"]["inferential"], "{:.0%}", f"{at['inferential']}, key − 10"),
        "copies": Fact(
            (sum(s == REPRODUCED for s in copies), len(copies)),
            "{} of {}",
            "claims of the papers of chapters 12 to 18 that hold, ours left out",
        ),
        "settings": Fact(len(leads), "{}", "settings of other tasks that are compared from two starts"),
        "ahead": Fact(in_words(ahead), "{}", f"{rests} above 0"),
        "ahead-decays": Fact(in_words(len(both)), "{}", "of these, with more weight decay, too"),
        "behind": Fact(in_words(behind), "{}", f"{rests} below 0"),
    }
