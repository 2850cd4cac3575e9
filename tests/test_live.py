"""The explorer with a kernel: the button trains the point that the sliders ask for, tells how it goes, and stops when told."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from planted_pages import a_run, explorer_data

from lib.book import live as live_view
from lib.book.explorer import Explorer
from lib.book.live import Live
from lib.composition.experiments import FAST, GRIDS
from lib.composition.exploration import exploration, record, trainer
from lib.core.record.spec import SpecError
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.jobs import checkpoints
from lib.core.train.loop import Progress
from lib.core.train.plan import Options

PLAIN = Options(device="cpu", bf16=False, backend="eager")
LONG = 60  # seconds that no training of these tests takes
Click = Callable[[Progress], None]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def data(store: Store) -> dict[str, Any]:
    """One trained run, at γ = 0.5, depth 2, seed 0."""
    run = trainer("smoke", store, PLAIN)(0.5, 2, 0, lambda now: None, lambda: False)
    return Explorer(exploration([("phase", [run])], "smoke"), "rm-1", gamma=0.5, depth=2).data


def planted(*runs: dict[str, Any]) -> dict[str, Any]:
    return Explorer(explorer_data(*(runs or (a_run(),))), "rm-1", gamma=0.5, depth=2).data


def press(live: Live) -> str:
    """Press the button, wait, and return the words that a reader sees, without their one element."""
    live.button.click()
    live.wait(LONG)
    said = re.fullmatch(r'<span role="status">([^<>]*)</span>', live.message.value)
    assert said is not None, live.message.value
    assert (live.button.disabled, live.cancel.disabled) == (False, True)
    assert live.view.training is None
    return unescape(said[1])


def with_steps(store: Store, on_step: Click) -> Callable[..., StoredRun]:
    """The trainer, and something that happens at every evaluation after the view has heard of it."""
    train = trainer("smoke", store, PLAIN)

    def both(**asked: Any) -> StoredRun:
        tell = asked.pop("on_step")
        return train(**asked, on_step=lambda now: (tell(now), on_step(now)))

    return both


def files(store: Store) -> list[str]:
    return [path.stem for path in store.files(FAST.folder)]


def test_a_point_is_trained_stored_and_shown(store: Store, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "REFRESH", 0)
    before, (old,), seen = json.dumps(data), files(store), []
    live = Live(data, with_steps(store, lambda now: seen.append((live.bar.value, live.view.training))), record)
    live.gamma.value, live.depth.value, live.seed.value = 0.65, 1, 3
    said = press(live)
    (new,) = set(files(store)) - {old}
    assert said == f"stored as run {new} after 40 steps"
    assert [share for share, _ in seen] == [0.25, 0.5, 0.75, 1.0]
    *_, training = seen[-1]
    assert {name: training[name] for name in ("gamma", "depth", "seed", "limit")} == {
        "gamma": 0.65,
        "depth": 1,
        "seed": 3,
        "limit": 40.0,
    }
    assert training["history"]["step"] == [10, 20, 30, 40]
    first, added = live.view.data["series"][0]["runs"]
    assert (first["key"], added["key"]) == (old, new)
    assert [added[name] for name in ("gamma", "depth", "seed", "steps")] == [0.65, 1, 3, 40]
    assert len(added["attention"]) == 1  # one layer: the weights were kept
    assert training["history"]["test"] == pytest.approx(added["history"]["test"], abs=6e-4)
    assert [(c["gamma"], c["depth"], c["runs"]) for c in live.view.data["series"][0]["cells"]] == [(0.5, 2, 1), (0.65, 1, 1)]
    assert live.step.options == (("10", 0), ("20", 1), ("30", 2), ("trained", -1))
    assert json.dumps(data) == before
    assert (live.bar.value, live.bar.bar_style) == (1.0, "success")
    shown = live.view.data
    assert press(live) == said
    assert len(seen) == 4  # the second press trains nothing
    assert live.view.data == shown


def test_pictures_come_no_more_often_than_a_page_can_draw(
    store: Store, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told is old, what is stored and shown at the end is whole."""
    monkeypatch.setattr(live_view, "REFRESH", 1e9)
    drawn = []
    live = Live(data, with_steps(store, lambda now: drawn.append((live.bar.value, live.view.training))), record)
    assert live.view.training is None
    live.gamma.value = 0.65
    assert press(live).endswith("after 40 steps")
    assert drawn == [(0.0, None)] * 4
    assert live.view.data["series"][0]["runs"][1]["history"]["step"] == [10, 20, 30, 40]


