"""The explorer with a kernel: ipywidgets sliders, the same pictures, and a button that trains the point they ask for.

Training runs in a thread, so the sliders stay alive. Cancelling lets the step end and leaves a checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from html import escape
from typing import Any

import anywidget
import ipywidgets
import traitlets

from lib.book.explorer import asset, nearest, with_run
from lib.core.record.spec import SpecError
from lib.core.record.store import StoredRun
from lib.core.train.loop import Interrupted, Progress

REFRESH = 0.25
"""Seconds between two pictures of a training run: a page cannot draw as often as a small model is evaluated."""
_RENDER = """
export default { render({ model, el }) {
  const NAMES = ["series", "gamma", "depth", "seed", "step", "training"];
  const asked = ({ gamma, depth }) => { model.set("gamma", gamma); model.set("depth", depth); model.save_changes(); };
  let view = null;
  const follow = () => view.set(Object.fromEntries(NAMES.map((name) => [name, model.get(name)])));
  const build = () => { view = mountExplorer(el, model.get("data"), { asked }); follow(); };
  build();
  model.on("change:data", build);
  for (const name of NAMES) model.on(`change:${name}`, follow);
  // ipywidgets' sliders have a label beside them, but do not tell screen readers so. They may be drawn after this view.
  const label = () => document.querySelectorAll(".rm-live .widget-slider").forEach((slider) => {
    const words = slider.querySelector("label"), handle = slider.querySelector(".noUi-handle");
    const readout = slider.querySelector(".widget-readout");
    if (words && handle) handle.setAttribute("aria-label", words.textContent);
    if (words && readout) readout.setAttribute("aria-label", `${words.textContent}: value`);
    if (readout) readout.setAttribute("role", "textbox");
  });
  label();
  const observer = new MutationObserver(label);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    observer.disconnect();
    model.off("change:data", build);
    for (const name of NAMES) model.off(`change:${name}`, follow);
  };
} };
"""


class View(anywidget.AnyWidget):
    """The pictures: explorer.js without controls of its own."""

    _esm = asset("draw.js") + asset("explorer.js") + _RENDER
    _css = asset("explorer.css")
    data = traitlets.Dict().tag(sync=True)
    series = traitlets.Int(0).tag(sync=True)
    gamma = traitlets.Float().tag(sync=True)
    depth = traitlets.Int().tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)
    training: Any = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)


class Live:
    """The live view of one explorer; `widget` is what is displayed. train and record are as in Explorer.show."""

    def __init__(
        self,
        data: dict[str, Any],
        train: Callable[..., StoredRun] | None = None,
        record: Callable[[StoredRun], dict[str, Any]] | None = None,
    ) -> None:
        self._train, self._record = train, record
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        start, ranges = data["start"], data["range"]
        self.view = View(data=data, gamma=start["gamma"], depth=start["depth"], seed=start["seed"])
        look = {"style": {"description_width": "initial"}, "layout": {"width": "21rem", "max_width": "100%"}}
        low, high = ranges["gamma"]
        self.gamma = ipywidgets.FloatSlider(
            start["gamma"], min=low, max=high, step=0.01, description="Initialization rate γ", **look
        )
        low, high = ranges["depth"]
        self.depth = ipywidgets.IntSlider(start["depth"], min=low, max=high, description="Depth (layers)", **look)
        self.seed = ipywidgets.BoundedIntText(start["seed"], min=0, max=10**6, description="Seed", **look)
        self.step = ipywidgets.SelectionSlider(options=[("trained", -1)], description="Step", **look)
        names = [(s["name"], i) for i, s in enumerate(data["series"])]
        self.series = ipywidgets.Dropdown(options=names, value=0, description="Results", **look)
        for name in ("depth", "seed", "step", "series"):
            traitlets.link((getattr(self, name), "value"), (self.view, name))
        # a slider adds up its steps, and 0.57 becomes 0.5700000000000001
        traitlets.link((self.gamma, "value"), (self.view, "gamma"), transform=(lambda v: round(v, 6), lambda v: v))
        first = data["series"][0]
        self._what = (
            f"a run of {first['runs'][0]['experiment']}, profile {first['profile']}, learning rate {first['runs'][0]['rate']:g}"
        )
        self.button = ipywidgets.Button(
            description="Train this point",
            button_style="primary",
            tooltip=f"Trains {self._what}, at the γ, depth and seed of the sliders",
        )
        self.cancel = ipywidgets.Button(description="Cancel", disabled=True, tooltip="Stop training; a checkpoint is kept")
        self.bar = ipywidgets.FloatProgress(0.0, min=0.0, max=1.0, layout={"width": "10rem"})
        self.message = ipywidgets.HTML()
        self.button.on_click(lambda _: self.start())
        self.cancel.on_click(lambda _: self._cancel.set())
        for name in ("gamma", "depth", "seed", "series"):
            getattr(self, name).observe(lambda _: self._offer_steps(), "value")
        self._offer_steps()
        chosen = [self.depth] if low < high else []  # one depth is nothing to choose
        sliders = [self.gamma, *chosen, self.step, self.seed, *([self.series] if len(names) > 1 else [])]
        rows = [ipywidgets.HBox(sliders, layout={"flex_flow": "row wrap"})]
        if train is not None and record is not None:
            rows.append(ipywidgets.HBox([self.button, self.cancel, self.bar, self.message], layout={"flex_flow": "row wrap"}))
        self.widget = ipywidgets.VBox([*rows, self.view])
        self.widget.add_class("rm-live")

    def _offer_steps(self) -> None:
        """The step slider has the evaluated steps of the run that is shown."""
        run = nearest(self.view.data["series"][self.view.series], self.gamma.value, self.depth.value, self.seed.value)
        steps = [(f"{step:,.0f}", i) for i, step in enumerate(run["history"]["step"][:-1])]
        wanted = [*steps, ("trained", -1)]
        if tuple(wanted) != tuple(self.step.options):
            wish = self.step.value
            self.step.options = wanted
            self.step.value = wish if wish in [i for _, i in wanted] else -1

    def _say(self, words: str, aloud: bool = True) -> None:
        """`aloud`: screen readers announce it, too."""
        self.message.value = f'<span role="status">{escape(words)}</span>' if aloud else f"<span>{escape(words)}</span>"

    def start(self) -> None:
        """Train the point that the sliders ask for, in a thread of its own; one at a time."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._cancel.clear()
        self.button.disabled, self.cancel.disabled = True, False
        self.bar.value, self.bar.bar_style = 0.0, ""
        self._say(f"training {self._what}")
        asked = {"gamma": self.view.gamma, "depth": self.depth.value, "seed": self.seed.value}
        self._thread = threading.Thread(target=self._work, args=(asked,), daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Until the training that was started has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self, asked: dict[str, Any]) -> None:
        assert self._train is not None
        assert self._record is not None
        metrics = [m["id"] for m in (*self.view.data["answers"], self.view.data["seen"])]
        history: dict[str, list[float]] = {name: [] for name in ("step", *metrics)}
        at, told = 0, 0.0

        def on_step(now: Progress) -> None:
            nonlocal at, told
            at = now.step
            history["step"].append(now.step)
            for name in metrics:
                history[name].append(now.metrics[name][0])
            if time.monotonic() < told + REFRESH:
                return
            told = time.monotonic()
            self.bar.value = min(now.share, 1.0)
            self.view.training = asked | {"history": {k: list(v) for k, v in history.items()}, "limit": now.step / now.share}
            self._say(f"step {now.step:,}", aloud=False)

        try:
            run = self._train(**asked, on_step=on_step, stop=self._cancel.is_set)
            self.view.training = None
            self.view.data = with_run(self.view.data, self._record(run))
            self.view.series = 0
            self._offer_steps()
            self.bar.value, self.bar.bar_style = 1.0, "success"
            self._say(f"stored as run {run.key} after {run.steps:,} steps")
        except Interrupted:
            self.bar.bar_style = "warning"
            self._say("cancelled" + f" at step {at:,}" * bool(at) + "; training this point again goes on from its checkpoint")
        except BaseException as error:  # whatever a thread dies of, the reader must hear of it
            self.bar.bar_style = "danger"
            self._say(str(error) if isinstance(error, SpecError) else f"{type(error).__name__}: {error}")
        finally:
            self.view.training = None
            self.button.disabled, self.cancel.disabled = False, True
