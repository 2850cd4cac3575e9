"""What holds the words of a page: numbers that no result stands behind, and the anatomy of a chapter."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Cell = dict[str, Any]
"""A cell of a notebook, its source as one text (lib.book.chapters.cells_of)."""


# ---------------------------------------------------------------- numbers

_MANY = (
    "three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    "|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
)
_LINKED = "[]"
"""Stands in a line where a link was: "one of [eight](#n-runs)" counts runs, as "one of eight" does."""
_NUMBER = re.compile(
    rf"""(?<![\w.])[−-]?\.?\d[\d,.]*(?:e[−-]?\d+)?(?:\s?%)?|[½⅓⅔¼¾]
    |\b(?:{_MANY}|dozens?|hundreds?|thousands?|half|twice|halved|double[sd]?|\w+fold)\b
    |\b(?:two|three|four)[ -](?:third|quarter|fifth|sixth|eighth|tenth)s\b
    |\b(?:a|one)[ ](?:third|quarter|fifth|sixth|eighth|tenth)(?=[ ](?:of|as|less|more|smaller|larger|faster|slower)\b)
    |\bby[ ](?:a|one)[ ](?:third|quarter|fifth|sixth|eighth|tenth)\b
    |\b(?:one|two|both|none)[ ](?:out[ ])?of[ ](?:two|(?:the[ ]|all[ ])?(?:\d+|{_MANY}|\[\]))(?!\w)
    |\b(?:one|two)[ ]in[ ](?:\d+|two|{_MANY})\b
    |(?<!the[ ])(?<!these[ ])(?<!every[ ])(?<!any[ ])(?<!compare[ ])\btwo[ ](?:\w+[ ])?(?:runs|seeds|trials)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""In digits, also without the first (.75), or in words: from three on, and what counts runs below that; parts and multiples."""

_VALUE = r"[−-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[−-]?\d+)?"
_VALUES = rf"{_VALUE}(?:(?:, and |, | and | or | to |–){_VALUE})*"
_GAMMA = re.compile(rf"γ(?: =| from| at| above| below| up to| of| ≥| ≤)? ?({_VALUES})")
_SETTING = re.compile(
    rf"[αβδτ][′']? = {_VALUES}"
    rf"|\b(?:width|depth|seed|layer|place|anchor|key|step|epoch|page|door)s? {_VALUES}"
    rf"|\b(?:learning rate|batch|weight decay|coefficient sum)(?:e?s)?(?: of)? {_VALUES}"
    r"|\bkey [−-] \d+|\(\d+, \d+\)"
    r"|\bFig(?:ure)?s?\.? \d+[a-z]?(?:(?:, | and | to )(?:\d+[a-z]?|[a-z])\b)*"
    r"|\b95 ?% intervals?",
    re.IGNORECASE,
)
"""What a run was given, a pair or an answer of the task, a figure of a source, the one kind of interval of the book."""
_STARTS = re.compile(rf"\b(?:at|beyond|below|above|until|up to) ({_VALUES})|\bfrom ({_VALUE}) on\b", re.IGNORECASE)
"""Values of γ that have been named before: they are excepted where the page says "γ = .55" of them elsewhere."""

_MARK = "(cited)"
_CITED = re.compile(r"\{cite:[a-z]*\}`[^`]*`")
_CITES = re.compile(rf"{re.escape(_MARK)}|\bthe (?:paper|papers|talk|slides|follow-up)(?:['’]s)?\b", re.IGNORECASE)
_NO_PROSE = re.compile(
    r"```.*?```|^:(?:::*|[a-z-]+:).*?$|^(?:#+ |\*\*)?\d+\. "
    r"|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$|\{[a-z:]+\}`[^`]*`|\bFigures? (?:\d+|E)\.\d+|<[^<>]+>"
    r"|\bchapters? \d+(?:(?:, | and | to )\d+)*"
    r"|\b(?:GPT-|Theorem |Lemma |Condition |Eq\. )\d+",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
"""Code, formulas, marks of folds (what is in them is read), numbers of points of a list, of figures, chapters and theorems."""
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_AFTER = re.compile(r"\((?:\w+; )?after\b[^()]*\)|\b[Aa]fter Figs?\.? \d[\w, ]*")
"""Where in a source a figure comes from."""
_SENTENCE = re.compile(r"(?<=[.!?:])(?<!Fig\.)(?<!Figs\.)\s+")


def values(text: str) -> list[float]:
    """Of `.5, .6 and 1.0`."""
    return [float(value.replace("−", "-").replace(",", "")) for value in re.findall(_VALUE, text)]


def bare_numbers(cells: Sequence[str], excepted: Iterable[str] = (), captions: Sequence[str] = ()) -> list[str]:
    """Numbers of a text, in digits or words, that are no link, stand in no line that cites, are no setting and are not
    excepted: each with its line. A line of a cell is a sentence; in a caption one ends with a full stop or a colon."""
    found = []
    words = [_LINK.sub(_LINKED, _NO_PROSE.sub(" ", _CITED.sub(f" {_MARK} ", cell))) for cell in cells]
    lines = [line for cell in words for line in cell.splitlines()]
    lines += [line for said in captions for line in _SENTENCE.split(_NO_PROSE.sub(" ", _AFTER.sub(" ", said)))]
    named = {v for line in lines for match in _GAMMA.finditer(line) for v in values(match[1])}
    known = lambda match: " " if {*values(match[1] or match[2])} <= {v for v in named if v % 1} else match[0]
    for line in lines:
        if _CITES.search(line):
            continue
        rest = line
        for said in sorted(excepted, key=len, reverse=True):
            rest = rest.replace(said, " ")
        rest = _STARTS.sub(known, _SETTING.sub(" ", _GAMMA.sub(" ", rest)))
        found += [f"{match[0]} in: {line.strip()}" for match in _NUMBER.finditer(rest)]
    return found


def captions(cells: Iterable[Cell]) -> list[str]:
    """What code writes into figures and under them: every text of a call of `show`, every title and name of an axis. What code
    puts into such a text (`{alpha:g}`) was computed, and counts as a link. A caption that is given by a name may be any text of
    its cell."""
    found: list[str] = []
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        tree = ast.parse(cell["source"])
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {word.arg: word.value for word in call.keywords}
            if isinstance(call.func, ast.Name) and call.func.id == "show":
                parts: list[ast.AST] = [*call.args, *(v for k, v in given.items() if k not in ("number", "runs", "profile"))]
                if isinstance(given.get("caption"), ast.Name):
                    parts = [tree]
            else:
                parts = [v for k, v in given.items() if k in ("title", "xlabel", "ylabel", "label")]
            found += [text for part in parts for text in _texts(part)]
    return list(dict.fromkeys(found))


def _texts(tree: ast.AST) -> list[str]:
    """Literal texts of more than one word."""
    if isinstance(tree, ast.JoinedStr):
        said = "".join(str(part.value) if isinstance(part, ast.Constant) else _LINKED for part in tree.values)
        return [said] if " " in said else []
    if isinstance(tree, ast.Constant):
        return [tree.value] if isinstance(tree.value, str) and " " in tree.value.strip() else []
    return [text for child in ast.iter_child_nodes(tree) for text in _texts(child)]


# ---------------------------------------------------------------- the anatomy of a chapter

WORDS, SECTION, SHORT, SENTENCES, FIGURES, SECTIONS, MEASURE = 1500, 150, 60, 3, 6, range(3, 7), range(5, 16)
"""Words outside of folds, of a section, of the summary; sentences of the verdict; figures; sections; lines of the measure."""
LAB, VERDICT, DOUBTS, DIALS = "Lab record", "Verdict", "What could be wrong", ("Turn the dials", "Explore")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_FOLD = re.compile(r"^(:{3,})\{dropdown\}.*?^\1\s*$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^(`{3,}|:{3,}|\$\$).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_SHORT = re.compile(r"\*\*In short\.\*\*(.*?)(?:\n\n|\Z)", re.DOTALL)
_END = re.compile(r"(?<!Fig)(?<!Figs)(?<!Eq)(?<!e\.g)(?<!i\.e)[.!?][”’)*_]*(?=\s|$)")


def unfolded(cells: Sequence[Cell]) -> list[Cell]:
    """Those before the lab record. Raises StopIteration where there is none."""
    end = next(i for i, cell in enumerate(cells) if cell["cell_type"] == "markdown" and f"## {LAB}" in cell["source"])
    return [*cells[:end], cells[end] | {"source": cells[end]["source"].partition(f"## {LAB}")[0]}]


def sections(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """{heading: cells}, outside of folds; a Markdown cell of several headings is cut up. The heading of the opening is ""."""
    found: dict[str, list[Cell]] = {"": []}
    heading = ""
    for cell in unfolded(cells):
        if cell["cell_type"] != "markdown":
            found[heading].append(cell)
            continue
        before, *parts = _HEADING.split(cell["source"])
        found[heading].append(cell | {"source": before})
        for heading, source in zip(parts[::2], parts[1::2], strict=True):
            found[heading] = [cell | {"source": source}]
    return found


def words(cells: Iterable[Cell]) -> int:
    """Those of the sentences: without headings, the summary, folds, formulas that stand alone, and tables."""
    texts = [_BLOCK.sub(" ", _FOLD.sub(" ", _SHORT.sub(" ", c["source"]))) for c in cells if c["cell_type"] == "markdown"]
    return sum(len(line.split()) for text in texts for line in text.splitlines() if not line.startswith(("|", "#")))


def figures(cells: Iterable[Cell], chapter: str) -> list[str]:
    """Numbers of figures: they stand as `2.1` in the code that shows them, also in a list that it goes through."""
    number = re.compile(rf"{int(chapter[:2])}\.\d+" if chapter[:2].isdigit() else r"\w\.\d+")
    trees = [ast.parse(c["source"]) for c in cells if c["cell_type"] == "code" and "show(" in c["source"]]
    said = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in said if isinstance(value, str) and number.fullmatch(value)]


def sentences(text: str) -> int:
    return len(_END.findall(_LINK.sub("x", text)))


def summary(cells: Sequence[Cell]) -> str | None:
    """The paragraph In short."""
    found = _SHORT.search(cells[0]["source"])
    return found[1] if found else None


def too_long(cells: Sequence[Cell], chapter: str) -> list[str]:
    """The whole outside of folds, each section, and the figures."""
    open_, parts = unfolded(cells), sections(cells)
    total = sum(len(cell["source"].split()) for cell in open_ if cell["cell_type"] == "markdown")
    found = [f"{total} words outside of folds, at most {WORDS}"] if total > WORDS else []
    drawn = figures(open_, chapter)
    found += [f"{len(drawn)} figures outside of folds, at most {FIGURES}"] if len(drawn) > FIGURES else []
    for heading, held in parts.items():
        name = heading or "the opening without In short"
        found += [f"{n} words, at most {SECTION}: {name}"] if (n := words(held)) > SECTION else []
        found += [f"{len(many)} figures, at most one: {name}"] if len(many := figures(held, chapter)) > 1 else []
    return found


def wrong_sections(cells: Sequence[Cell], chapter: str) -> list[str]:
    """Three to six with findings, then doubts and a verdict."""
    parts = list(sections(cells))
    findings = [h for h in parts if h and h not in (VERDICT, DOUBTS) and not h.startswith(DIALS)]
    found = [f"there is no section {name}" for name in (DOUBTS, VERDICT) if name not in parts]
    if len(findings) not in SECTIONS:
        found.append(f"{len(findings)} sections with findings, {SECTIONS[0]} to {SECTIONS[-1]}: {'; '.join(findings)}")
    return found


def wrong_summary(cells: Sequence[Cell], chapter: str) -> list[str]:
    """In short: 60 words, two numbers."""
    short = summary(cells)
    if short is None:
        return ["there is no In short"]
    found = [f"{n} words, at most {SHORT}: In short"] if (n := len(short.split())) > SHORT else []
    numbers = len(re.findall(r"\]\(#n-", short))
    return found + ([f"{numbers} numbers, at most two: In short"] if numbers > 2 else [])


def wrong_verdict(cells: Sequence[Cell], chapter: str) -> list[str]:
    held = sections(cells).get(VERDICT, ())
    n = sum(sentences(cell["source"]) for cell in held if cell["cell_type"] == "markdown")
    return [f"{n} sentences, one to {SENTENCES}: {VERDICT}"] if not 1 <= n <= SENTENCES else []


def wrong_measure(cells: Sequence[Cell], chapter: str) -> list[str]:
    """One cell of code stands open: a reader sees what is counted."""
    closed = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
    code = [c for c in unfolded(cells) if c["cell_type"] == "code" and not closed & set(c["metadata"].get("tags", ()))]
    lines = [sum(bool(line.strip()) for line in c["source"].splitlines()) for c in code]
    if len(code) != 1:
        return [f"{len(code)} open cells of code, one: {', '.join(c['id'] for c in code)}"]
    return [f"{lines[0]} lines of open code, {MEASURE[0]} to {MEASURE[-1]}"] if lines[0] not in MEASURE else []


Check = Callable[[Sequence[Cell], str], list[str]]
"""Of the cells of a chapter and its name: what is wrong, in words."""
ANATOMY: tuple[Check, ...] = (too_long, wrong_sections, wrong_summary, wrong_verdict, wrong_measure)
