"""The live explorer where readers meet it: in JupyterLab, in a real browser, with a real kernel that trains."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import QUIET, launch
from playwright.sync_api import Locator, Page, expect, sync_playwright

from lib.book.explorer import Explorer
from lib.book.paths import STORE_VARIABLE
from lib.book.text import Text
from lib.composition.experiments import FAST
from lib.composition.exploration import exploration
from lib.core.read.fact import Fact
from lib.core.record.store import Store

CELLS = (
    """
from lib.book.display import explore
from lib.book.explorer import Explorer
from lib.book.paths import default_store
from lib.composition.experiments import FAST
from lib.composition.exploration import exploration, record, trainer
from lib.core.train.plan import Options

store, options = default_store(), Options(device="cpu")
runs = FAST.obtain(FAST.specs("smoke"), store, options, progress=False)
explorer = Explorer(exploration([("diagram", runs)], "smoke"), "rm-live", 0.5, 2)
explore(explorer, runs, "smoke", trainer("smoke", store, options), record)
""",
    """
import dataclasses
from lib.composition import experiments
long = dataclasses.replace(experiments.GRIDS["smoke"].train, steps=10**6)  # too long to end by itself
experiments.GRIDS["smoke"] = dataclasses.replace(experiments.GRIDS["smoke"], train=long)
print("long runs from here on")
""",
)
SECONDS = 120_000  # milliseconds that a busy machine may take for a step
expect.set_options(timeout=SECONDS)


def write(path: Path, *cells: nbformat.NotebookNode) -> None:
    kernel = {"kernelspec": {"name": "python3", "language": "python", "display_name": "p"}}
    nbformat.write(nbformat.v4.new_notebook(metadata=kernel, cells=list(cells)), path)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a JupyterLab, and its folder, which holds the notebook and the store."""
    folder = tmp_path_factory.mktemp("lab")
    write(folder / "live.ipynb", *(nbformat.v4.new_code_cell(source.strip()) for source in CELLS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--allow-root",
    ]
    command += [f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0", "--LabApp.news_url=None"]
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
    environment = os.environ | settings | {STORE_VARIABLE: str(folder / "store"), "OMP_NUM_THREADS": "1"}
    log = (folder / "lab.log").open("w")
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=1)
                break
            except OSError:
                assert server.poll() is None, (folder / "lab.log").read_text()
                time.sleep(0.5)
        yield address, folder
    finally:
        server.terminate()
        server.wait(20)
        log.close()


@pytest.fixture(scope="module")
def page(lab: tuple[str, Path]) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1400, "height": 1600})
        page.set_default_timeout(SECONDS)
        # On a busy machine JupyterLab may ask about a kernel or a connection; it is answered as a person would, and told.
        page.add_locator_handler(page.locator(".jp-Dialog"), answer)
        page.goto(f"{lab[0]}/lab/tree/live.ipynb?reset")
        run_cell(page, 0)
        page.locator(".rm-live .rm-explorer svg").first.wait_for(timeout=SECONDS)
        yield page
        browser.close()


def answer(dialog: Locator) -> None:
    """Accept what a dialog of JupyterLab proposes, and say on the test's output what it was."""
    print("JupyterLab asked:", dialog.inner_text())
    dialog.locator(".jp-mod-accept").first.click()


def run_cell(page: Page, number: int) -> None:
    """Until the cell has a number or a star: JupyterLab does not hear keys before it is ready, whatever it shows."""
    cell = page.locator(".jp-NotebookPanel .jp-Cell").nth(number)
    for _ in range(80):
        cell.locator(".jp-InputArea-editor").click()
        page.keyboard.press("Shift+Enter")
        try:
            expect(cell.locator(".jp-InputPrompt").first).not_to_have_text("[ ]:", timeout=1_500)
            return
        except AssertionError:
            continue
    pytest.fail(f"JupyterLab did not run cell {number}")


def move(page: Page, label: str, keys: list[str]) -> None:
    """Move one of ipywidgets' sliders as a keyboard user does."""
    page.get_by_role("slider", name=label).focus()
    for key in keys:
        page.keyboard.press(key)


def test_a_point_is_trained_to_the_end_and_stored(page: Page, lab: tuple[str, Path]) -> None:
    caption = page.locator(".rm-live .rm-said")
    expect(caption).to_contain_text("γ = 0.5 at depth 2 was computed", timeout=SECONDS)
    move(page, "Initialization rate γ", ["ArrowRight"] * 3)
    move(page, "Depth (layers)", ["ArrowRight"])
    expect(caption).to_contain_text("You ask for γ = 0.53 at depth 3. The nearest computed point is γ = 0.5 at depth 2")
    page.get_by_role("button", name="Train this point").click()
    expect(page.locator(".rm-live")).to_contain_text("stored as run", timeout=SECONDS)
    expect(caption).to_contain_text("γ = 0.53 at depth 3 was computed")
    expect(caption).to_contain_text("Its one run")
    code = page.locator(".rm-live .rm-said code").first
    expect(code).to_have_text(re.compile(r"^[0-9a-f]{20}$"))  # a run has its key once its data have come
    key = code.text_content()
    run = Store(lab[1] / "store").read(lab[1] / "store" / FAST.folder / f"{key}.json")
    assert (run.spec.gamma, run.spec.model.depth, run.spec.seed) == (0.53, 3, 0)
    assert run.has_weights
    assert page.locator("[data-panel=flow] svg .rm-token").count() == 9


