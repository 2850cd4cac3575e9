"""The wheel: a name of its own, γ initialization with PyTorch alone, and a sweep that trains from it."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packages import brought
from packaging.utils import canonicalize_name

from lib.core.train import native
from lib.core.train.plan import Options

ROOT = Path(__file__).parents[1]
KINDS = (".py", ".cpp", ".js", ".css", ".toml")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which nothing but the wheel is installed."""
    place = tmp_path_factory.mktemp("wheel")
    sources = place / "sources"
    shutil.copytree(ROOT / "lib", sources / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", place, sources], check=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", place / "site", wheel], check=True)
    return place / "site"


def python(site: Path, *arguments: str) -> str:
    """What a fresh interpreter prints that has the wheel and does not have the work tree."""
    finder = "import sys; sys.meta_path = [f for f in sys.meta_path if 'Editable' not in str(f)]; "
    code, *rest = arguments
    command = [sys.executable, "-I", "-c", f"{finder}sys.path.insert(0, {str(site)!r}); {code}", *rest]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_one_package_and_all_its_files(site: Path) -> None:
    assert {path.name for path in site.iterdir() if path.suffix != ".dist-info"} == {"reason_or_memorize"}
    within = lambda place: {path.relative_to(place) for path in place.rglob("*") if path.suffix in KINDS}
    assert within(ROOT / "lib") == within(site / "reason_or_memorize")


def test_gamma_initialization_needs_pytorch_alone(site: Path) -> None:
    code = """
import torch
before = set(sys.modules)
from reason_or_memorize import apply_gamma
module = torch.nn.Linear(256, 256)
apply_gamma(module, 0.5, torch.Generator().manual_seed(0))
print(round(module.weight.std().item(), 3))
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(sorted(new - set(sys.stdlib_module_names) - {"torch"}))
"""
    assert python(site, code).split("\n")[:2] == ["0.062", "['reason_or_memorize']"]


SWEEP = """
import os, runpy
os.environ["REASON_OR_MEMORIZE_STORE"] = sys.argv.pop()
before = set(sys.modules)
import reason_or_memorize
assert "lib" not in sys.modules
try:
    runpy.run_module("reason_or_memorize", run_name="__main__")
finally:
    print({name.split(".")[0] for name in set(sys.modules) - before})
"""


@pytest.fixture(scope="module")
def swept(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], set[str]]:
    """What a sweep stored of models that the native program knows, and the modules, by their first name, that it loaded."""
    store = tmp_path_factory.mktemp("store")
    printed = python(site, SWEEP, "sweep", "bias-gamma", "--profile", "smoke", "--device", "cpu", str(store))
    stored = [json.loads(path.read_text()) for path in (store / "bias-gamma").glob("*.json")]
    assert len(stored) > 0
    assert f"{len(stored)}" in printed
    return stored, ast.literal_eval(printed.splitlines()[-1])


def test_a_sweep_trains_from_the_wheel_by_the_native_program_where_there_is_one(
    swept: tuple[list[dict[str, Any]], set[str]],
) -> None:
    _, dtype = Options(device="cpu").resolve()
    programs = {run["content"]["provenance"]["program"] for run in swept[0]}
    assert programs == ({"native"} if native.library(dtype) else {"eager"})


def test_a_sweep_needs_no_more_than_the_wheel_declares(site: Path, swept: tuple[list[dict[str, Any]], set[str]]) -> None:
    (wheel,) = metadata.distributions(path=[str(site)])
    declared = [text.split(";")[0] for text in wheel.requires or []]  # with those of its extra
    belong = metadata.packages_distributions()
    loaded = {canonicalize_name(belong[name][0]) for name in swept[1] if name in belong}
    assert {"torch", "numpy", "safetensors"} <= loaded
    spare = {"charset-normalizer"}  # numpy takes it where it is there
    assert loaded - spare - {"reason-or-memorize"} <= brought(declared)
