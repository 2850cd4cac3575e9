"""What the tests share: one thread, reproducible properties, a factory of tiny runs, and measures that planted runs tell."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from planted_composition import TOLD
from tiny import PROVENANCE, SpecFactory, make_result, make_tiny_spec

import lib.book.registry  # noqa: F401 (kinds of models are known once their study is imported, as the command line does)
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
