"""What an executed notebook was made from, and whether that is still what is here.

An execution records its parameters, a digest of its code (its own cells and every source of ours that they import), the
results it read and a digest of what it shows. A notebook is stale when any of them is different now.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from lib.book.paths import ROOT
from lib.core.store import Store

RECORD = "reason_or_memorize"
"""Key of the notebook's metadata that holds the record."""
LIVE = "application/vnd.jupyter.widget-view+json"


def digest(parts: Iterable[bytes]) -> str:
    """Of several byte strings, in their order: 20 hexadecimal digits of SHA-256."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()[:20]


# --- Code ---


def _imports(source: str) -> set[str]:
    """Modules of ours that a source may import: `from lib.a import b` names lib.a and lib.a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "lib"}


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def sources(code: str, root: Path = ROOT) -> list[Path]:
    """Every source file of ours that this code imports, directly or not, and what lies beside one under the same name
    (the explorer's script and style). Sorted."""
    found: set[Path] = set()
    waiting = [code]
    while waiting:
        for name in _imports(waiting.pop()):
            path = root.joinpath(*name.split(".")).with_suffix(".py")
            if path not in found and path.exists():
                found.add(path)
                waiting.append(_text(path))
    return sorted(found | {other for path in found for other in path.parent.glob(f"{path.stem}.*") if other.is_file()})


def code_digest(notebook: nbformat.NotebookNode, root: Path = ROOT) -> str:
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    files = sources("\n".join(cells), root)
    named = [part for path in files for part in (path.relative_to(root).as_posix(), _text(path))]
    return digest(part.encode() for part in (*cells, *named))


# --- Results ---


def read_results(reads: Path, store: Store) -> dict[str, dict[str, Any]]:
    """From the log of a recording store: for each experiment the keys that were read, and one digest of their contents."""
    files = sorted({Path(line) for line in reads.read_text().splitlines()}) if reads.exists() else []
    groups: dict[str, list[str]] = {}
    for path in files:
        groups.setdefault(path.parent.name, []).append(path.stem)
    return {
        name: {"runs": len(keys), "digest": _results_digest(store, name, keys), "keys": " ".join(keys)}
        for name, keys in groups.items()
    }


@functools.lru_cache(maxsize=4096)
def _content_digest(path: Path, stamp: int) -> str:
    """The digest that a result file has of its own content, which the store checks; of other files that of their bytes."""
    data = path.read_bytes()
    content = json.loads(data)
    return content["digest"] if isinstance(content, dict) and "digest" in content else digest([data])


def _results_digest(store: Store, experiment: str, keys: Iterable[str]) -> str | None:
    """None if one of them is not there or cannot be read."""
    folder = ROOT / "benchmarks" if experiment == "benchmarks" else store.root / experiment
    paths = [folder / f"{key}.json" for key in keys]
    try:
        return digest(_content_digest(path, path.stat().st_mtime_ns).encode() for path in paths)
    except (OSError, ValueError, KeyError, TypeError):
        return None


# --- Records ---


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """Of what the notebook shows. Live widgets do not count: they are gone when the kernel is."""
    shown = [cell.get("outputs", []) for cell in notebook.cells if cell.cell_type == "code"]
    return digest([json.dumps(shown, sort_keys=True).encode()])


def make_record(
    notebook: nbformat.NotebookNode, parameters: Mapping[str, Any], results: Mapping[str, Any], root: Path = ROOT
) -> dict[str, Any]:
    return {
        "parameters": dict(parameters),
        "code": code_digest(notebook, root),
        "results": dict(results),
        "outputs": outputs_digest(notebook),
    }


def stale(notebook: nbformat.NotebookNode, defaults: Mapping[str, Any], store: Store, root: Path = ROOT) -> list[str]:
    """Why what a notebook shows may not be what it would show now, in words for a reader; empty if it is fresh."""
    record = notebook.metadata.get(RECORD, {})
    if not {"parameters", "code", "results", "outputs"} <= set(record):
        return ["it has not been executed by this project's build"]
    reasons = []
    other = {k: v for k, v in record["parameters"].items() if defaults.get(k) != v}
    if other or set(defaults) != set(record["parameters"]):
        words = ", ".join(f"{name} = {value!r}" for name, value in other.items()) or "others than it has now"
        reasons.append(f"its parameters differ from its defaults ({words})")
    if record["code"] != code_digest(notebook, root):
        reasons.append("its code, or code that it imports, has changed since it was executed")
    for name, read in record["results"].items():
        now = _results_digest(store, name, read["keys"].split())
        if now is None:
            reasons.append(f"some of its {read['runs']} results of {name} are missing or damaged")
        elif now != read["digest"]:
            reasons.append(f"some of its {read['runs']} results of {name} have changed")
    if record["outputs"] != outputs_digest(notebook):
        reasons.append("its outputs are not those of its last execution by this project")
    return reasons
