"""The engine page: tables and figures drawn from the timings in benchmarks/, and prose with their numbers."""

from __future__ import annotations

import json
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib.book.paths import ROOT, note_read
from lib.core.read.style import BLUE, GREY, VERMILLION, WIDTH, look
from lib.core.read.tables import table
from lib.core.read.words import number_of

Record = dict[str, Any]
FOLDER = ROOT / "benchmarks"


def load(name: str) -> Any:
    """A record of benchmarks/. Raises LookupError where it was not measured yet."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise LookupError(f"benchmarks/{name}.json is not there: measure it first, see benchmarks/README.md.")
    note_read(path)
    return json.loads(path.read_text())


def load_speed() -> tuple[list[Record], list[Record]]:
    """The rows of the table, and those of the plot."""
    records = load("speed")
    return [r for r in records if "against" not in r], [r for r in records if "against" in r]


def how(timings: list[Record]) -> str:
    return "; ".join(
        f"{t['size']}: {t['workers']} process{'es' * (t['workers'] > 1)} of {number_of(t['slots'])}" for t in timings
    )


def speed_text(timings: list[Record], programs: list[Record]) -> str:
    """Which rows are of a program that the engine would not choose any more, by the timings of the two."""
    shape = lambda r: (r["d_model"], r["depth"], r["batch"])
    gains = {shape(r): r["ratio"] for r in programs if r["ratio"] > 1}
    return "".join(
        f" The row *{t['size']}* is of the compiled program; by the timings the engine chooses the native one, "
        f"{gains[shape(t)]:.1f} times as fast there (second table)."
        for t in timings
        if t["backend"] == "compiled" and shape(t) in gains
    )


def _digits(value: float, unit: str) -> str:
    """Three digits, in full, with a unit that stays on the line."""
    return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1 if value >= 10 else 2}f}\u00a0{unit}"


def speed_table(timings: list[Record]) -> str:
    """Plain loop against engine, one row a size, in Markdown."""
    head = (
        "size",
        "width, depth, batch",
        "program",
        "products in",
        "plain loop",
        "engine",
        "ratio",
        "same allocator",
        "of the peak",
        "memory a run",
    )
    rows = [
        (
            t["size"],
            f"{t['d_model']}, {t['depth']}, {t['batch']}",
            t["backend"],
            t["precision"],
            _digits(t["reference_ms"], "ms"),
            _digits(t["engine_ms"], "ms"),
            f"{t['ratio']:.1f}",
            f"{t['ratio_same_allocator']:.1f}",
            f"{t['fraction_of_peak']:.0%}",
            _digits(t["memory_mb_per_run"], "MB"),
        )
        for t in timings
    ]
    return table(head, rows)


def equal_text(timings: list[Record]) -> str:
    """What the engine gains where both it and the plain loop multiply in single precision."""
    gains = [t["ratio_same_allocator"] for t in timings]
    return (
        f"With both programs in single precision, and the same allocator, the engine is {min(gains):.1f} to {max(gains):.1f} "
        "times as fast. The larger ratios above are of products in bfloat16, and of the native program, which needs them. "
        f"*{machine_of(timings)}; another machine than above, without bfloat16.*"
    )


def machine_of(timings: list[Record]) -> str:
    first = timings[0]
    return f"{first['device']}, products in {first['precision']}, measured peak {first['peak_tflops']:.2f} TFLOP/s"


_AXES = {"runs": "runs trained at once", "depth": "depth (layers)", "width": "width"}


def draw_scaling(timings: list[Record]) -> Figure:
    """Milliseconds of one step of one run against the number of runs, depth and width."""
    with look():
        figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 2.8))
        for ax, (against, label) in zip(axes, _AXES.items(), strict=True):
            rows = [t for t in timings if t.get("against") == against]
            values = [t["value"] for t in rows]
            ax.plot(values, [t["engine_ms"] for t in rows], "o-", color=BLUE, label="engine (native)")
            if rows and rows[0]["reference_ms"]:
                ax.plot(values, [t["reference_ms"] for t in rows], "s--", color=GREY, label="plain loop")
            ax.set_xlabel(label)
            if against != "depth":
                ax.set_xscale("log", base=2)
                ax.set_xticks(values, [str(v) for v in values])
            else:
                ax.set_xticks(values)
            ax.minorticks_off()
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("ms a step of one run")
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_cluster(record: Record) -> Figure:
    """Hours for the paper's phase diagram against the number of GPUs, as simulated, beside the ideal."""
    rows = record["rows"]
    gpus, hours = [row["gpus"] for row in rows], [row["hours"] for row in rows]
    with look():
        figure, ax = plt.subplots(figsize=(WIDTH * 0.6, 2.6))
        ax.loglog(gpus, hours, "o-", color=VERMILLION, label="simulated")
        ax.loglog(gpus, [hours[0] / g for g in gpus], "--", color=GREY, label="ideal")
        ax.axhline(rows[0]["longest_run_hours"], color=BLUE, linewidth=1, label="the longest run alone")
        ax.set_xlabel("GPUs")
        ax.set_ylabel("hours")
        ax.set_xticks(gpus, [f"{g:,}" for g in gpus])
        ax.minorticks_off()
        ax.legend()
    return figure