def test_cancelling_leaves_a_checkpoint_from_which_the_next_press_goes_on(
    store: Store, data: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = GRIDS["smoke"]
    monkeypatch.setitem(GRIDS, "smoke", replace(grid, train=replace(grid.train, steps=100)))
    patience, seen = 30, []

    def impatient(now: Progress) -> None:
        seen.append(now.step)
        if now.step >= patience:
            live.cancel.click()

    live = Live(data, with_steps(store, impatient), record)
    live.gamma.value = 0.65
    assert press(live) == "cancelled at step 30; training this point again goes on from its checkpoint"
    assert live.bar.bar_style == "warning"
    assert live.view.data == data
    assert len(files(store)) == 1
    assert len(list(checkpoints(store, FAST.folder).glob("*.safetensors"))) == 1
    patience = 1000
    assert press(live).endswith("after 100 steps")
    assert seen == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert list(checkpoints(store, FAST.folder).glob("*.safetensors")) == []
    whole = trainer("smoke", Store(tmp_path / "whole"), PLAIN)(0.65, 2, 0, lambda now: None, lambda: False)
    assert live.view.data["series"][0]["runs"][1] == record(whole)


def test_the_words_after_cancelling_are_true_of_a_run_that_went_on(store: Store, data: dict[str, Any]) -> None:
    """Cancelled at 20, pressed again, and cancelled before the next evaluation: the checkpoint is not at step 0."""
    train = with_steps(store, lambda now: live.cancel.click() if now.step == 20 else None)
    at_once = False

    def hasty(**asked: Any) -> StoredRun:
        if at_once:
            live.cancel.click()
        return train(**asked)

    live = Live(data, hasty, record)
    live.gamma.value = 0.65
    assert press(live).startswith("cancelled at step 20;")
    at_once = True
    said = press(live)
    assert said.startswith("cancelled")
    assert "step 0" not in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("<b>no</b> & 'never'"), "RuntimeError: <b>no</b> & 'never'"),
        (SpecError("gamma must be <small>."), "gamma must be <small>."),
        (ZeroDivisionError(), "ZeroDivisionError: "),
        (SystemExit("gone"), "SystemExit: gone"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
    ],
)
@pytest.mark.parametrize("where", ["train", "record"])
def test_an_error_is_told_escaped_and_the_button_comes_back(error: BaseException, said: str, where: str) -> None:
    def fail(*args: Any, **asked: Any) -> Any:
        raise error

    parts = {"train": lambda **asked: None, "record": lambda run: a_run()} | {where: fail}
    live = Live(planted(), **parts)
    assert press(live) == said
    assert live.bar.bar_style == "danger"
    assert press(live) == said


def test_a_bad_point_is_refused_in_one_sentence(store: Store) -> None:
    live = Live(planted(), trainer("no such profile", store, PLAIN), record)
    assert press(live).startswith("unknown profile 'no such profile': use one of ")


def test_one_training_at_a_time() -> None:
    go, calls = threading.Event(), []

    def train(**asked: Any) -> None:
        calls.append(asked["gamma"])
        go.wait(LONG)
        raise SpecError("done.")

    live = Live(planted(), train, lambda run: {})
    live.start()
    assert (live.button.disabled, live.cancel.disabled) == (True, False)
    live.gamma.value = 0.9  # the sliders stay alive
    live.start()
    go.set()
    live.wait(LONG)
    assert calls == [0.5]
    assert "done." in live.message.value
    assert press(live) == "done."
    assert calls == [0.5, 0.9]


def test_sliders_and_pictures_follow_each_other() -> None:
    live = Live(planted(a_run(0.5), a_run(0.9, 4, history={"step": [5, 6, 7]})))
    assert (live.gamma.min, live.gamma.max, live.depth.min, live.depth.max) == (0.2, 1.1, 1, 6)
    live.gamma.value, live.depth.value, live.seed.value = 0.9, 4, 2
    assert (live.view.gamma, live.view.depth, live.view.seed) == (0.9, 4, 2)
    assert live.step.options == (("5", 0), ("6", 1), ("trained", -1))
    live.step.value = 1
    assert live.view.step == 1
    live.view.gamma, live.view.depth = 0.5, 2  # a click on the diagram
    assert (live.gamma.value, live.depth.value) == (0.5, 2)
    assert live.step.options == (("10", 0), ("trained", -1))
    assert live.view.step == -1


def test_results_are_chosen_where_there_are_several() -> None:
    data = planted(a_run(0.5))
    data["series"].append(planted(a_run(0.9, 5, history={"step": [7, 8]}))["series"][0] | {"name": "<other>"})
    live = Live(data)
    assert live.series.options == (("planted", 0), ("<other>", 1))
    live.series.value = 1
    assert live.view.series == 1
    assert live.step.options == (("7", 0), ("trained", -1))


def test_there_is_a_button_only_where_there_is_something_to_train() -> None:
    def buttons(widget: ipywidgets.Widget) -> list[str]:
        inner = [name for child in getattr(widget, "children", ()) for name in buttons(child)]
        return [*inner, widget.description] if isinstance(widget, ipywidgets.Button) else inner

    assert buttons(Live(planted()).widget) == []
    assert buttons(Live(planted(), lambda **asked: None, lambda run: {}).widget) == ["Train this point", "Cancel"]
