"""Who may import whom, read from the sources: data flows one way, and training runs on a bare machine."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIB = ROOT / "lib"
STUDIES = sorted(path.name for path in LIB.iterdir() if path.is_dir() and path.name not in ("core", "book", "__pycache__"))
TRAINING = {
    "checkpoint",
    "files",
    "interrupt",
    "machine",
    "native",
    "plan",
    "init",
    "model",
    "ensemble",
    "optim",
    "train",
    "spec",
    "store",
    "sweep",
    "rng",
    "experiment",
}
BARE = {"torch", "safetensors", "filelock", "tqdm", "numpy"}


def imported(path: Path) -> set[str]:
    """Every module that a source file imports, at any depth of its code, with its full dotted name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).parent.parts
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found |= {f"{module}.{alias.name}" for alias in node.names}  # `from lib.core import init` is an import of a module
    return found


def own(path: Path) -> set[str]:
    """The part of `imported` that is ours."""
    return {name for name in imported(path) if name.split(".")[0] == "lib"}


def third_party(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)} - {"lib", "__future__"} - sys.stdlib_module_names


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def show(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_reader_of_imports_sees_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests below are only as good as this."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "lib" / "core" / "probe.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import os.path, lib.book\nfrom lib import composition\nfrom lib.core.spec import RunSpec\nfrom . import rng\n"
        "from ..book import paths\ndef f():\n    import numpy as np\n    from torch import nn\n"
    )
    assert own(path) == {"lib.book", "lib.composition", "lib.core.spec.RunSpec", "lib.core.rng", "lib.book.paths"}
    assert third_party(path) == {"numpy", "torch"}


def test_the_studies_are_there() -> None:
    assert "composition" in STUDIES
    assert {path.stem for path in sources(LIB / "core")} >= TRAINING


@pytest.mark.parametrize("path", sources(LIB / "core"), ids=show)
def test_core_imports_no_other_package_of_ours(path: Path) -> None:
    assert {name for name in own(path) if not within(name, "lib.core")} == set()


@pytest.mark.parametrize("path", [path for study in STUDIES for path in sources(LIB / study)], ids=show)
def test_a_study_imports_itself_and_core(path: Path) -> None:
    study = path.relative_to(LIB).parts[0]
    assert {name for name in own(path) if not within(name, f"lib.{study}") and not within(name, "lib.core")} == set()


@pytest.mark.parametrize("module", sorted(TRAINING))
def test_training_code_needs_little(module: str) -> None:
    """So that a sweep runs on a machine with a GPU and not much else. Nor may it lean on a module that needs more."""
    path = LIB / "core" / f"{module}.py"
    assert third_party(path) <= BARE
    assert {name.split(".")[2] for name in own(path)} <= TRAINING


@pytest.mark.parametrize("path", [LIB / study / f"{part}.py" for study in STUDIES for part in ("task", "study")], ids=show)
def test_a_task_needs_no_more_than_training(path: Path) -> None:
    """Workers of a sweep import the study's data and measures as well."""
    if not path.exists():
        pytest.skip("this study has no such module")
    assert third_party(path) <= BARE


def _calls(path: Path) -> set[str]:
    """Names that a source file calls, as they are written: `torch.load`, `eval`."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", sources(LIB), ids=show)
def test_data_stay_data(path: Path) -> None:
    """Nothing is unpickled and no string is run: a result, a checkpoint or a notebook from elsewhere can only be data."""
    assert not third_party(path) & {"pickle", "cloudpickle", "dill", "joblib"}
    assert not imported_top(path) & {"pickle", "marshal", "shelve"}
    assert not _calls(path) & {"eval", "exec", "compile", "torch.load", "np.load", "numpy.load", "yaml.load", "__import__"}


def imported_top(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}
