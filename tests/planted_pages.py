"""What pages are made of in tests: claims, runs and dials that nobody computed, and what a browser makes of HTML."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from typing import Any

from lib.book.claims import evaluate
from lib.core.read.claim import Claim, Finding
from lib.core.record.store import Store

HOSTILE = "</script><!--<script>alert('1')</script>\u2028\"&amp;"


VOID = ("meta", "img", "br", "hr", "input")


class Made(HTMLParser):
    """What a browser makes of HTML: every element with what stands above it and with its words; and the claims among them.

    A claim is (attributes of its <details>, {what: words}): verdict, statement and source from its line, the rest by term.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[list[str]] = []
        self.above: list[tuple[int, ...]] = []
        self._open: list[int] = []
        self.feed(html)
        self.close()
        assert self._open == []  # all that was opened was closed

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.above.append(tuple(self._open))
        self.elements.append((tag, dict(attrs)))
        self.words.append([])
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.words[i].append(data)

    def inside(self, tag: str, within: int = -1, kind: str = "") -> list[int]:
        """The elements with this tag and class, in one of the others."""
        return [
            i
            for i, (name, attributes) in enumerate(self.elements)
            if name == tag and (within < 0 or within in self.above[i]) and (not kind or kind in (attributes.get("class") or ""))
        ]

    def text(self, i: int) -> str:
        return "".join(self.words[i])

    def only(self, tag: str) -> dict[str, str | None]:
        (attributes,) = self.all(tag)
        return attributes

    def data(self) -> Any:
        """What the page's script would parse."""
        return json.loads(self.text(self.inside("script")[0]))

    def all(self, tag: str, kind: str = "") -> list[dict[str, str | None]]:
        return [self.elements[i][1] for i in self.inside(tag, kind=kind)]

    @property
    def claims(self) -> list[tuple[dict[str, str | None], dict[str, str]]]:
        found = []
        for i in self.inside("details", kind="rm-claim"):
            (line,), spans = self.inside("summary", i), {}
            for name in ("verdict", "statement", "source"):
                (span,) = self.inside("span", line, f"rm-{name}")
                spans[name] = self.text(span)
            terms, values = self.inside("dt", i), self.inside("dd", i)
            found.append(
                (self.elements[i][1], spans | {self.text(t): self.text(v) for t, v in zip(terms, values, strict=True)})
            )
        return found

    @property
    def verdicts(self) -> list[str]:
        return [words["verdict"] for _, words in self.claims]

    def rows(self, kind: str) -> list[list[list[dict[str, str | None]]]]:
        """Of the table of this class, in the rows of its body, in each cell: the links."""
        (table,) = self.inside("table", kind=kind)
        (body,) = self.inside("tbody", table)
        links = lambda cell: [self.elements[i][1] for i in self.inside("a", cell)]
        return [[links(cell) for cell in self.inside("td", row)] for row in self.inside("tr", body)]


# ---------------------------------------------------------------- claims


def a_claim(id: str = "one", status: str = "reproduced", paper: str = "ours", words: str = "Words.", **parts: Any) -> Claim:
    check = parts.pop("check", lambda store, profile: Finding(f"{words} measured", status, 3))
    return Claim(id, paper, parts.pop("item", "Fig 1"), words, f"{words} reported", f"{words} criterion", check, **parts)


def rows_of(*claims: Claim, profile: str = "smoke") -> list[dict[str, Any]]:
    return evaluate(claims, Store("nowhere"), profile)


# ---------------------------------------------------------------- an explorer

METRICS = ("symmetric", "inferential", "test")


def a_run(gamma: float = 0.5, depth: int = 2, seed: int = 0, key: str = "", final: float = 0.5, **parts: Any) -> dict[str, Any]:
    """A run without weights, all of whose shares are `final`."""
    history = {"step": [10, 20]} | {name: [0.0, final] for name in METRICS}
    return {
        "gamma": gamma,
        "depth": depth,
        "seed": seed,
        "rate": 0.001,
        "key": key or f"{depth}-{gamma}-{seed}",
        "experiment": "planted",
        "steps": 20,
        "final": dict.fromkeys(METRICS, final),
        "history": history,
    } | parts