def cluster_table(record: Record) -> str:
    rows = [
        (f"{r['gpus']:,}", r["jobs"], f"{r['hours']:.2g}", f"{r['speed_up']:.3g}", f"{r['efficiency']:.0%}")
        for r in record["rows"]
    ]
    return table(("GPUs", "jobs", "hours", "speed-up", "efficiency"), rows)


def speed_summary(timings: list[Record]) -> str:
    """One line for regression tests."""
    return "; ".join(f"{t['size']}: ratio {t['ratio']:.1f}, {t['fraction_of_peak']:.0%} of the peak" for t in timings)


def scaling_summary(timings: list[Record]) -> str:
    counts = {against: sum(t["against"] == against for t in timings) for against in _AXES}
    return ", ".join(f"{n} points against {against}" for against, n in counts.items())


def _before_and_after(records: list[Record]) -> tuple[Record, Record, float]:
    old, new = (next(r for r in records if r["which"] == which) for which in ("before", "after"))
    return old, new, old["seconds"] / old["run_steps"] / (new["seconds"] / new["run_steps"])


def retrain_lines(records: list[Record]) -> str:
    """Before against after on the same part of the phase diagram."""
    old, new, ratio = _before_and_after(records)
    return (
        f"As a whole: {new['runs']} runs of the laptop phase diagram (depth {new['depth']}, every γ and learning "
        "rate, one seed) took "
        f"{old['seconds'] / 60:.1f} minutes from nothing without the native program (commit `{old['commit']}`) and "
        f"{new['seconds'] / 60:.1f} minutes with it, compilation included: {ratio:.1f} times faster a step."
    )


def retrain_summary(records: list[Record]) -> str:
    return f"retraining: {_before_and_after(records)[2]:.1f} times faster"


def cluster_summary(record: Record) -> str:
    return "; ".join(f"{r['gpus']} GPUs {r['hours']:.2g} h" for r in record["rows"])


def cluster_lines(record: Record, timings: list[Record]) -> str:
    """What the diagram costs, here and on GPUs, and what limits the sweep."""
    paper = next(t for t in timings if t["size"] == "paper")
    days = record["total_flops"] / (paper["fraction_of_peak"] * paper["peak_tflops"] * 1e12) / 86_400
    one, last, a = record["rows"][0], record["rows"][-1], record["assumed"]
    return f"""
The whole paper profile is {record["runs"]} runs and {record["total_flops"]:.2g} floating-point operations. Assume that
a GPU keeps up {a["sustained_flops"] / 1e12:.0f} TFLOP/s with {a["slots"]} runs at a time. Then that is
{one["hours"]:.0f} GPU-hours. On the two cores that were measured above, at the share of their peak that depth {paper["depth"]}
reaches, it is {days:.0f} days.

A hundred cards still have several runs each to do. With {last["gpus"]:,} there are more cards than runs, and nothing is
left to share out: the diagram takes as long as its longest run, {one["longest_run_hours"] * 60:.0f} minutes, of which
{a["start_seconds"]:.0f} seconds are start-up. A run is a chain of steps; splitting one over cards would cost more in messages
than it has in arithmetic. Efficiency goes before that: with few runs a card, starting kernels takes longer than their
arithmetic, and every process pays its start-up for fewer runs. Storing is no limit: one result took
{record["seconds_to_store"] * 1e3:.1f} ms here, under a lock that all share.
"""


