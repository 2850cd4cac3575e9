"""What a chapter says about running it again: commands, parameters with types and defaults, and how long it takes."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping, Sequence
from typing import Any

from lib.book import chapters
from lib.book.display import plain, say
from lib.book.registry import EXPERIMENTS
from lib.book.timings import load
from lib.core.read.tables import table
from lib.core.record.store import StoredRun


def parameter_rows(chapter: chapters.Chapter) -> list[tuple[str, str, str, str]]:
    """(name, type, default, meaning) of each parameter; the meaning is the comment beside it."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(chapter.parameter_cell()).readline):
        if token.type == tokenize.COMMENT:
            comments[token.line.split(":")[0].split("=")[0].strip()] = token.string.lstrip("# ")
    return [(name, type(value).__name__, repr(value), comments.get(name, "")) for name, value in chapter.defaults().items()]


def _minutes(seconds: float) -> str:
    return (
        f"{seconds:.0f} seconds"
        if seconds < 100
        else f"{seconds / 60:.0f} minutes"
        if seconds < 6000
        else f"{seconds / 3600:.1f} hours"
    )


def _seconds(each: Sequence[float]) -> str:
    """What a run took: the mean of similar times, or the range of those that lie far apart."""
    far = max(each) > 4 * min(each)
    return f"{min(each):.0f} to {max(each):.0f} s" if far else f"about {sum(each) / len(each):.0f} s"


def times(name: str, runs: Sequence[StoredRun]) -> str:
    """With stored results as benchmarks/chapters.json has it; from nothing by the time that the stored runs took."""
    try:
        measured = load("chapters")
        stored = f"With stored results it takes {_minutes(measured['seconds'][name])} on {measured['cores']} cores"
    except LookupError:
        stored = "How long it takes with stored results has not been measured"
    lines = [f"- {stored}."]
    if not runs:
        return f"{lines[0]}\n- It trains nothing, so a GPU makes no difference."
    on_cpu, on_gpu = ([run for run in runs if run.provenance["device"].startswith(kind)] for kind in ("cpu", "cuda"))
    if on_cpu:
        total = sum(run.seconds * (run.provenance.get("threads") or 1) for run in on_cpu)
        by_depth: dict[int, list[float]] = {}
        for run in on_cpu:
            by_depth.setdefault(run.spec.model.depth, []).append(run.seconds)
        each = ", ".join(f"{_seconds(v)} at depth {d}" for d, v in sorted(by_depth.items()))
        part = "" if len(on_cpu) == len(runs) else f"{len(on_cpu)} of "
        lines.append(
            f"- Training {part}its {len(runs)} runs from nothing took about {_minutes(total / 2)} on two cores "
            f"({plain(on_cpu[0].provenance['device'])}), waiting for other work there included; a run took {each}."
        )
    total = sum(run.seconds for run in on_gpu)
    lines.append(
        f"- On a GPU: {_minutes(total)} of process time."
        if on_gpu
        else "- On a GPU: not measured; none of its stored runs is from one."
    )
    return "\n".join(lines)


def alone(prefix: str) -> str:
    """What the experiments of this prefix cost on a machine without other work, from benchmarks/study.json."""
    try:
        record = load("study")
    except LookupError:
        return "- What the whole study costs alone on a machine has not been measured."
    now = {name: len(e.specs("laptop")) for name, e in EXPERIMENTS.items() if name.startswith(prefix)}
    timed = {name: record["experiments"][name] for name in now if name in record["experiments"]}
    if not timed:
        return "- What the whole study costs alone on a machine has not been measured."
    runs, seconds = sum(now.values()), sum(e["seconds"] * now[name] / e["runs"] for name, e in timed.items())
    asked = sum(min(e["runs"], now[name]) for name, e in timed.items())
    of = "" if asked == runs else f" of {asked} of them and counts the others like these"
    return (
        f"- Alone on {record['cores']} cores all {runs} runs "
        f"of the study would take about {_minutes(seconds)}, by a benchmark that trains {record['share']} of the steps{of}."
    )


def rerun(
    name: str, runs: Sequence[StoredRun] = (), example: Mapping[str, Any] | None = None, study: str | None = None
) -> None:
    """Say it for the chapter of this name or number; `runs` are those that it shows, `example` what one may pass to it,
    `study` the prefix of the experiments of a study that was timed as a whole."""
    chapter = chapters.find(name)
    given = "".join(f" -p {key} {value}" for key, value in (example or {}).items())
    number = chapter.name[:2] if chapter.name[0].isdigit() else chapter.name
    text = (
        f"```bash\npython -m lib run {number}{given}\npapermill book/{chapter.name}.ipynb out.ipynb{given}\n```\n\n"
        "The first command checks what you pass, and puts the result into `_build/executed/`.\n\n"
    )
    if rows := parameter_rows(chapter):
        escaped = (tuple(cell.replace("|", "\\|") for cell in row) for row in rows)
        cells = [(f"`{name}`", kind, f"`{default}`", meaning) for name, kind, default, meaning in escaped]
        text += table(("parameter", "type", "default", "meaning"), cells) + "\n\n"
    else:
        text += "It has no parameters.\n\n"
    say(text + times(chapter.name, runs) + (f"\n{alone(study)}" if study is not None else ""))
