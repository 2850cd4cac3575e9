"""Where the tests find a browser, and how they open pages in it: with no network, and with an ear for every complaint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, Request

from lib.book.pdf import find_chromium

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)


EXPLORERS = {
    "intro": "rm-landing",
    "02-phase-diagram": "rm-02",
    "03-information-flow": "rm-03",
    "05-condensation": "rm-05",
    "09-memory-and-reasoning": "rm-09",
}
"""The pages that have an explorer, and its name there."""

QUIET = {"resultTypes": ["violations"]}
"""For axe: what passes is not listed, which takes longer than to test it."""


def launch(playwright: Playwright) -> Browser:
    """Raises playwright's error where there is no browser: a missing one is a failure, never a skip."""
    return playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))


class Watched:
    """A page, and what it complained of or asked for: console errors, exceptions, requests that leave the disk."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        page.context.on("request", self.hear)

    def hear(self, request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(f"request: {request.url}")

    def open(self, path: Path, anchor: str = "") -> Page:
        self.page.goto(path.as_uri() + anchor, wait_until="load")
        return self.page


@contextmanager
def offline(browser: Browser, width: int = 1280, **options: Any) -> Iterator[Watched]:
    """A fresh context without a network."""
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, reduced_motion="reduce", **options)
    watched = Watched(context.new_page())
    try:
        yield watched
    finally:
        context.close()


def settle(page: Page) -> None:
    """Until what equations are set in has come, and what slides (the sidebar, where a page gets narrow) has arrived."""
    page.evaluate("() => document.fonts.ready.then(() => true)")
    page.evaluate("() => Promise.allSettled(document.getAnimations().map((each) => each.finished)).then(() => true)")


def press(page: Page, control: str, *keys: str) -> None:
    page.locator(control).focus()
    for key in keys:
        page.keyboard.press(key)