def precision_lines(record: Record) -> str:
    same = record["same_label"]
    neither = sum("exact: neither" in row for row in record["labels"])
    widest = max(record["rows"], key=lambda r: abs(r["difference"]))
    clear = abs(widest["difference"]) > 2 * widest["difference_se"]
    return (
        f"{record['runs']} runs, depth {record['depth']}, {record['seeds']} seeds a γ. The label of a run (symmetric, "
        f"inferential or neither, at .95) stayed the same in {same['compiled']} of them with the compiler and in "
        f"{same['native']} with the native program. But {neither} of the {record['runs']} labels are “neither”, which hides "
        f"whatever changes below .95. The largest mean difference is {widest['difference']:+.2f} ± "
        f"{widest['difference_se']:.2f} ({widest['metric']}, γ = {widest['gamma']:g}, {widest['program']}): "
        + (
            "more than two standard errors."
            if clear
            else f"within two standard errors, but {record['seeds']} seeds exclude no effect of this size."
        )
    )


def precision_summary(record: Record) -> str:
    return f"labels kept: {record['same_label']} of {record['runs']}"


def precision_table(record: Record) -> str:
    """Each metric as single precision gave it and what the faster programs gave instead, with the spread over seeds."""
    rows = [
        (
            f"{r['gamma']:g}",
            r["metric"],
            f"{r['exact']:.3f}",
            f"{r['spread']:.3f}",
            r["program"],
            f"{r['difference']:+.3f} ± {r['difference_se']:.3f}",
        )
        for r in record["rows"]
    ]
    return table(("γ", "metric", "single precision", "spread over seeds", "program", "mean difference ± standard error"), rows)


def programs_table(records: list[Record]) -> str:
    """Native against compiled, one row a shape, in Markdown."""
    rows = []
    for r in records:
        low, high = r["ratio_range"]
        cells = (
            r["form"],
            f"{r['d_model']}, {r['depth']}, {r['batch']}",
            _digits(r["native_ms"], "ms"),
            _digits(r["compiled_ms"], "ms"),
            f"{r['ratio']:.2f}, {low:.2f} to {high:.2f}",
            f"{r['native_of_peak']:.0%}",
            f"{r['compiled_of_peak']:.0%}",
        )
        rows.append(cells)
    head = (
        "form",
        "width, depth, batch",
        "native",
        "compiled",
        "ratio, its range",
        "native of the peak",
        "compiled of the peak",
    )
    return table(head, rows)


def programs_text(records: list[Record]) -> str:
    """Which program the plan should choose, and how much that gains."""
    slower = [r for r in records if r["ratio"] < 1]
    verdict = (
        "The native program is the faster one at every shape that was timed, so it is chosen wherever it can be had"
        if not slower
        else "The native program is slower at " + ", ".join(f"width {r['d_model']}, depth {r['depth']}" for r in slower)
    )
    best, least = max(records, key=lambda r: r["ratio"]), min(records, key=lambda r: r["ratio"])
    peaks = [r["peak_tflops"] for r in records]
    return (
        f"*Of the peak* is by the peak of the same minutes, {min(peaks):.2f} to {max(peaks):.2f} TFLOP/s, as other work shared "
        "the machine. So compare within a row, not down a column.\n\n"
        f"{verdict}: {best['ratio']:.1f} times as fast as the compiled one for {best['form']} at width {best['d_model']}, "
        f"{least['ratio']:.1f} times at width {least['d_model']}. The narrower the model, the more of a compiled step is "
        f"calls and memory; at the paper's width both are near what the machine can multiply."
    )


def programs_summary(records: list[Record]) -> str:
    return "native against compiled: " + ", ".join(f"{r['ratio']:.2f}" for r in records)
