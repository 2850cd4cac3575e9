"""python -m lib: run a chapter, build the book, train a sweep, see what is stored and what it shows."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lib.core.spec import SpecError
from lib.core.store import StoreError
from lib.core.sweep import SweepError


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(prog="python -m lib", description=__doc__)
    commands = main.add_subparsers(dest="command", required=True, metavar="command")

    run = commands.add_parser("run", help="execute one chapter with papermill at parameters of your own")
    run.add_argument("chapter", help="name, number or file of the chapter, such as 02")
    run.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    run.add_argument("-o", "--output", type=Path, help="where the executed notebook goes (default: _build/executed/)")

    build = commands.add_parser("build", help="execute the chapters and build the book")
    build.add_argument("--no-execute", action="store_true", help="build from the outputs that the notebooks have")

    sweep = commands.add_parser("sweep", help="train what the store lacks of an experiment")
    sweep.add_argument("experiment")
    sweep.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    sweep.add_argument("--device", default="auto", help="auto (default), cpu or cuda")

    status = commands.add_parser("status", help="what is stored, stale and missing, and what the missing part would cost")
    status.add_argument("--json", action="store_true")

    claims = commands.add_parser("claims", help="every claim with what was measured")
    claims.add_argument("--json", action="store_true")
    claims.add_argument("--profile", default="laptop", help="whose results to judge by (default: laptop)")
    return main


def _run(args: argparse.Namespace) -> None:
    from lib.book import chapters
    from lib.book.paths import BUILD

    chapter = chapters.find(args.chapter)
    given = chapters.parse_parameters(chapter, dict(args.parameter))
    output = args.output or BUILD / "executed" / chapter.path.name
    print(chapters.execute(chapter, given, output))


def _build(args: argparse.Namespace) -> None:
    from lib.book.build import build

    print(build(execute=not args.no_execute))


def _sweep(args: argparse.Namespace) -> None:
    from lib.book.paths import default_store
    from lib.book.registry import experiment
    from lib.core.plan import Options
    from lib.core.sweep import sweep

    chosen = experiment(args.experiment)
    report = sweep(chosen.specs(args.profile), default_store(), chosen.make_study, Options(device=args.device), chosen.keep)
    print(f"{report.found} runs were stored already, {report.trained} were trained.")


def _status(args: argparse.Namespace) -> None:
    from lib.book import status
    from lib.book.paths import default_store

    items = status.status(default_store())
    print(json.dumps(status.as_json(items), indent=1) if args.json else status.as_text(items))


def _claims(args: argparse.Namespace) -> None:
    from lib.book.paths import default_store
    from lib.book.registry import CLAIMS
    from lib.core.experiment import check_profile

    profile, store = check_profile(args.profile), default_store()
    records = [claim.evaluate(store, profile) for claim in CLAIMS]
    if args.json:
        print(json.dumps(records, indent=1, ensure_ascii=False))
        return
    for r in records:
        print(f"{r['status']:15} {r['item']:10} {r['statement']}\n{'':26} {r['measured']}")


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 with one sentence on stderr, or 130 after Ctrl-C."""
    args = parser().parse_args(arguments)
    command = {"run": _run, "build": _build, "sweep": _sweep, "status": _status, "claims": _claims}[args.command]
    try:
        command(args)
    except KeyboardInterrupt:
        print("interrupted: every finished run is stored; the same command resumes.", file=sys.stderr)
        return 130
    except (SpecError, StoreError, SweepError, LookupError, RuntimeError, OSError) as error:
        if not _expected(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _expected(error: Exception) -> bool:
    """Is this one of ours, whose message is meant for a person? Anything else deserves its traceback."""
    return type(error).__module__.startswith("lib.") or type(error) in (FileNotFoundError, PermissionError)


if __name__ == "__main__":
    sys.exit(main())
