"""Sentences and tables of the chapter on SCAN and COGS: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun
from lib.language import arms, cogs, scan
from lib.language.arms import FITTED, name_of
from lib.language.commands import metrics
from lib.language.commands.metrics import (
    CASES,
    IN,
    OUT_OF,
    PAPERS,
    Example,
    Leads,
    Runs,
    ends,
    largest,
    leads,
    middle,
)
from lib.language.experiments import COGS, JUMP, LARGE, LARGER, SCAN, SMALL, SMALLER, TURN
from lib.language.study import N_KNOWN, cogs_data
from lib.language.text import END

LITTLE = 0.01
"""Shares closer than this are called alike (our choice)."""
MUCH = 0.1
"""A case is named where the arms' means are so far apart, at least (our choice)."""
NEVER = 0.05
"""A mean share up to here is called none (our choice)."""


def _at(sizes: Sequence[int]) -> str:
    return f"{listed([f'{size:,}' for size in sizes])} rows"


def where(found: Leads, seeds: int) -> str:
    """At which sizes is the small arm ahead or behind, and where clearly, the interval being on one side of 0?"""
    every = "every size" if len(found) > 1 else "the one size"
    signs = {
        "ahead": [size for size, (gap, _, _) in found.items() if gap > 0],
        "behind": [size for size, (gap, _, _) in found.items() if gap < 0],
        "level": [size for size, (gap, _, _) in found.items() if gap == 0],
    }
    clear = {
        "ahead": [size for size, (_, low, _) in found.items() if seeds > 1 and low > 0],
        "behind": [size for size, (_, _, high) in found.items() if seeds > 1 and high < 0],
    }
    words = [f"{word} at {every if len(sizes) == len(found) else _at(sizes)}" for word, sizes in signs.items() if sizes]
    if seeds < 2:
        return f"{listed(words)}, in the one seed that there is"
    clearly = [size for sizes in clear.values() for size in sizes]
    if len(words) > 1 and clearly:
        rest = [size for size in found if size not in clearly]
        said = listed([f"clearly {word} at {_at(sizes)}" for word, sizes in clear.items() if sizes])
        return said + (f", neither at {_at(rest)}" if rest else "")
    if len(clearly) == len(found):
        return f"clearly {words[0]}"
    if clearly:
        return f"{words[0]}, clearly at {_at(clearly)}"
    return words[0] if signs["level"] == list(found) else f"in the mean {listed(words)}, but nowhere clearly"


def _shares(runs: Runs, main: str, name: str, size: int) -> str:
    small, large = (arms.shares(runs[(main, size, *arm)], name).mean() for arm in (SMALL, LARGE))
    return f"{small:.1%} against {large:.1%} at {size:,} rows"


def _seeds(runs: Runs) -> int:
    return min(map(len, runs.values()))


def _ends(runs: Runs, main: str, name: str) -> str:
    """The mean shares of the small arm and of the large one at the smallest size and at the largest."""
    return listed([_shares(runs, main, name, size) for size in ends(runs, main)])


def unfinished(runs: Runs) -> list[str]:
    """The groups of the paper's arms in which not every run has learned its rows of training, in words."""
    return [
        f"{_TITLES[main]}, {size:,} rows, {name_of(arm)}"
        for (main, size, *arm), group in runs.items()
        if tuple(arm) in PAPERS and not arms.fitted(group)
    ]


_TITLES = {TURN: metrics.SCAN_NAME, JUMP: 'SCAN, "jump"', "COGS": metrics.COGS_NAME}


def _briefly(found: Leads, seeds: int) -> str:
    """Where the small arm is ahead or behind, in words alone."""
    ahead, behind = (sum(sign * gap > 0 for gap, _, _ in found.values()) for sign in (1, -1))
    clear = sum(low > 0 or high < 0 for _, low, high in found.values()) if seeds > 1 else 0
    every = "at every size" if len(found) > 1 else "at the one size"
    if not ahead and not behind:
        return f"level {every}"
    if len(found) in (ahead, behind):
        said = f"{'ahead' if ahead else 'behind'} {every}"
    else:
        said = (
            "ahead at some sizes and behind at others"
            if ahead and behind
            else f"{'ahead' if ahead else 'behind'} at some sizes"
        )
    if seeds < 2:
        return f"{said}, in the one seed that there is"
    return f"clearly {said}" if clear == len(found) else f"{said} (clearly at {'some' if clear else 'none'})"