def test_another_is_cancelled_and_leaves_a_checkpoint(page: Page, lab: tuple[str, Path]) -> None:
    run_cell(page, 1)
    expect(page.locator(".jp-OutputArea-output", has_text="long runs from here on")).to_be_visible()
    move(page, "Initialization rate γ", ["ArrowRight"] * 4)
    # A click overtakes what a busy kernel has not yet been told of the slider: it trains what is asked by then.
    expect(page.locator(".rm-live .rm-said")).to_contain_text("You ask for γ = 0.57 at depth 3.")
    train, cancel = (page.get_by_role("button", name=name) for name in ("Train this point", "Cancel"))
    expect(cancel).to_be_disabled()
    train.click()
    expect(page.locator(".rm-live [data-panel=curve]")).to_contain_text("Training now")
    expect(page.locator(".rm-live .rm-said")).to_contain_text("Training γ = 0.57, depth 3, seed 0.")
    expect(train).to_be_disabled()
    stored = sorted((lab[1] / "store" / FAST.folder).glob("*.json"))
    cancel.click()
    expect(page.locator(".rm-live")).to_contain_text("cancelled at step")
    expect(train).to_be_enabled()
    expect(page.locator(".rm-live [data-panel=curve]")).to_contain_text("Along training")
    assert sorted((lab[1] / "store" / FAST.folder).glob("*.json")) == stored
    assert len(list((lab[1] / "store" / FAST.folder / ".checkpoints").glob("[!.]*.safetensors"))) == 1


def test_a_kernel_that_is_restarted_while_it_trains_loses_nothing(page: Page, lab: tuple[str, Path]) -> None:
    """By the keys of JupyterLab, and its page is loaded anew: the store is whole, the checkpoint is there, and the cell shows
    the explorer, which trains once more."""
    folder = lab[1] / "store" / FAST.folder
    stored = sorted(folder.glob("*.json"))
    page.get_by_role("button", name="Train this point").click()
    expect(page.locator(".rm-live [data-panel=curve]")).to_contain_text("Training now")
    page.keyboard.press("Control+s")
    page.locator(".jp-NotebookPanel .jp-Cell").first.locator(".jp-InputPrompt").click()
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    page.keyboard.press("0")
    page.remove_locator_handler(page.locator(".jp-Dialog"))  # this one is the test's
    expect(page.locator(".jp-Dialog")).to_contain_text("Do you want to restart the kernel")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.add_locator_handler(page.locator(".jp-Dialog"), answer)
    page.goto(f"{lab[0]}/lab/tree/live.ipynb?reset")
    run_cell(page, 0)
    expect(page.locator(".rm-live .rm-said")).to_contain_text("γ = 0.5 at depth 2 was computed")
    expect(page.get_by_role("button", name="Train this point")).to_be_enabled()
    assert sorted(folder.glob("*.json")) == stored
    assert Store(lab[1] / "store").verify()[1] == []
    assert len(list((folder / ".checkpoints").glob("[!.]*.safetensors"))) == 1
    move(page, "Initialization rate γ", ["ArrowRight"] * 7)
    page.get_by_role("button", name="Train this point").click()
    expect(page.locator(".rm-live")).to_contain_text("stored as run")  # the former kernel's runs had no end
    assert len(list(folder.glob("*.json"))) == len(stored) + 1


def test_the_live_view_has_no_serious_accessibility_finding(page: Page) -> None:
    response = Axe().run(page, context=".rm-live", options=QUIET).response
    found = [
        f"{v['id']}: {n['html'][:200]}"
        for v in response["violations"]
        if v["impact"] in ("serious", "critical")
        for n in v["nodes"]
    ]
    assert found == []


def test_an_untrusted_notebook_shows_the_picture(page: Page, lab: tuple[str, Path]) -> None:
    """What the book commits has no widget left; a reader who has not trusted it must see more than nothing."""
    runs = [run for spec in FAST.specs("smoke") if (run := Store(lab[1] / "store").get(spec)) is not None]
    explorer = Explorer(exploration([("diagram", runs)], "smoke"), "rm-foreign", 0.5, 2)
    html = explorer.static().replace("mountExplorer(part", "window.hit = 1; mountExplorer(part")
    cell = nbformat.v4.new_code_cell("1", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("execute_result", {"text/html": html, "text/plain": "x"}, execution_count=1)]
    write(lab[1] / "foreign.ipynb", cell)
    page.goto(f"{lab[0]}/lab/tree/foreign.ipynb?reset")
    page.locator(".jp-RenderedHTMLCommon img[alt^='Explorer of 2 points']").wait_for(timeout=SECONDS)
    assert page.evaluate("() => window.hit") is None


def test_a_number_in_the_text_leads_to_what_it_rests_on(page: Page, lab: tuple[str, Path]) -> None:
    """As a reader who has trusted nothing has it: from a link to the row of the table at the end, pages further down."""
    words = "It is [93%](#n-share).\n\n" + "A line.\n\n" * 200
    table = Text([words], {"share": Fact(0.934, "{:.0%}", "eight runs")}).html()
    shown = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("display_data", {"text/html": table})])
    write(lab[1] / "text.ipynb", nbformat.v4.new_markdown_cell(words), shown)
    page.goto(f"{lab[0]}/lab/tree/text.ipynb?reset")
    row = page.locator("#n-share, [data-jupyter-id=n-share]")  # what JupyterLab calls the ids of others
    expect(row).not_to_be_in_viewport()
    page.get_by_role("link", name="93%").click()
    expect(row).to_be_in_viewport()
    expect(row).to_contain_text("eight runs")
