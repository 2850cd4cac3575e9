"""Words and the numbers in them. A chapter's text is Markdown; a number in it is a link to a fact, a verdict one to a claim.

`[93%](#n-symmetric-at-055)` names the fact `symmetric-at-055`, `[reproduced](#claim-two-layers-flip)` the claim. The last
fold of a chapter lists them all: as written, as computed here, from what. Tests hold the committed text to the stored results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from IPython.display import HTML, display

from lib.book import chapters, claims
from lib.core.read.claim import Claim
from lib.core.read.fact import Fact, Link, links, same
from lib.core.record.store import Store

OTHER = "rm-other-results"
"""The class of the banner, which the build moves above the first heading."""


class TextError(RuntimeError):
    """A text and its facts that do not fit; the message says what to change."""


def prose(path: Path) -> list[str]:
    """The Markdown cells of a notebook."""
    return [cell["source"] for cell in chapters.cells_of(path) if cell["cell_type"] == "markdown"]


class Text:
    """A text, in Markdown cells, beside what results say: `facts` are what it may use, `rows` the evaluated claims.

    Raises TextError for a link to no fact or claim.
    """

    def __init__(self, cells: Sequence[str], facts: Mapping[str, Fact], rows: Sequence[Mapping[str, Any]] = ()) -> None:
        self.facts, self.rows = facts, {row["id"]: row for row in rows}
        self.links = links(cells)
        for link in self.links:
            if link.name not in (self.facts if link.kind == "n" else self.rows):
                raise TextError(f"a text writes {link.written!r} for {link.name!r}, which is not computed.")

    def holds(self, link: Link) -> bool:
        if link.kind == "n":
            return same(link.written, self.facts[link.name])
        return link.written == claims.verdict(self.rows[link.name])

    @property
    def differing(self) -> list[Link]:
        return [link for link in dict.fromkeys(self.links) if not self.holds(link)]

    @property
    def unused(self) -> list[str]:
        """Facts that no sentence names."""
        used = {link.name for link in self.links if link.kind == "n"}
        return [name for name in self.facts if name not in used]

    def banner(self) -> None:
        """Said where results differ from those that the text was written for; else nothing."""
        if n := len(self.differing):
            every = len(dict.fromkeys(self.links))
            words = (
                f"This text was written for the stored results of the profile laptop; {n} of its {every} numbers and verdicts "
                "{are} otherwise here. The table “Numbers in the text” at the end tells which."
            ).replace("{are}", "is" if n == 1 else "are")
            display(
                HTML(
                    f'<div class="admonition warning {OTHER}"><p class="admonition-title">Other results</p><p>{words}</p></div>'
                )
            )

    def claims(self) -> None:
        """The claims as a list, and one line with their verdicts."""
        rows = list(self.rows.values())
        display(HTML(claims.listing(rows)))
        print("claims: " + ", ".join(f"{row['id']} {row['status']}" for row in rows))

    def html(self) -> str:
        """Numbers in the text, in their order: as written, as computed here, and what they rest on."""
        body = ""
        for link in dict.fromkeys(self.links):
            holds, name = self.holds(link), link.name
            if link.kind == "n":
                here, rests = self.facts[name].text, self.facts[name].rests_on
            else:
                here, rests = claims.verdict(self.rows[name]), self.rows[name]["statement"]
            mark = "" if holds else ' class="rm-differs"'
            anchor = f' id="n-{name}"' if link.kind == "n" else f' data-claim="{name}"'
            cells = "".join(f"<td>{claims.words(words)}</td>" for words in (link.written, here, rests))
            body += f"<tr{anchor}{mark}>{cells}</tr>"
        head = "".join(f'<th scope="col">{name}</th>' for name in ("as written", "as computed here", "what it rests on"))
        return f'<table class="rm-numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def table(self) -> None:
        display(HTML(self.html()))
        said = {"differs": [link.name for link in self.differing], "unused": self.unused}
        print("; ".join(f"{name}: {', '.join(names) or 'nothing'}" for name, names in said.items()))


def chapter_text(name: str, facts: Mapping[str, Fact], asked: Sequence[Claim], store: Store, profile: str) -> Text:
    """The text of the chapter of this name or number, its claims evaluated on what is stored."""
    return Text(prose(chapters.find(name).path), facts, claims.evaluate(asked, store, profile))