def answer(scan_runs: Runs, cogs_runs: Runs) -> str:
    """Is the small arm ahead where training does not go, on SCAN and on COGS, and which part of it acts?"""
    scan_leads, cogs_leads = leads(scan_runs, TURN, "test"), leads(cogs_runs, "COGS", "gen")
    text = (
        f"Against a large start with little decay, a small start with much is {_briefly(scan_leads, _seeds(scan_runs))} on "
        f'SCAN\'s "turn left"; on the 21 cases that training does not show in COGS it is '
        f"{_briefly(cogs_leads, _seeds(cogs_runs))}. "
        f"Where γ and decay are crossed, on SCAN {_acts(*_parts(scan_runs, TURN, 'test'), _seeds(scan_runs))}, on COGS "
        f"{_acts(*_parts(cogs_runs, 'COGS', 'gen'), _seeds(cogs_runs))}."
    )
    if any("jump" not in words for words in unfinished(scan_runs) + unfinished(cogs_runs)):
        text += f" Not every run had learned {FITTED:.0%} of its training rows."
    return text


def verdict(scan_runs: Runs, cogs_runs: Runs) -> str:
    """The numbers behind the answer, at the smallest size and at the largest."""
    scan_leads, cogs_leads = leads(scan_runs, TURN, "test"), leads(cogs_runs, "COGS", "gen")
    lines = [
        f"The small arm ({name_of(SMALL)}) against the large one ({name_of(LARGE)}):",
        "",
        f"- **{metrics.SCAN_NAME}:** {where(scan_leads, _seeds(scan_runs))}; {_ends(scan_runs, TURN, 'test')}.",
        f"- **COGS, {OUT_OF}:** {where(cogs_leads, _seeds(cogs_runs))}; {_ends(cogs_runs, 'COGS', 'gen')}.",
    ]
    missing = [words for words in unfinished(scan_runs) + unfinished(cogs_runs) if "jump" not in words]
    if missing:
        lines.append(f"- Not every run had learned {FITTED:.0%} of its training rows ({'; '.join(missing)}): no evidence.")
    return "\n".join(lines)


def size_line(scan_runs: Runs, cogs_runs: Runs) -> str:
    parts = (
        (metrics.SCAN_NAME, scan_runs, TURN, "test"),
        (f"COGS {IN}", cogs_runs, "COGS", "test"),
        (OUT_OF, cogs_runs, "COGS", "gen"),
    )
    return "; ".join(
        f"{title}: " + ", ".join(_shares(runs, main, name, size) for size in metrics.sizes(runs, main, *SMALL))
        for title, runs, main, name in parts
    )


def in_text(runs: Runs) -> str:
    """Are the arms alike on sentences like those of training?"""
    size = largest(runs, "COGS")
    large, small = (float(arms.shares(runs[("COGS", size, *arm)]).mean()) for arm in PAPERS)
    said = (
        f"On sentences of COGS like those of training the small arm is {where(leads(runs, 'COGS', 'test'), _seeds(runs))}: "
        f"{_ends(runs, 'COGS', 'test')}."
    )
    apart = "a point or less" if abs(small - large) <= LITTLE else "more than a point"
    high = [name for name, share in (("small", small), ("large", large)) if share >= FITTED]
    who = ("neither reaches", f"only the {''.join(high)} one reaches", "both reach")[len(high)]
    said += f" With {size:,} rows the arms are {apart} apart, and {who} {FITTED:.0%}"
    return f"{said}, which both pass with 20,000 in the paper."


