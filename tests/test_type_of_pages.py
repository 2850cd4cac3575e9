"""How the rendered pages set numbers and marks: one rule a name, each broken by some text, and by no page of the book."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from test_book import pages

NOUNS = (
    "runs|seeds|layers|steps|models|claims|tests|points|cells|pairs|keys|answers|questions|tasks|heads|epochs|values|rates|"
    "chapters|figures|times|words|tokens|examples|prompts|levels|places|numbers|minutes|hours|bytes|parts|sets|rows|weights"
)
RULES = {
    "ASCII minus before a number": re.compile(r"(?<![\w.)\]/–-])-\.?\d"),
    "zero with a sign": re.compile(r"(?<![\w.)\]])[−-]0(?:\.0+)?(?![\d.]*\d)"),
    "e-notation": re.compile(r"(?<![\w.])\d+(?:\.\d+)?[eE][+−-]?\d+\b"),
    "space before percent": re.compile(r"\d[ \u00a0\u202f]%"),
    "number that begins with a point": re.compile(r"(?<![\w.])\.\d"),
    "plural of one": re.compile(rf"(?<![\w.,:/=≤≥<>–−-])(?<![=≤≥<>–×] )(?<!layer )\b1 (?:{NOUNS})\b"),
    "subscript with an underscore": re.compile(r"(?<!/)[A-Za-zΑ-Ωα-ω]_[A-Za-zΑ-Ωα-ω]|(?<![\w/.])[A-Za-zΑ-Ωα-ω]_\d"),
    "caret": re.compile(r"\^"),
    "straight apostrophe": re.compile(r"\w'\w|s' "),
    "figure of a source without a full stop": re.compile(r"\bFigs? \d"),
}


class Visible(HTMLParser):
    """The text of a page's article as a reader has it. Code and formulas leave one letter, so that what stands beside them
    stands beside a word; scripts, pictures, provenance lines and the bibliography leave nothing."""

    LEAVES = "ℂ"
    VERBATIM = ("pre", "code", "math")
    NOTHING = ("script", "style", "svg", "noscript", "template", "select", "button")
    INLINE = ("a", "b", "i", "em", "strong", "sub", "sup", "span", "small", "abbr", "cite", "q", "mark", "code", "math", "wbr")
    VOID = ("img", "br", "hr", "input", "meta", "link", "wbr", "source", "col")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._open: list[tuple[str, str]] = []  # tag, and what becomes of what is in it: "", "leaves", "nothing", "article"
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def _within(self, what: str) -> bool:
        return any(fate == what for _, fate in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = (dict(attrs).get("class") or "").split()
        fate = "article" if tag == "article" else ""
        if tag in self.NOTHING or {"rm-provenance", "citation-list", "headerlink", "rm-explorer-host"} & set(kinds):
            fate = "nothing"
        elif tag in self.VERBATIM or {"math", "highlight"} & set(kinds):
            fate = "leaves"
        if self._within("article") and not self._within("nothing") and not self._within("leaves"):
            if fate == "leaves":
                self.parts.append(self.LEAVES)
            if tag not in self.INLINE:
                self.parts.append("\n")
        if tag not in self.VOID:
            self._open.append((tag, fate))

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self._open):  # else it ends nothing
            while self._open.pop()[0] != tag:
                pass  # what was left open ends with what it is in
        if tag not in self.INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._within("article") and not self._within("nothing") and not self._within("leaves"):
            self.parts.append(data)


def broken(text: str) -> list[tuple[str, str]]:
    """(rule, where) of every rule that a text breaks."""
    found = []
    for name, rule in RULES.items():
        for match in rule.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            found.append((name, " ".join(around.split())))
    return found


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("ASCII minus before a number", "from -0.5 to -1 and (-3)", "from −0.5, key - 6, 1-2, a-1, ℂ-1, 2023-11-22, Li-2"),
        ("zero with a sign", "−0.00, −0", "−0.01, −0.001, 3−0, 0.00"),
        ("e-notation", "1e-5 of 2.5e3 and 1E−4", "10⁻⁵, 1 example, 2eggs, ab1e5"),
        ("space before percent", "93 % or 93\u00a0%", "93% of % signs"),
        ("number that begins with a point", "by .02 (.5)", "by 0.02. 5 of them, 1.2.3, a.5"),
        ("plural of one", "1 runs, and 1 seeds", "1 run, 11 runs, γ = 1 runs on, 0.1 steps, 2–1 pairs"),
        ("subscript with an underscore", "W_Q, x_1 and d_model", "W Q, x86_64, x"),
        ("caret", "α^2", "α2"),
        ("straight apostrophe", "the model's and models' own", "the model’s, 'quoted' words"),
        ("figure of a source without a full stop", "Fig 2 or Figs 3", "Fig. 2, Figure 2.1, a Fig tree"),
    ],
)
def test_every_rule_finds_what_it_is_for_and_no_more(name: str, bad: str, good: str) -> None:
    assert {rule for rule, _ in broken(bad)} == {name}
    assert broken(good) == []


def test_what_a_reader_sees_of_a_page() -> None:
    html = """<title>-1</title><article>
    <h1>A<a class="headerlink">-1</a></h1><p>x<sub>Q</sub> is <code>-1</code>-2 &amp;</i>
    <span class="math notranslate">\\(x^-1\\)</span>.</p><p class="rm-provenance">1 runs</p><div class="highlight-py"><div
    class="highlight"><pre>a_b</pre></div></div><script>1e-5</script>
    <svg><text>-1</text></svg><img alt="-1"><td>a</td><td>b</td>
    <div class="citation-list"><p>it's</p></div>last</article><p>-1</p>"""
    assert Visible(html).text.split() == ["A", "xQ", "is", "ℂ-2", "&", "ℂ.", "ℂ", "a", "b", "last"]
    assert broken(Visible(html).text) == []


def test_no_page_of_the_book_breaks_a_rule(html: Path) -> None:
    found, seen = [], 0
    for path in pages(html):
        if "source" in path.relative_to(html).parts or path.name in ("genindex.html", "search.html"):
            continue
        text = Visible(path.read_text(encoding="utf-8")).text
        seen += len(text.split())
        found += [f"{path.name}: {rule}: {where}" for rule, where in broken(text)]
    assert seen > 20_000  # words
    assert found == []
