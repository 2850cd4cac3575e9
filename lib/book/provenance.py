"""What an executed notebook was made from, and whether that is still what is here.

An execution records its parameters, a digest of its code (its own cells and every source of ours that they import), the
results it read and a digest of what it shows. A notebook is stale when any of them is different now.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.inputtransformer2 import TransformerManager

from lib.book.paths import MISSED, ROOT
from lib.core.read.fact import links
from lib.core.record.store import Store, StoreError

if TYPE_CHECKING:
    import nbformat

RECORD = "reason_or_memorize"
"""Key of the notebook's metadata that holds the record."""
LIVE = "application/vnd.jupyter.widget-view+json"
TRAINS = ("lib.core.train", "lib.core.sweep")
"""Packages that a chapter imports to train what is missing. They are none of its sources: what they made is in the results, of
which a digest is recorded, and tests pin the numbers of tiny runs."""


def digest(parts: Iterable[bytes]) -> str:
    """Of several byte strings, in their order: 20 hexadecimal digits of SHA-256."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()[:20]


# --- Code ---


@functools.lru_cache(maxsize=1024)
def _imports(source: str) -> frozenset[str]:
    """Modules of ours that a source may import: `from lib.a import b` names lib.a and lib.a.b. Kept, since all chapters import
    the same sources."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.split(".")[0] == "lib")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _module(name: str, root: Path) -> Path | None:
    """The file of a module or package of ours."""
    path = os.path.join(root, *name.split("."))  # asked tens of thousands of times, for which pathlib is slow
    return next((Path(p) for p in (f"{path}.py", os.path.join(path, "__init__.py")) if os.path.isfile(p)), None)


def sources(code: str, root: Path = ROOT) -> list[Path]:
    """Every source file of ours that this code imports, directly or not, but for what trains, and what is not Python in their
    folders (the explorer's script and style, lists of words). Sorted."""
    found: set[Path] = set()
    waiting = [code]
    while waiting:
        for name in _imports(waiting.pop()):
            path = None if name.startswith(TRAINS) else _module(name, root)
            if path is not None and path not in found:
                found.add(path)
                waiting.append(_text(path))
    kinds = (".cpp", ".js", ".css", ".toml")
    others = {p for folder in {path.parent for path in found} for p in folder.iterdir() if p.suffix in kinds}
    return sorted(found | others)


def _cells(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def files_digest(notebook: nbformat.NotebookNode, root: Path = ROOT) -> str:
    """Of every source file of ours that a notebook's cells import, directly or not."""
    plain = [TransformerManager().transform_cell(cell) for cell in _cells(notebook)]  # magics are no Python
    files = sources("\n".join(plain), root)
    return digest(part.encode() for path in files for part in (path.relative_to(root).as_posix(), _text(path)))


def code_digest(notebook: nbformat.NotebookNode, root: Path = ROOT, files: str | None = None) -> str:
    """Of a notebook's own cells, of the numbers in its text and of the files; `files` is their digest where it was taken
    before."""
    numbers = [str(link) for link in links(cell.source for cell in notebook.cells if cell.cell_type == "markdown")]
    return digest(part.encode() for part in (*_cells(notebook), *numbers, files or files_digest(notebook, root)))


# --- Results ---


def read_results(reads: Path, store: Store) -> dict[str, dict[str, Any]]:
    """From the log of a recording store: for each experiment the keys that were read, one digest of their contents, and the
    keys that were looked for in vain."""
    lines = set(reads.read_text().splitlines()) if reads.exists() else set()
    read = {line for line in lines if not line.startswith(MISSED)}
    missed = {line.removeprefix(MISSED) for line in lines - read} - read
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for which, paths in enumerate((read, missed)):
        for path in map(Path, sorted(paths)):
            groups.setdefault(path.parent.name, ([], []))[which].append(path.stem)
    found: dict[str, dict[str, Any]] = {}
    for name, (keys, absent) in sorted(groups.items()):
        found[name] = {"runs": len(keys), "digest": _results_digest(store, name, keys), "keys": " ".join(keys)}
        if absent:
            found[name]["absent"] = " ".join(absent)
    return found


@functools.lru_cache(maxsize=4096)
def _content_digest(store_root: Path, path: Path, stamps: tuple[int, ...]) -> str:
    """Of one result, checked against what it says of itself and of its weights; of other files that of their bytes."""
    if path.parent.parent != store_root:
        return digest([path.read_bytes()])
    Store(store_root).read(path)
    record = json.loads(path.read_bytes())
    arrays = record["content"]["arrays"]
    if arrays is not None and hashlib.sha256(_weights(path).read_bytes()).hexdigest() != arrays:
        raise StoreError(f"{_weights(path)} is not the file that was written with {path.name}.")
    return record["digest"]


def _weights(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _results_digest(store: Store, experiment: str, keys: Iterable[str]) -> str | None:
    """None if one of them is not there or cannot be trusted."""
    folder = ROOT / "benchmarks" if experiment == "benchmarks" else store.root / experiment
    found = []
    try:
        for path in (folder / f"{key}.json" for key in keys):
            stamps = tuple(p.stat().st_mtime_ns for p in (path, _weights(path)) if p.exists())
            found.append(_content_digest(store.root, path, stamps))
    except (OSError, StoreError):
        return None
    return digest(part.encode() for part in found)


# --- Records ---


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """Of what the notebook shows. Live widgets do not count: they are gone when the kernel is."""
    shown = copy.deepcopy([cell.get("outputs", []) for cell in notebook.cells if cell.cell_type == "code"])
    for output in (output for outputs in shown for output in outputs):
        output.get("data", {}).pop(LIVE, None)
    return digest([json.dumps(shown, sort_keys=True).encode()])


def make_record(
    notebook: nbformat.NotebookNode,
    parameters: Mapping[str, Any],
    results: Mapping[str, Any],
    root: Path = ROOT,
    files: str | None = None,
) -> dict[str, Any]:
    """`files` is their digest before the execution, so that an edit meanwhile does not pass for what was run."""
    return {
        "parameters": dict(parameters),
        "code": code_digest(notebook, root, files),
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
        if any((store.root / name / f"{key}.json").exists() for key in read.get("absent", "").split()):
            reasons.append(f"results of {name} that it looked for in vain are there now")
    if record["outputs"] != outputs_digest(notebook):
        reasons.append("its outputs are not those of its last execution by this project")
    return reasons
