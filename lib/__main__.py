"""python -m lib: run a chapter, build or print the book, train a sweep, see what is stored and what it shows."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

# Nothing of ours is imported here: it takes seconds, and main answers Ctrl-C from the first of them.
_PARAMETER = ("-p", "--parameter")


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(prog="python -m lib", description=__doc__)
    commands = main.add_subparsers(dest="command", required=True, metavar="command")

    run = commands.add_parser("run", help="execute one chapter with papermill at parameters of your own")
    run.add_argument("chapter", help="name, number or file of the chapter, such as 02")
    run.add_argument(*_PARAMETER, action="append", default=[], metavar="NAME VALUE", help="or NAME=VALUE; may be repeated")
    run.add_argument("-o", "--output", type=Path, help="where the executed notebook goes (default: _build/executed/)")

    build = commands.add_parser("build", help="execute the chapters that are stale and build the book")
    build.add_argument("--all", action="store_true", help="execute every chapter, the fresh ones too")
    build.add_argument("--no-execute", action="store_true", help="build from the outputs that the notebooks have")
    build.add_argument("--check", action="store_true", help="only say which chapters are stale, and fail if one is")
    build.add_argument("--strict", action="store_true", help="fail if a chapter is stale or missing, not only if one fails")

    sweep = commands.add_parser("sweep", help="train what the store lacks of an experiment")
    sweep.add_argument("experiment", help="name of an experiment as in `status`, or all")
    sweep.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    sweep.add_argument("--engine", default="local", choices=("local", "ray"), help="processes here (default), or a Ray cluster")
    sweep.add_argument("--address", help="host:port of the cluster (default: one of this machine alone)")
    sweep.add_argument("--cpus-per-job", type=float, default=1, metavar="N", help="with --engine ray (default: 1)")
    sweep.add_argument("--gpus-per-job", type=float, default=0, metavar="N", help="with --engine ray; a fraction shares a card")
    _add_options(sweep)

    status = commands.add_parser("status", help="what is stored, stale and missing, and what the missing part would cost")
    status.add_argument("--json", action="store_true")
    status.add_argument("--verify", action="store_true", help="read every file instead, and list what is missing or damaged")

    bench = commands.add_parser("bench", help="time the engine against a plain loop and against the machine's peak")
    bench.add_argument("--size", choices=("laptop", "paper"), action="append", help="default: both")
    bench.add_argument("--depth", type=int, default=3, help="default: 3")
    bench.add_argument("--width", type=int, help="of the model; default: the size's")
    bench.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    bench.add_argument("--scaling", action="store_true", help="also against the number of runs, depth and width (half an hour)")
    bench.add_argument("--json", action="store_true")
    _add_options(bench)

    pdf = commands.add_parser("pdf", help="print the built pages into one PDF, and link it from the first page")
    pdf.add_argument("-o", "--output", type=Path, help="where it goes (default: beside the pages)")

    claims = commands.add_parser("claims", help="every claim with what was measured")
    claims.add_argument("--json", action="store_true")
    claims.add_argument("--profile", default="laptop", help="whose results to judge by (default: laptop)")
    return main


def _add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", default="auto", help="auto (default), cpu or cuda")
    command.add_argument("--slots", type=int, help="runs trained as one program (default: from device and memory)")
    command.add_argument("--workers", type=int, help="processes (default: one a core where there is enough to train)")
    command.add_argument("--memory", type=float, metavar="GB", help="what training may take (default: most of what is free)")
    command.add_argument("--fp32", action="store_true", help="matrix products in single precision")


def _options(args: argparse.Namespace) -> Any:
    from lib.core.record.spec import check_number
    from lib.core.train.plan import Options

    memory = None if args.memory is None else check_number("--memory", args.memory, low=0, strict=True) * 1e9
    return Options(device=args.device, slots=args.slots, workers=args.workers, bf16=not args.fp32, memory=memory)


def _joined(words: list[str]) -> list[str]:
    """`-p NAME VALUE` as `-p NAME=VALUE`: to argparse a value such as -1e-3 is an option of its own."""
    found, rest = [], list(words)
    while rest:
        found.append(rest.pop(0))
        if found[-1] in _PARAMETER and len(rest) > 1 and "=" not in rest[0] and re.match(r"[^-]|$|-\.?\d|-inf|-nan", rest[1]):
            found.append(f"{rest.pop(0)}={rest.pop(0)}")
    return found


def _run(args: argparse.Namespace) -> None:
    from lib.book import chapters
    from lib.book.recall import BUILD

    chapter = chapters.find(args.chapter)
    if lacking := [word for word in args.parameter if "=" not in word]:
        raise chapters.ChapterError(f"the parameter {lacking[0]!r} has no value: write -p {lacking[0]} VALUE.")
    given = chapters.parse_parameters(chapter, dict(word.split("=", 1) for word in args.parameter))
    output = args.output or BUILD / "executed" / chapter.path.name
    chapters.check_output(output)
    print(chapters.execute(chapter, given, output))


def _build(args: argparse.Namespace) -> None:
    from lib.book.build import build, check

    if args.check:
        check()
        return
    print(build(execute=not args.no_execute, strict=args.strict, everything=args.all))


def _sweep(args: argparse.Namespace) -> None:
    from lib.book.paths import default_store
    from lib.book.registry import EXPERIMENTS, experiment
    from lib.core.record.spec import SpecError
    from lib.core.record.store import PlaceError, StoreError
    from lib.core.sweep.jobs import SweepError, sweep
    from lib.core.train.checkpoint import CheckpointError

    if args.engine != "ray" and (args.address or args.gpus_per_job or args.cpus_per_job != 1):
        raise SpecError("--address, --cpus-per-job and --gpus-per-job are for a cluster: add --engine ray.")
    options = _options(args)
    chosen = list(EXPERIMENTS.values()) if args.experiment == "all" else [experiment(args.experiment)]
    specs = {e: e.specs(args.profile) for e in chosen}
    if len(chosen) == 1 and not specs[chosen[0]]:
        others = ", ".join(p for p in chosen[0].profiles if chosen[0].specs(p)) or "none"
        raise SpecError(f"{chosen[0].name} has no runs of the profile {args.profile!r}: it has them of {others}.")
    failed = {}
    with contextlib.ExitStack() as stack:
        executor = None
        if args.engine == "ray":
            from lib.core.sweep.cluster import RayExecutor

            executor = stack.enter_context(RayExecutor(args.address, args.cpus_per_job, args.gpus_per_job))
        for e in (e for e in chosen if specs[e]):
            try:
                report = sweep(specs[e], default_store(), e.make_study, options, e.keep, executor)
            except PlaceError:
                raise
            except (StoreError, CheckpointError, SweepError) as error:
                if len(chosen) == 1:
                    raise
                failed[e.name] = error  # the other experiments do not depend on it
                print(f"{e.name}: {error}", file=sys.stderr)
                continue
            print(f"{e.name}: {report.found} runs were stored already, {report.trained} were trained.")
    if failed:
        what = "\n".join(f"  {name}: {error}" for name, error in failed.items())
        raise SweepError(f"{len(failed)} of {len(chosen)} experiments could not be completed:\n{what}")


def _bench(args: argparse.Namespace) -> None:
    from lib.book.paths import ROOT

    sys.path.insert(0, str(ROOT))
    from benchmarks import speed

    how = {"seconds": 1.0, "rounds": 3} if args.quick else {}
    options = _options(args)
    timings = [speed.time_size(size, args.depth, options, args.width, **how) for size in args.size or speed.SIZES]
    records = [asdict(timing) for timing in timings]
    if args.scaling:
        records += speed.scaling(options)
    print(json.dumps(records, indent=1) if args.json else speed.as_table(timings))


def _status(args: argparse.Namespace) -> None:
    from lib.book import recall

    if args.verify:
        from lib.book import status
        from lib.book.paths import default_store

        status.verify(default_store(), args.json)
        return
    now = recall.fingerprint("json" if args.json else "text")
    if (said := recall.recalled(now)) is None:
        from lib.book import status
        from lib.book.paths import default_store

        store = default_store()
        items = status.status(store)
        said = json.dumps(status.as_json(items), indent=1) if args.json else f"{status.place(store)}\n{status.as_text(items)}"
        recall.keep(now, said)
    print(said)


def _pdf(args: argparse.Namespace) -> None:
    from lib.book.pdf import print_book

    print(print_book(args.output))


def _claims(args: argparse.Namespace) -> None:
    from lib.book.claims import evaluate, failed, totals, verdict
    from lib.book.paths import default_store
    from lib.book.registry import CLAIMS
    from lib.core.sweep.experiment import check_profile

    profile, store = check_profile(args.profile), default_store()
    records = evaluate(CLAIMS, store, profile)
    if args.json:
        print(json.dumps(records, indent=1))
        return
    for r in records:
        print(f"{verdict(r):20} {r['item']:10} {r['statement']}\n{'':31} {r['measured']}")
        if words := failed(r):
            print(f"{'':31} {words}")
    print(f"\n{totals(records)}")


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 with one sentence on stderr, or 130 after Ctrl-C."""
    args = parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    commands = {
        "run": _run,
        "build": _build,
        "sweep": _sweep,
        "bench": _bench,
        "status": _status,
        "pdf": _pdf,
        "claims": _claims,
    }
    with contextlib.suppress(AttributeError):  # γ and − must not end a command where they cannot be written
        cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")
    try:
        commands[args.command](args)
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        left = ", the others left a checkpoint; the same command goes on." * (type(error).__name__ == "Interrupted")
        print(f"interrupted: finished runs are stored{left or '; the same command begins where it can.'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has left: `lib status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if (said := _said(error)) is None:
            raise
        print(f"error: {said}", file=sys.stderr)
        return 1
    return 0


def _said(error: Exception) -> str | None:
    """What an error says to a person: one of ours, or the system's refusal of a file. Anything else deserves its traceback."""
    if type(error).__module__.startswith(("lib.", "benchmarks.")) or type(error) is LookupError:
        return str(error)
    if isinstance(error, OSError) and (error.filename or error.errno in (errno.ENOSPC, errno.EDQUOT)):
        from lib.core.record.files import reason

        return f"{error.filename or 'a file could not be written'}: {reason(error)}."
    return None


if __name__ == "__main__":
    sys.exit(main())
