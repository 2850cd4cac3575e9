"""What the tests share: one thread, reproducible properties, a factory of tiny runs, and one of planted new seeds."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from tiny import PROVENANCE, SpecFactory, make_result, make_tiny_spec

import lib.book.registry  # noqa: F401 (kinds of models are known once their study is imported, as the command line does)
from lib.composition.flip import CONFIRM
from lib.composition.information_flow.metrics import BOTH, EDGES, KEY_FIRST, PAIR_FIRST, ROUTES
from lib.composition.study import OFFSETS
from lib.core.record.store import Store, StoredRun

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Derandomized, so that a failure on one machine is a failure on every machine; no deadline, since a shared machine stalls.
settings.register_profile(
    "suite", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

LONGEST = (
    "test_chapters",
    "test_browser",
    "test_explorer_browser",
    "test_precision",
    "test_sweep",
    "test_checkpoint",
    "test_build",
    "test_text",
    "test_cluster",
)
"""Files in the order in which workers should take them: a long one that comes last is waited for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def table(columns: Iterable[Any], given: Mapping[tuple[int, Any], float], depth: int = 2) -> np.ndarray:
    """(depth, columns): zeros, but for {(layer, column): value}."""
    at = list(columns)
    found = np.zeros((depth, len(at)))
    for (layer, column), value in given.items():
        found[layer - 1, at.index(column)] = value
    return found


ALL_EDGES = ROUTES["symmetric"] | ROUTES["inferential"]
NEEDS = {PAIR_FIRST: ROUTES["symmetric"], KEY_FIRST: ROUTES["inferential"], BOTH: ALL_EDGES}
_number = itertools.count()


def planted(
    gamma: float = 1.25,
    seed: int = 0,
    needs: str | Iterable[tuple[int, str, str]] = (),
    offsets: Mapping[int, float] | None = None,
    depth: int = 2,
    **told: Any,
) -> StoredRun:
    """The `seed`-th new seed of a γ. needs: the edges whose cut costs much, or the way whose edges they are; offsets: shares of
    answers; told: what its measures say under `telling`, by name."""
    first = CONFIRM.specs("laptop")[0]
    model = dataclasses.replace(first.model, depth=depth)
    spec = dataclasses.replace(first, gamma=gamma, seed=first.seed + seed, model=model)
    shares = {"symmetric": -6, "inferential": -10}
    metrics = {"test": 1.0} | {name: (offsets or {}).get(offset, 0.0) for name, offset in shares.items()}
    counts = [1000 * (offsets or {}).get(offset, 0.0) for offset in OFFSETS]
    edges = NEEDS.get(needs, ()) if isinstance(needs, str) else needs
    costs = table(EDGES, {(edge[0], edge[1:]): 0.9 for edge in edges}, depth)
    said = {"offsets": [*counts, 1000 - sum(counts)], "edge_costs": costs}
    return StoredRun(spec, metrics | said | told, {}, 20, "fitted", None, 1.0, {}, Path(f"planted-{next(_number)}.json"))


TOLD = {
    "information_flow": ("edge_costs", "group_costs", "drawn", "patch_effects", "forgets_order", "knows_pair"),
    "vectors": ("plain_contrast", "answers", "between", "answered", "shift"),
    "condensation": ("measures_of", "step_shares"),
}
"""Measures that need weights."""


@pytest.fixture
def telling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures of weights say what the metrics of a planted run have under their names; every run has weights."""
    for chapter, names in TOLD.items():
        for room, name in itertools.product(("metrics", "claims", "figures"), names):
            say = lambda run, name=name: run.metrics[name]
            monkeypatch.setattr(f"lib.composition.{chapter}.{room}.{name}", say, raising=False)
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda run: True))


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Matplotlib warns of many, and of which tests they are depends on the order of the files."""
    yield
    if (plt := sys.modules.get("matplotlib.pyplot")) is not None:
        plt.close("all")


@pytest.fixture(scope="session")
def tiny_spec() -> SpecFactory:
    """The factory; session-wide, so that hypothesis may use it too."""
    return make_tiny_spec


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the book's pages, built once from the committed notebooks, warnings being errors, for all workers."""
    from lib.book.build import render  # pages need every study; most tests need none

    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    with FileLock(shared / "book.lock"):
        built = shared / "book-built"
        if not built.exists():
            (shared / "book").mkdir(exist_ok=True)
            built.write_text(str(render(shared / "book").parent), encoding="utf-8")
    return Path(built.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from browser import launch  # most tests need none
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def store(tmp_path: Path, tiny_spec: SpecFactory) -> Store:
    """A store with three tiny runs, of the seeds 0 to 2. Modules that need another one have their own."""
    store = Store(tmp_path / "results")
    for seed in range(3):
        store.put(make_result(tiny_spec(seed=seed)), PROVENANCE)
    return store


def scalars(metrics: dict[str, Any]) -> dict[str, float]:
    """The metrics that are single numbers."""
    return {name: value for name, value in metrics.items() if not isinstance(value, list)}