def a_cell(gamma: float, depth: int, value: float, deviation: float | None = None) -> dict[str, Any]:
    return {"gamma": gamma, "depth": depth, "runs": 3} | {name: [value, deviation] for name in METRICS}


def explorer_data(*runs: dict[str, Any], name: str = "planted", profile: str = "smoke") -> dict[str, Any]:
    places = sorted({(run["gamma"], run["depth"]) for run in runs})
    cells = [a_cell(gamma, depth, 0.25, 0.1) for gamma, depth in places]
    answers = [{"id": answer, "label": answer, "short": answer} for answer in METRICS[:2]]
    return {
        "series": [{"name": name, "profile": profile, "cells": cells, "runs": list(runs)}],
        "answers": answers,
        "seen": {"id": "test", "label": "seen pairs right", "short": "seen"},
        "question": {"tokens": [20, 21, 99, 4, 3, 22, 23, 24, 25], "place": 2},
        "firstNumber": 20,
        "width": 16,
        "range": {"gamma": [0.2, 1.1], "depth": [1, 6]},
    }


# ---------------------------------------------------------------- dials

ALPHAS, LENGTHS, TAUS = [0.4, 0.6, 0.8, 1.0], [0, 5, 10, 20, 40], [0.5, 0.7]
Leaf = list[float] | None


def leaf(alpha: float, length: float, tau: float, weight: float) -> Leaf:
    """Falls with each dial; 0 at the far end; nothing at length 40 for the least α′."""
    if length == 40 and alpha == 0.4:
        return None
    mean = 0.0 if alpha * length == 40 else 0.6 * math.exp(-alpha * tau * length * weight)
    return [mean, 0.8 * mean, min(1.0, 1.2 * mean)]


def dials_data(alphas: list[float] = ALPHAS, lengths: list[float] = LENGTHS, **changes: Any) -> dict[str, Any]:
    """Three dials, two series and two bars."""
    grid = lambda weight: [[[leaf(a, n, t, weight) for t in TAUS] for n in lengths] for a in alphas]
    bar = [[[round(a * t, 3) for t in TAUS] for _ in lengths] for a in alphas]
    return {
        "dials": [
            {"id": "alpha", "label": "share of matching examples α′", "values": list(alphas)},
            {"id": "length", "label": "examples in the prompt", "values": list(lengths)},
            {"id": "tau", "label": "weight of the likeliest path τ", "values": list(TAUS)},
        ],
        "x": "length",
        "fan": "alpha",
        "y": {"label": "share of wrong answers", "log": True, "low": 1e-4, "high": 1},
        "series": [
            {"id": "cot", "label": "chain of thought", "values": grid(0.5)},
            {"id": "icl", "label": "answers alone", "values": grid(0.05)},
        ],
        "bars": {
            "label": "attention of the query",
            "items": [
                {"label": "same pattern, same step", "values": bar},
                {"label": "other", "values": [[[None] * 2] * len(lengths)] * len(alphas)},
            ],
        },
        "start": {"alpha": 0.8, "length": 10, "tau": 0.5},
        "about": "Mean over 5 seeds; band: 95 % interval over prompts.",
    } | changes


def one_dial(*leaves: Any, **y: Any) -> dict[str, Any]:
    """One dial with a value a leaf, one series, no fan, no bars; it opens at the first value."""
    return {
        "dials": [{"id": "n", "label": "n", "values": list(range(len(leaves)))}],
        "x": "n",
        "y": {"label": "error", "log": True, "low": 1e-3, "high": 1} | y,
        "series": [{"id": "a", "label": "a", "values": list(leaves)}],
        "start": {"n": 0},
        "about": "One run.",
    }