def rare_text(runs: Runs) -> str:
    """How often is the one row of a case seen, and does that tell on the 21 cases?"""
    sizes = ends(runs, "COGS")
    spec = runs["COGS", sizes[-1], *SMALL][0].spec
    seen = listed([f"{spec.train.batch * spec.train.steps / size:,.0f} times with {size:,} rows" for size in sizes])
    train = cogs.fewer(_cogs(spec), sizes[-1]).train
    asked = sum(row.case == cogs.EXPOSURE for row in train[:: max(1, len(train) // N_KNOWN)])
    mean = lambda size, arm: float(arms.shares(runs["COGS", size, *arm], "gen").mean())
    falling = [name for name, arm in (("large", LARGE), ("small", SMALL)) if mean(sizes[-1], arm) < mean(sizes[0], arm)]
    shown = len(cogs.EXPOSURES)
    said = (
        f"Every run has as many steps, so a row of training is seen {seen}. The word of a lexical case stands in one such row "
        f"alone. Whether these {shown} rows were learned we do not know: the sample on which training is measured has "
        f"{asked} of them."
    )
    if len(sizes) < 2:
        return said
    if not falling:
        return f"{said} With more rows both arms have a larger share of the 21 cases right, all the same."
    who = "both arms have" if len(falling) == 2 else f"the {falling[0]} arm has"
    return (
        f"{said} With more rows {who} a smaller share of the 21 cases right. Whether that is the fewer passes, we cannot tell."
    )


def _elsewhere(split: str, action: str) -> float:
    """The share of rows of training whose actions hold this one, of those that are not the primitive alone."""
    chosen = scan.split(split)
    rows = scan.rows()[chosen.train[chosen.train != chosen.primitive]]
    return float(((rows.tokens == scan.VOCABULARY.encode([action])[0]) & rows.targets()).any(1).float().mean())


def control_text(runs: Runs) -> str:
    """Is "jump" composed, and why should it be harder?"""
    size = middle(runs, TURN)
    large, small = (float(arms.shares(runs[(JUMP, size, *arm)]).mean()) for arm in PAPERS)
    said = (
        'Neither arm composes "jump"'
        if max(large, small) <= NEVER
        else 'Both arms have some of "jump"'
        if min(large, small) > NEVER
        else f'Only the {"small" if small > large else "large"} arm has some of "jump"'
    )
    turning, jumping = _elsewhere(TURN, "LTURN"), _elsewhere(JUMP, "JUMP")
    return (
        f"{said}: with {size:,} rows {small:.1%} (small arm) and {large:.1%} (large arm) are right. Training tells less of it: "
        f'the action of "turn left" is in {turning:.0%} of the other rows of its split, that of "jump" in {jumping:.0%}.'
    )


def along_text(scan_runs: Runs, cogs_runs: Runs) -> str:
    """How long each arm takes to learn its rows of training, and which takes longer, if one does on both sets."""
    said, later, every = [], [], []
    for title, runs, kind in (
        (metrics.SCAN_NAME, scan_runs, (TURN, middle(scan_runs, TURN))),
        (metrics.COGS_NAME, cogs_runs, ("COGS", largest(cogs_runs, "COGS"))),
    ):
        words, steps = [], {name: arms.fit_steps(runs[(*kind, *arm)]) for name, arm in (("large", LARGE), ("small", SMALL))}
        for name, found in steps.items():
            late = int(np.isnan(found).sum())
            words.append(
                f"the {name} arm never"
                if late == len(found)
                else f"the {name} arm {np.nanmean(found):,.0f}" + (f" (of {len(found)} runs {late} never)" if late else "")
            )
        said.append(f"- {title}, {kind[1]:,} rows: {', '.join(words)}.")
        large, small = steps.values()
        later.append("small" if large.mean() < small.mean() else "large" if small.mean() < large.mean() else "")
        fast, slow = (large, small) if later[-1] == "small" else (small, large)
        if fast.max() < np.nan_to_num(slow, nan=np.inf).min():
            every.append(title.split(",")[0])
    name = later[0] if len(set(later)) == 1 else ""
    where = f"on {listed(every)} every run of it" if every else "but the runs of both overlap"
    first = f"On average the {name} arm learns its rows of training later, {where}. " if name else ""
    return "\n".join([f"{first}Steps until {FITTED:.0%} of the rows of training are right, on average over runs:", "", *said])


def along_line(scan_runs: Runs, cogs_runs: Runs) -> str:
    ends = lambda found: ", ".join(f"{arm} {spread(curves['test'][1][:, -1], 3)}" for arm, curves in found.items())
    panels = metrics.of_histories(scan_runs, cogs_runs)
    return "at the end " + "; ".join(f"{title}: {ends(found)}".replace("\n", ", ") for title, found in panels.items())


def _points(gap: float, low: float, high: float, seeds: int) -> str:
    """A difference of shares in points of a hundred."""
    say = lambda value: f"{100 * value:+z.1f}".replace("-", "−")
    return f"{say(gap)} points" + (f" [{say(low)}, {say(high)}]" if seeds > 1 else "")


Part = tuple[float, float, float]
"""What one change does to a share, and its 95 % interval over seeds."""


def _parts(runs: Runs, main: str, name: str) -> tuple[Part, Part]:
    """What the smaller start does, and what the larger decay does, each averaged over the other."""
    (g0, d0), (g1, d1) = LARGE, SMALL
    share = {arm: arms.shares(group, name) for arm, group in metrics.of_middle(runs, main).items()}
    half = lambda a, b: (share[a] + share[b]) / 2
    start = arms.difference(half((g1, d0), (g1, d1)), half((g0, d0), (g0, d1)))
    return start, arms.difference(half((g0, d1), (g1, d1)), half((g0, d0), (g1, d0)))


def _acts(start: Part, decay: Part, seeds: int) -> str:
    """Which of the two changes the share, its interval being on one side of 0?"""
    if seeds < 2:
        return "one seed cannot say which of the two acts"
    acting = [what for what, (_, low, high) in (("start", start), ("decay", decay)) if low > 0 or high < 0]
    return ("neither acts clearly", f"only the {''.join(acting)} acts clearly", "both act clearly")[len(acting)]


def parts_text(scan_runs: Runs, cogs_runs: Runs) -> str:
    """The two-by-two of γ and decay: what each does, averaged over the other; and the two starts beyond."""
    (g0, d0), (g1, d1) = LARGE, SMALL
    lines = []
    for title, runs, main, name in metrics.crossed(scan_runs, cogs_runs):
        seeds, groups, (start, decay) = _seeds(runs), metrics.of_middle(runs, main), _parts(runs, main, name)
        line = (
            f"- **{title}.** The smaller start (γ = {g1:g} in place of {g0:g}) changes the share by "
            f"{_points(*start, seeds)}, the larger decay ({d1:g} in place of {d0:g}) by {_points(*decay, seeds)}: "
            f"{_acts(start, decay, seeds)}."
        )
        beyond = [f"{name_of(a)} has {arms.shares(groups[a], name).mean():.1%}" for a in (LARGER, SMALLER) if a in groups]
        if beyond:
            line += f" Beyond the paper's arms, {listed(beyond)}."
        missing = [name_of(arm) for arm, group in groups.items() if not arms.fitted(group)]
        if missing:
            line += f" Not every run had learned its rows of training: {'; '.join(missing)}."
        lines.append(line)
    return "\n".join(lines)


def arms_line(scan_runs: Runs, cogs_runs: Runs) -> str:
    return "; ".join(
        f"{title}: " + ", ".join(f"{arm} {np.mean(values):.3f}" for arm, (values, _) in found.items())
        for title, found in metrics.of_arms(scan_runs, cogs_runs).items()
    )


def cases_text(runs: Runs) -> str:
    """Which cases does either arm have, and in how many do they differ?"""
    rows, leads_by, structural = [], {}, 0.0
    for size in ends(runs, "COGS"):
        large, small = (runs["COGS", size, *arm] for arm in PAPERS)
        gaps = dict(zip(cogs.CASES, metrics.of_cases(small).mean(0) - metrics.of_cases(large).mean(0), strict=True))
        ahead, behind = (sum(round(sign * gap, 9) >= MUCH for gap in gaps.values()) for sign in (1, -1))
        most = CASES[max(gaps, key=lambda case: abs(gaps[case]))] if ahead or behind else "–"
        rows.append((f"{size:,}", ahead, behind, most))
        leads_by[size] = float(metrics.lexical(small).mean() - metrics.lexical(large).mean())
        structural = max(structural, *(float(metrics.structural(group).mean()) for group in (small, large)))
    sides = {
        "ahead": [size for size, gap in leads_by.items() if gap > LITTLE],
        "behind": [size for size, gap in leads_by.items() if gap < -LITTLE],
        "level": [size for size, gap in leads_by.items() if abs(gap) <= LITTLE],
    }
    where_ = listed([f"{word} with {_at(sizes)}" for word, sizes in sides.items() if sizes])
    first = "Neither arm has the structural cases" if structural <= NEVER else "Structural cases are right in part"
    head = ("rows of training", "the small arm is ahead in", "behind in", "they differ most on")
    return (
        f"{first}. On the lexical ones the small arm is in the mean {where_}. Cases, of {len(cogs.CASES)}, on which the arms "
        f"are {100 * MUCH:.0f} points apart or more:\n\n{table(head, rows)}"
    )


def cases_line(runs: Runs) -> str:
    return "; ".join(
        f"{size:,} rows, {name_of(arm)}: lexical {spread(metrics.lexical(group), 3)}, structural "
        f"{spread(metrics.structural(group), 3)}"
        for size, arm, group in ((size, arm, runs["COGS", size, *arm]) for size in ends(runs, "COGS") for arm in PAPERS)
    )


def unseen_text(run: StoredRun) -> str:
    """How many rows of the recursive cases ask for a word that no target of training has, so that nobody could learn it."""
    data = _cogs(run.spec)
    known = {word for row in cogs.fewer(data, dict(run.spec.task)["size"]).train for word in cogs.tokens(row)[1]}
    deep = [row for row in data.gen if row.case in ("cp_recursion", "pp_recursion")]
    lost = [bool(set(cogs.tokens(row)[1]) - known) for row in deep]
    return (
        "The two recursive cases, a clause in a clause and a place behind a place, deeper than in training, have a bound that "
        f"no start can pass: {np.mean(lost):.0%} of their rows ask for a variable with a number higher than any in training, "
        "and such a token was never trained."
    )


def _cogs(spec: RunSpec) -> cogs.Data:
    task = dict(spec.task)
    return cogs_data(*(task[name] for name in ("train", "test", "case", "nouns", "verbs")))[0]


# --------------------------------------------------------------------------------------------------------------------- tables


def tasks_table(run: StoredRun) -> str:
    """What training shows and what the tests ask, in rows of both; `run` is one of COGS."""
    data = _cogs(run.spec)
    of = lambda command: (command, " ".join(scan.meaning(command)))
    row = lambda found: (found.sentence, found.form.replace("x _ ", "x_"))
    once = {use.sentence: use for use in data.train if use.case == cogs.EXPOSURE}
    hedgehog = next(use for words, use in once.items() if "hedgehog" in words)
    shortest = lambda case: min((r for r in data.gen if r.case == case), key=lambda r: len(r.form))
    place = min(
        (r for r in data.train if r.case == cogs.IN_DISTRIBUTION and ". nmod ." in r.form), key=lambda r: (len(r.form), r)
    )
    rows = [
        ("SCAN, training", *of("turn left")),
        ("SCAN, training", *of("jump opposite left twice")),
        ("SCAN, test", *of("jump after turn left twice")),
        ("COGS, training (once)", *row(hedgehog)),
        ("COGS, test: hedgehog as object", *row(shortest("subj_to_obj_common"))),
        ("COGS, training: a place behind an object", *row(place)),
        ("COGS, test: a place behind a subject", *row(shortest("obj_pp_to_subj_pp"))),
    ]
    return table(("where", "the model reads", "and writes"), [(kind, source, f"`{target}`") for kind, source, target in rows])


def _percent(values: np.ndarray) -> str:
    """Mean ± standard deviation in percent, where the latter does not round to nothing."""
    return spread(100 * values, 1).removesuffix(" ± 0.0")


def scan_table(runs: Runs) -> str:
    """Every group of runs on SCAN: percent of the rows of training and of the test right at the end."""
    rows = [
        (
            _TITLES[main].split('"')[1],
            f"{size:,}",
            f"{gamma:g}",
            f"{decay:g}",
            _percent(arms.shares(group, "train")),
            _percent(arms.shares(group)),
        )
        for (main, size, gamma, decay), group in sorted(runs.items(), key=lambda kind: (kind[0][0] != TURN, kind[0]))
    ]
    return table(("SCAN", "rows of training", "γ", "weight decay", "training right", "test right"), rows)


def cogs_table(runs: Runs) -> str:
    """Every group of runs on COGS: percent of rows right at the end, of training and of each test."""
    rows = [
        (
            f"{size:,}",
            f"{gamma:g}",
            f"{decay:g}",
            *(_percent(arms.shares(group, name)) for name in ("train", "test", "gen")),
            _percent(metrics.lexical(group)),
            _percent(metrics.structural(group)),
        )
        for (_, size, gamma, decay), group in sorted(runs.items())
    ]
    head = ("COGS: rows of training", "γ", "decay", "training right", IN, OUT_OF, "18 lexical", "3 structural")
    return table(head, rows)


_LONG = 8  # words of an answer that are shown


def _of_seed(runs: Sequence[StoredRun], seed: int) -> StoredRun:
    """The run of this seed, or the first where there is none."""
    return next((run for run in runs if run.spec.seed == seed), runs[0])


def _code(words: Sequence[str], cut_left: bool = False) -> str:
    """Words as code; of many the first or the last."""
    if len(words) <= _LONG:
        return f"`{' '.join(words)}`" if words else ""
    return f"… `{' '.join(words[-_LONG:])}`" if cut_left else f"`{' '.join(words[:_LONG])}` …"


def answered(example: Example) -> str:
    """What a model makes of a row: right, or its words up to the first wrong one, and what should stand there."""
    _, target, said, right = example
    if right:
        return "right"
    true, guess = target.split(), said.split()
    first = next((i for i, (a, b) in enumerate(zip(true, guess, strict=True)) if a != b), None)
    if first is None:
        return "all words right, but goes on"
    begun = f"{_code(true[:first], cut_left=True)} " if first else ""
    wrong = "stops" if guess[first] == END else f"**`{guess[first]}`**"
    return f"{begun}{wrong} in place of `{true[first]}`"


def _picked(pairs: Sequence[tuple[Example, Example]], each: int) -> list[int]:
    """Some rows of every kind that there is: which of two models has it right."""
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for i, (a, b) in enumerate(pairs):
        kinds.setdefault((a[3], b[3]), []).append(i)
    return sorted(i for found in kinds.values() for i in found[:each])


_ARMS_HEAD = tuple(f"{size} arm ({name_of(arm)})" for size, arm in (("large", LARGE), ("small", SMALL)))


def scan_words(runs: Runs, seed: int) -> str:
    """Some commands of both tests, and what a run of each arm makes of them."""
    size, rows = middle(runs, TURN), []
    for split, each in ((TURN, 1), (JUMP, 1)):
        both = [metrics.scan_examples(_of_seed(runs[(split, size, *arm)], seed)) for arm in PAPERS]
        pairs = list(zip(*both, strict=True))
        for i in _picked(pairs, each):
            source, target = pairs[i][0][:2]
            rows.append((source, _code(target.split()), *map(answered, pairs[i])))
    return table(("command", "means", *_ARMS_HEAD), rows)


def cogs_words(runs: Runs, seed: int, each: int = 1) -> str:
    """Some sentences of the 21 cases, and what a run of each arm makes of them: of each kind of outcome, lexical cases and
    structural ones apart."""
    size, rows = largest(runs, "COGS"), []
    try:
        both = [metrics.cogs_examples(_of_seed(runs[("COGS", size, *arm)], seed)) for arm in PAPERS]
    except IndexError:  # a model may have more tokens than its data have words, and says one of them if it is hardly trained
        return "On COGS these runs are so little trained that they write tokens that are no words."
    for structural, count in ((False, each), (True, 1)):
        cases = [case for case in cogs.CASES if (case in cogs.STRUCTURAL) == structural]
        shortest = lambda pair: len(pair[0][1])
        pairs = [min(zip(both[0][case], both[1][case], strict=True), key=shortest) for case in cases]
        rows += [(CASES[cases[i]], pairs[i][0][0], *map(answered, pairs[i])) for i in _picked(pairs, count)]
    return table(("case", "sentence", *_ARMS_HEAD), rows)


def ends_text(runs: Runs) -> str:
    """How many wrong answers on "turn left" are wrong in the end alone, of those that were kept?"""
    size = middle(runs, TURN)
    groups = {name: runs[TURN, size, *arm] for name, arm in (("large", LARGE), ("small", SMALL))}
    found = {name: [e for run in group for e in metrics.scan_examples(run)] for name, group in groups.items()}
    kept = sum(map(len, found.values()))
    wrong = {name: [e for e in examples if not e[3]] for name, examples in found.items()}
    if not any(wrong.values()):
        return f'All {kept} answers on "turn left" that were kept of both arms are right.'
    ends = {name: sum(target == said for _, target, said, _ in examples) for name, examples in wrong.items()}
    each = listed([f"of the {name} arm's {len(wrong[name])} wrong ones {ends[name]}" for name in found])
    without = {name: 1 - (len(wrong[name]) - ends[name]) / len(found[name]) for name in found}
    shares = listed([f"{without[name]:.0%} of the {name} arm's" for name in found])
    return (
        "The published script of the follow-up does not score the end of an answer, and we do. Of both arms' answers on \"turn "
        f'left" {kept} were kept, to short commands; {each} are wrong in the end alone. Were the end not scored, {shares} kept '
        "answers would be right. What this does to the whole test, we do not know."
    )


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s, c = SCAN[profile], COGS[profile]
    m, task = s.gpt.spec(*s.shape), dict(c.task)
    both = lambda value: value(s) if value(s) == value(c) else f"SCAN {value(s)}, COGS {value(c)}"
    sizes = lambda setting: ", ".join(f"{size:,}" for size in setting.sizes)
    seen = lambda x: ", ".join(f"{x.gpt.train.batch * x.gpt.train.steps / size:,.0f}" for size in x.sizes)
    shrunk = lambda decay: both(lambda x: f"{x.gpt.rate * decay * x.gpt.train.steps / 2:.2g}")
    return [
        ("SCAN: rows of training", f"{sizes(s)}; all arms at {s.middle:,}"),
        ("SCAN: commands asked, of each split", f"{dict(s.task)['test']:,}"),
        ("COGS: rows of training", f"{sizes(c)}; all arms at {c.middle:,}"),
        ("COGS: sentences asked in distribution", f"{task['test']:,}"),
        ("COGS: sentences asked of each case", f"{task['case']:,}"),
        ("COGS: nouns of a kind, verbs of a class", f"{task['nouns']}, {task['verbs']}"),
        ("form of the model", "GPT-2's, embeddings tied"),
        ("layers, d_model, d_ff, heads", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.heads}"),
        ("batch", both(lambda x: f"{x.gpt.train.batch:,}")),
        ("steps", both(lambda x: f"{x.gpt.train.steps:,}")),
        ("times that a row of training is seen", f"SCAN {seen(s)}; COGS {seen(c)}"),
        ("peak learning rate", both(lambda x: f"{x.gpt.rate:.6f}".rstrip("0"))),
        ("steps of warm-up, then a cosine", both(lambda x: f"{x.gpt.train.warmup:,}")),
        (f"learning rate × decay × steps, decay {SMALL[1]:g}", f"{shrunk(SMALL[1])}, by the mean learning rate"),
        (f"learning rate × decay × steps, decay {SMALLER[1]:g}", f"{shrunk(SMALLER[1])}, by the mean learning rate"),
        ("seeds", both(lambda x: str(len(x.seeds)))),
    ]
