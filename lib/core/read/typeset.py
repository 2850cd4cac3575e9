"""How numbers and marks are written everywhere in the book, in one place: every function that makes text calls it.

A minus is a minus (−0.5, never -0.5), zero has no sign, numbers below one begin with 0, percents stand close (93%), powers of
ten are written out, apostrophes and quotation marks are curved, a figure of a source is Fig. 2a, and W_Q(1) has indices.
All functions leave alone what has been set already.
"""

from __future__ import annotations

import re

_RAISED = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")


def _power(match: re.Match[str]) -> str:
    mantissa, exponent = match[1], str(int(match[2].replace("−", "-"))).translate(_RAISED)
    return f"10{exponent}" if mantissa == "1" else f"{mantissa} × 10{exponent}"


_RULES: tuple[tuple[re.Pattern[str], object], ...] = (
    (re.compile(r"(?<![\w.])(\.?\d+(?:\.\d+)?)e([+−-]?\d+)\b"), _power),
    (re.compile(r"(?<![\w.)\]/–-])-(?=\.?\d)"), "−"),
    (re.compile(r"(?<![\w.])\.(?=\d)"), "0."),
    (re.compile(r"(?<![\w.)])−(?=0(?:\.0+)?(?![\d.]*\d))"), ""),
    (re.compile(r"(?<=\d)[ \u00a0]%"), "%"),
    (re.compile(r"(?<=\d) ± (?=\d)"), "\u00a0±\u00a0"),
    (re.compile(r"\b(Figs?) (?=\d)"), r"\1. "),
    (re.compile(r"(?<=[αβγδτσθ])'"), "′"),
    (re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?=\s)"), "’"),
    (re.compile(r'"([^"\n]*)"'), r"“\1”"),
)
_INDEX = re.compile(r"(?<![\w\\&])([A-Za-zΑ-Ωα-ω])_([A-Za-z]+|\d)(?![\w;])(?:\((\d)\))?")
_EXPONENT = re.compile(r"(?<=[\wα-ω)′>])\^([−-]?(?:[\d½/.]+|[A-Za-zα-ω]\b|gamma\b))")
_KEPT = re.compile(
    r"(```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)\n]*\)|\{[a-z:]+\}`[^`]*`|<[^<>]+>|https?://\S+)", re.DOTALL
)
"""What is no prose inside Markdown: code, mathematics, addresses, HTML tags."""


def characters(text: str) -> str:
    """Plain words with their numbers and marks as the book writes them; no markup is added."""
    for pattern, put in _RULES:
        text = pattern.sub(put, text)  # type: ignore[arg-type]
    return text


def indices(html: str) -> str:
    """`W_Q(1)` and `α^2` in HTML, or in Markdown that may hold HTML, with their indices and exponents set."""
    above = lambda m: f"<i>{m[1]}</i><sub>{m[2]}</sub>" + (f"<sup>({m[3]})</sup>" if m[3] else "")
    return _EXPONENT.sub(lambda m: f"<sup>{m[1].replace('-', '−')}</sup>", _INDEX.sub(above, html))


def markdown(text: str) -> str:
    """Markdown or HTML with all of it, outside code, mathematics, addresses and tags."""
    parts = _KEPT.split(text)
    return "".join(part if i % 2 else indices(characters(part)) for i, part in enumerate(parts))
