"""The engine page: tables, figures and facts from the timings in benchmarks/."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.book.timings import load
from lib.composition import controls
from lib.composition.flip import CONFIRM
from lib.composition.gpt2 import claims as gpt2
from lib.composition.task import LENGTH
from lib.core.model.transformer import ModelSpec
from lib.core.read.fact import Fact, in_words, span
from lib.core.read.roundings import Comparison, level, tests
from lib.core.read.style import BLUE, DARK, GREY, LIGHT, WIDTH, look
from lib.core.read.tables import table
from lib.core.record.store import Store, load_stored
from lib.core.train.plan import training_work
from lib.in_context.out_of_domain import claims as icl
from lib.language import cogs, scan
from lib.language.experiments import COGS, cogs_specs, scan_specs
from lib.language.mixture import claims as mixture
from lib.language.prontoqa import claims as prontoqa
from lib.language.scan_cogs import claims as scan_cogs
from lib.language.study import cogs_data
from lib.reasoning_bias.memory_and_reasoning import claims as bias

Record = dict[str, Any]


def load_speed() -> tuple[list[Record], list[Record]]:
    """The rows of the table, and those of the plot."""
    records = load("speed")
    return [r for r in records if "against" not in r], [r for r in records if "against" in r]


def _digits(value: float, unit: str) -> str:
    """Three digits, in full, with a unit that stays on the line."""
    return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1 if value >= 10 else 2}f}\u00a0{unit}"


def gpu_facts(store: Store, cluster: Mapping[str, Any]) -> dict[str, Fact]:
    """What runs of chapter 2 say of a GPU: their steps by the seconds of the card that they took, several programs at once.
    cluster: the record of what the profile cluster costs."""
    on = lambda runs, kind: [run for run in runs if run.provenance["device"].startswith(kind)]
    one_gpu = (controls.PAPER_SIZE, controls.DIP, controls.ROUNDING)
    paper, around, moved = (controls.stored(experiment, store, controls.ONE_GPU) for experiment in one_gpu)
    confirmed = load_stored(CONFIRM.specs("laptop"), store)
    native = [run for run in on(confirmed, "cpu") if run.provenance["program"] == "native"]
    rate = lambda runs: sum(r.steps for r in runs) / sum(r.seconds for r in runs) if runs else None
    spec = controls.PAPER_SIZE.specs(controls.ONE_GPU)[0]
    flops = 6 * spec.train.batch * cast(ModelSpec, spec.model).multiply_adds(LENGTH)
    fast = rate(on(paper, "cuda"))
    gpt = [*_gpt("scan"), *_gpt("cogs")] if fast else []
    rests = "steps of one run a second, width 128, single precision"
    whole = cluster["total_flops"]
    return {
        "gpu-runs": Fact(len(on([*paper, *around, *moved, *confirmed], "cuda")), "{}", "runs of chapter 2 that a GPU trained"),
        "gpu-rate": Fact(rate(on(around, "cuda")), "{:,.0f}", f"{rests}, two other programs on the card"),
        "core-rate": Fact(rate(native), "{:.0f}", f"{rests}, one core, native program"),
        "gpu-paper": Fact(
            fast, "{:.0f}", "steps of one run a second at the paper's size, single precision, other programs beside"
        ),
        "gpu-tflops": Fact(fast and fast * flops / 1e12, "{:.0f}", "TFLOP/s of this"),
        "cluster-slow": Fact(fast and whole / (fast * flops) / 3600, "{:,.0f}", "hours of the whole profile at that many"),
        "gpt-runs": Fact(len(gpt) or None, "{}", "runs of SCAN and COGS in the profile paper"),
        "gpt-hours": Fact(
            fast and sum(gpt) / (fast * flops) / 3600, "{:,.0f}", "hours for their operations, counted, at that many TFLOP/s"
        ),
    }


Compared = dict[str, tuple[Comparison, float]]
"""{what is compared: (numbers, how far they may be off)}, as lib.core.read.roundings has them."""


COMPARED = {
    "chapter 9": bias.PRECISION,
    "GPT-2 of chapter 13": icl.PRECISION,
    "pre-norm of chapter 8": gpt2.PRECISION,
    "SCAN of chapter 20": scan_cogs.PRECISION,
    "COGS of chapter 20": scan_cogs.COGS_PRECISION,
    "PrOntoQA of chapter 21": prontoqa.PRECISION,
    "the mix of chapter 22": mixture.PRECISION,
}
"""{whose bfloat16 is held against single precision: what is asked}"""


def roundings(store: Store) -> dict[str, Compared]:
    """What is compared of each of COMPARED; nothing of those whose runs are not all stored."""
    found: dict[str, Compared] = {}
    for title, question in COMPARED.items():
        with suppress(LookupError):
            found[title] = question.compared(store, "laptop")
    return found


def roundings_table(found: Mapping[str, Compared]) -> str:
    """Every number that is compared: how far off bfloat16 and the last bit lead, the mean shift with its interval, and whether
    the tests of its claim tell bfloat16 from the bit."""
    rows = []
    for title, numbers in found.items():
        for name, (c, _) in numbers.items():
            shift = Fact(c.mean_shift, "{:+.3f} ({:+.3f} to {:+.3f})", "").text
            apart = "yes" if any(p < level(numbers) for p in tests(c).values()) else "no"
            rows.append((title, name, f"{c.far.mean():.3f}", f"{c.null.mean():.3f}", shift, apart))
    return table(("models", "what", "by bfloat16", "by the bit", "mean shift [95%]", "told apart?"), rows)


def draw_roundings(found: Mapping[str, Compared]) -> Figure:
    """Run by run, how far bfloat16 is from single precision, above how far the last bit of the initial weights leads; every
    number in units of how far its mean may be off."""
    high = len(found) + sum(map(len, found.values()))
    with look():
        figure, ax = plt.subplots(figsize=(WIDTH, 0.8 + 0.42 * high))
        ax.axvspan(-1, 1, color=LIGHT, alpha=0.5, lw=0)
        ax.axvline(0, color=GREY, lw=0.8)
        write = lambda y, words, **how: ax.text(0, y, words, transform=ax.get_yaxis_transform(), fontsize="small", **how)
        row = 0
        for title, numbers in found.items():
            write(row + 0.7, title, weight="bold")
            for name, (c, allowed) in numbers.items():
                row += 1
                write(row + 0.25, name)
                for y, values, colour in ((0.5, c.shift, BLUE), (0.75, c.moved - c.single, GREY)):
                    ax.plot(values / allowed, np.full(len(values), row + y), "o", color=colour, alpha=0.7, ms=4.5)
                ax.plot(np.array(c.mean_shift[1:]) / allowed, [row + 0.5] * 2, color=DARK, lw=2.5, solid_capstyle="butt")
            row += 1
        ax.set(yticks=(), ylim=(high + 0.1, 0), xlabel="difference, in units of what is allowed of a mean")
        ax.spines.left.set_visible(False)
        reach = max(map(abs, ax.get_xlim()))
        ax.set_xlim(-reach, reach)
        marks = [Line2D([], [], color=colour, marker="o", ls="", alpha=0.7, ms=4.5) for colour in (BLUE, GREY)]
        marks.append(Line2D([], [], color=DARK, lw=2.5))
        names = ("bfloat16", "last bit moved", "mean of bfloat16, 95%")
        figure.legend(marks, names, loc="outside upper center", ncols=3, handletextpad=0.4, columnspacing=1)
    return figure


def _gpt(task: str) -> list[float]:
    """Operations of every run of GPT-2's own size on SCAN or COGS, whose rows are as long as the laptop's are on average."""
    if task == "scan":
        rows, specs = scan.rows(), scan_specs("paper")
    else:
        data, words = cogs_data(*dict(COGS["laptop"].task).values())
        rows, specs = cogs.encode(data.train, words), cogs_specs("paper")
    length = round(float(rows.length.float().mean()))
    return [2 * training_work(spec, length, every_position=True) for runs in specs.values() for spec in runs]


def facts(
    timings: list[Record],
    scaling: list[Record],
    single: list[Record],
    programs: list[Record],
    retrain: list[Record],
    precision: Record,
    cluster: Record,
) -> dict[str, Fact]:
    """What the text of the engine page says, of the records by their names."""
    shape = lambda r: (r["d_model"], r["depth"], r["batch"])
    paper = next(t for t in timings if t["size"] == "paper")
    at_paper = next(r["ratio"] for r in programs if shape(r) == shape(paper))
    old, new, faster = _before_and_after(retrain)
    widest = max(precision["rows"], key=lambda r: abs(r["difference"]))
    one, last, assumed = cluster["rows"][0], cluster["rows"][-1], cluster["assumed"]
    days = cluster["total_flops"] / (paper["fraction_of_peak"] * paper["peak_tflops"] * 1e12) / 86_400
    both = [(t, s) for t in timings for s in single if shape(t) == shape(s)]
    by_runs = {t["value"]: t["engine_ms"] for t in scaling if t["against"] == "runs"}
    neither = sum("exact: neither" in row for row in precision["labels"])
    found = {
        "both-bf16": Fact(both[0][0]["ratio_same_allocator"], "{:.1f}", "plain loop over engine, first table"),
        "both-single": Fact(both[0][1]["ratio_same_allocator"], "{:.1f}", "the same size, second table"),
        "runs-one": Fact(by_runs[1], "{:.1f}", "milliseconds a step, one run"),
        "runs-many": Fact(by_runs[16], "{:.1f}", "milliseconds a step of one run, sixteen at once"),
        "native-at-paper": Fact(at_paper, "{:.1f}", "native over compiled program, at the paper's size and depth"),
        "native-most": Fact(max(r["ratio"] for r in programs), "{:.1f}", "native over compiled program, the largest ratio"),
        "native-least": Fact(min(r["ratio"] for r in programs), "{:.1f}", "the same, the smallest"),
        "peak-low": Fact(min(r["peak_tflops"] for r in programs), "{:.2f}", "TFLOP/s of the fastest product, lowest"),
        "peak-high": Fact(max(r["peak_tflops"] for r in programs), "{:.2f}", "the same, highest"),
        "retrain-runs": Fact(new["runs"], "{}", f"depth {new['depth']}, every γ and learning rate, one seed"),
        "retrain-before": Fact(old["seconds"] / 60, "{:.1f}", f"minutes, commit {old['commit']}"),
        "retrain-after": Fact(new["seconds"] / 60, "{:.1f}", f"minutes, commit {new['commit']}"),
        "retrain-ratio": Fact(faster, "{:.1f}", "time of a step before over after"),
        "neither": Fact(in_words(neither), "{}", "labels of these runs in single precision"),
        "widest": Fact((widest["difference"], widest["difference_se"]), "{:+.2f} ± {:.2f}", "mean difference ± standard error"),
        "widest-where": Fact(
            (widest["metric"], widest["gamma"]),
            "{} share at γ = {:g}",
            f"the largest of the table; {widest['program']} program",
        ),
        "precision-seeds": Fact(in_words(precision["seeds"]), "{}", "seeds at each γ"),
        "cluster-runs": Fact(cluster["runs"], "{}", "specs of the profile paper"),
        "cluster-flops": Fact(cluster["total_flops"], "{:.1e}", "operations of the profile paper, counted"),
        "cluster-sustained": Fact(assumed["sustained_flops"] / 1e12, "{:.0f}", "assumed"),
        "cluster-slots": Fact(assumed["slots"], "{}", "assumed"),
        "cluster-hours": Fact(one["hours"], "{:.0f}", "hours of one GPU, simulated"),
        "cluster-days": Fact(days, "{:.0f}", f"at the share of the peak that depth {paper['depth']} reaches there"),
        "cluster-longest": Fact(last["longest_run_hours"] * 60, "{:.0f}", "minutes, simulated"),
        "cluster-start": Fact(assumed["start_seconds"], "{:.0f}", "assumed"),
    }
    for name, rows in (("single", single), ("bf16", [t for t in (*timings, *scaling) if t["ratio_same_allocator"]])):
        for end, value in zip(("low", "high"), span(r["ratio_same_allocator"] for r in rows), strict=True):
            rests = f"plain loop over engine, same allocator, products in {rows[0]['precision']}"
            found[f"{name}-{end}"] = Fact(value, "{:.1f}", rests)
    for program, kept in precision["same_label"].items():
        found[f"same-{program}"] = Fact((kept, precision["runs"]), "{} of {}", f"labels kept, {program} program")
    return found


def language_facts(records: list[Record]) -> dict[str, Fact]:
    """How many times as fast the engine trains language models as a plain loop: the least and the most of the tasks."""
    found = {}
    for name, precision in (("bf16", "bfloat16"), ("single", "float32")):
        ratios = span(r[precision]["ratio"] for r in records if precision in r)
        rests = (
            f"plain loop, in single precision, over engine, products in {precision}: {', '.join(r['task'] for r in records)}"
        )
        for end, value in zip(("low", "high"), ratios, strict=True):
            found[f"language-{name}-{end}"] = Fact(value, "{:.1f}", rests)
    return found


def speed_table(timings: list[Record]) -> str:
    """Plain loop against engine, one row a size, in Markdown."""
    head = (
        "size",
        "width, depth, batch",
        "program, products in",
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
            f"{t['backend']}, {t['precision']}",
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


def cluster_table(record: Record) -> str:
    rows = [
        (f"{r['gpus']:,}", r["jobs"], f"{r['hours']:.2g}", f"{r['speed_up']:.3g}", f"{r['efficiency']:.0%}")
        for r in record["rows"]
    ]
    return table(("GPUs", "jobs", "hours", "speed-up", "efficiency"), rows)


def _before_and_after(records: list[Record]) -> tuple[Record, Record, float]:
    old, new = (next(r for r in records if r["which"] == which) for which in ("before", "after"))
    return old, new, old["seconds"] / old["run_steps"] / (new["seconds"] / new["run_steps"])


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
