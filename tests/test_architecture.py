"""Who may import whom, read from the sources: data flows one way, and training runs on a bare machine."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import packages
import pytest
from packages import imported, own, third_party

from lib.book import bridge, registry
from lib.book.paths import default_store
from lib.core.sweep.experiment import Experiment

LIB = packages.ROOT / "lib"
STUDIES = sorted(path.name for path in LIB.iterdir() if path.is_dir() and path.name not in ("core", "book", "__pycache__"))
CORE = {
    "model": set(),
    "record": {"model"},
    "train": {"model", "record"},
    "sweep": {"model", "record", "train"},
    "read": {"model", "record"},
}
"""The rooms of lib.core, each with those that it may import beside itself."""
NEEDS_RAY = "cluster.py"
BARE = {"jaxtyping", "torch", "safetensors", "filelock", "tqdm", "numpy"}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def show(path: Path) -> str:
    return str(path.relative_to(packages.ROOT))


def test_the_reader_of_imports_sees_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests below are only as good as this."""
    monkeypatch.setattr(packages, "ROOT", tmp_path)
    path = tmp_path / "lib" / "core" / "probe.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import os.path, lib.book\nfrom lib import composition\nfrom lib.core.record.spec import RunSpec\nfrom . import rng\n"
        "from ..book import paths\ndef f():\n    import numpy as np\n    from torch import nn\n"
    )
    assert own(path) == {"lib.book", "lib.composition", "lib.core.record.spec.RunSpec", "lib.core.rng", "lib.book.paths"}
    assert third_party(path) == {"numpy", "torch"}


def test_the_studies_are_there() -> None:
    assert "composition" in STUDIES
    assert {path.name for path in (LIB / "core").iterdir() if path.name != "__pycache__"} == {"__init__.py", *CORE}


@pytest.mark.parametrize("path", sources(LIB / "core"), ids=show)
def test_core_imports_no_other_package_of_ours(path: Path) -> None:
    assert {name for name in own(path) if not within(name, "lib.core")} == set()


@pytest.mark.parametrize("path", [path for study in STUDIES for path in sources(LIB / study)], ids=show)
def test_a_study_imports_itself_and_core(path: Path) -> None:
    study = path.relative_to(LIB).parts[0]
    assert {name for name in own(path) if not within(name, f"lib.{study}") and not within(name, "lib.core")} == set()


@pytest.mark.parametrize("path", sources(LIB / "core"), ids=show)
def test_the_rooms_of_core_import_in_one_direction(path: Path) -> None:
    room = path.relative_to(LIB / "core").parts[0]
    if room in CORE:
        assert {name.split(".")[2] for name in own(path)} <= CORE[room] | {room}


@pytest.mark.parametrize(
    "path", [p for room in ("model", "record", "train", "sweep") for p in sources(LIB / "core" / room)], ids=show
)
def test_training_code_needs_little(path: Path) -> None:
    """So that a sweep runs on a machine with a GPU and not much else."""
    assert third_party(path) <= BARE | ({"ray"} if path.name == NEEDS_RAY else set())


@pytest.mark.parametrize("path", [LIB / study / f"{part}.py" for study in STUDIES for part in ("task", "study")], ids=show)
def test_a_task_needs_no_more_than_training(path: Path) -> None:
    """Workers of a sweep import the study's data and measures as well."""
    if not path.exists():
        pytest.skip("this study has no such module")
    assert third_party(path) <= BARE


def _calls(path: Path) -> set[str]:
    """Names that a source file calls, as they are written: `torch.load`, `eval`."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", sources(LIB), ids=show)
def test_data_stay_data(path: Path) -> None:
    """Nothing is unpickled and no string is run: a result, a checkpoint or a notebook from elsewhere can only be data."""
    assert not third_party(path) & {"pickle", "cloudpickle", "dill", "joblib"}
    assert not imported_top(path) & {"pickle", "marshal", "shelve"}
    assert not _calls(path) & {"eval", "exec", "compile", "torch.load", "np.load", "numpy.load", "yaml.load", "__import__"}


@pytest.mark.parametrize("path", [path for path in sources(LIB) if path != LIB / "core" / "read" / "style.py"], ids=show)
def test_bands_are_drawn_by_the_style(path: Path) -> None:
    assert not {call for call in _calls(path) if call.endswith(".fill_between")}


def imported_top(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


# ---------------------------------------------------------------- the rooms of a chapter

ROOMS = ("metrics", "figures", "claims")
TRAINERS = ("lib.core.train.loop", "lib.core.train.ensemble", "lib.core.train.native", "lib.core.train.checkpoint")
MODELS = (
    *TRAINERS,
    "lib.core.model.transformer",
    "lib.core.model.query_attention",
    "lib.core.sweep.jobs",
    "lib.core.record.store",
)
GIVEN = "lib.core.record.store.StoredRun"
"""A run that was read already: a figure may draw its history and metrics."""
EXPLORES = "exploration.py"
"""The one module above the chapters that may read their numbers: an explorer shows what several chapters are about."""
RUNNING = {"from_weights", "weights", "snapshots", "build", "forward", "logits", "obtain", "no_grad", "inference_mode"}


def folders(study: Path) -> list[Path]:
    """The sub-packages of a study, one a chapter."""
    return sorted(path for path in study.iterdir() if path.is_dir() and any(path.glob("*.py")))


def offences(study: Path) -> list[str]:
    """What the chapters of a study do that their rooms forbid, and what stands above them and leans on a chapter."""
    chapters, found = {path.name: path for path in folders(study)}, []
    for path in study.glob("*.py"):
        allowed = {"claims.py": "claims", EXPLORES: "metrics"}.get(path.name)
        for name in sorted(own(path)):
            inside = name.split(".")[2:] if within(name, f"lib.{study.name}") else []
            if inside and inside[0] in chapters and inside[1:2] != [allowed]:
                found.append(f"{show(path)}: imports {name}, though it stands above the chapters")
    for chapter, folder in chapters.items():
        for path in sources(folder):
            room = path.relative_to(folder).with_suffix("").as_posix()
            say = lambda what, where=show(path): found.append(f"{where}: {what}")  # noqa: B023 (called within the turn)
            if room == "__init__":
                if path.read_text(encoding="utf-8").strip():
                    say("must be empty, or it would join the rooms")
                continue
            if room not in ROOMS:
                say(f"is none of the rooms {', '.join(ROOMS)}")
            for name in sorted(own(path)):
                inside = name.split(".")[2:] if within(name, f"lib.{study.name}") else ["core"]
                if not inside:
                    say("imports its study as a whole: name a module")
                elif inside[0] == "claims":
                    say(f"imports {name}, which only collects")
                elif inside[0] in chapters and inside[1:2] != ["metrics"]:
                    say(f"imports {name}: of a chapter, its own or another, only the metrics")
                if room == "metrics" and any(within(name, trainer) for trainer in TRAINERS):
                    say(f"imports {name}: metrics are read from results, not trained")
                if room == "figures" and name != GIVEN and any(within(name, module) for module in MODELS):
                    say(f"imports {name}: a figure draws what it is given")
            if room == "figures":
                called = {call.split(".")[-1] for call in _calls(path)} & RUNNING
                found += [f"{show(path)}: calls {call}: a figure draws what it is given" for call in sorted(called)]
        collected = own(study / "claims.py") if (study / "claims.py").exists() else set()
        if (folder / "claims.py").exists() and not any(within(n, f"lib.{study.name}.{chapter}.claims") for n in collected):
            found.append(f"{show(folder / 'claims.py')}: is not collected by {show(study / 'claims.py')}")
    return found


@pytest.mark.parametrize("study", STUDIES)
def test_rooms_read_numbers_and_not_each_other(study: str) -> None:
    assert offences(LIB / study) == []


PLANTED = {
    "a drawing room reads another": ("one/figures.py", "from lib.planted.one.claims import HALF", "only the metrics"),
    "the same by its module": ("one/claims.py", "from lib.planted.one import figures", "only the metrics"),
    "the same from beside it": ("one/claims.py", "from . import figures", "only the metrics"),
    "a chapter as a whole": ("one/claims.py", "import lib.planted.two", "only the metrics"),
    "a sibling's claims": ("one/metrics.py", "from lib.planted.two.claims import CLAIMS", "only the metrics"),
    "a room for sentences": ("one/prose.py", "", "is none of the rooms"),
    "what collects": ("one/figures.py", "from lib.planted.claims import CLAIMS_OF", "only collects"),
    "the study as a whole": ("one/figures.py", "import lib.planted", "name a module"),
    "numbers train": ("one/metrics.py", "from lib.core.train.loop import RunResult", "not trained"),
    "a figure loads a model": (
        "one/figures.py",
        "from lib.core.model.transformer import from_weights",
        "draws what it is given",
    ),
    "a figure opens the store": ("one/figures.py", "from lib.core.record.store import Store", "draws what it is given"),
    "a figure asks a model": ("one/figures.py", "def f(run):\n    return run.weights()", "calls weights"),
    "a fifth room": ("one/checks.py", "", "none of the rooms"),
    "a full package": ("one/__init__.py", "from lib.planted.one.metrics import x", "must be empty"),
    "what is shared leans on a chapter": ("runs.py", "from lib.planted.one.metrics import x", "stands above"),
    "the explorer draws a chapter's figure": ("exploration.py", "from lib.planted.one import figures", "stands above"),
    "claims of no ledger": ("two/claims.py", "", "is not collected"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_the_reader_of_rooms_sees_every_offence(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "ROOT", tmp_path)
    study = tmp_path / "lib" / "planted"
    allowed = "from lib.core import style\nfrom lib.core.record.store import StoredRun\nfrom lib.planted import runs\n"
    for chapter in ("one", "two"):
        (study / chapter).mkdir(parents=True)
        (study / chapter / "__init__.py").write_text("")
        (study / chapter / "metrics.py").write_text(f"{allowed}from lib.core.model.transformer import from_weights\n")
        (study / chapter / "figures.py").write_text(f"{allowed}from lib.planted.{chapter}.metrics import x\n")
    (study / "one" / "figures.py").write_text(f"{allowed}from lib.planted.two import metrics\n")
    (study / "one" / "claims.py").write_text(f"{allowed}from lib.planted.one import metrics\n")
    (study / "claims.py").write_text("from lib.planted.one.claims import CHAPTER\n")
    (study / "exploration.py").write_text("from lib.planted.one.metrics import x\n")
    (study / "checks.py").write_text("from lib.core.train.loop import RunResult\n")  # above the chapters: not a room
    assert offences(study) == []
    where, line, expected = PLANTED[case]
    with (study / where).open("a") as file:
        file.write(f"{line}\n")
    assert [expected in offence for offence in offences(study)] == [True]


STUDY_WORDS = ("symmetric", "inferential", "anchor", "reasoning bias", "chain of thought", "in-context", "pruning", "relevance")


@pytest.mark.parametrize("path", sources(LIB / "core"), ids=show)
def test_core_has_no_words_of_a_study(path: Path) -> None:
    """What is called after a study's things serves that study alone, and belongs to it."""
    text = path.read_text(encoding="utf-8").lower()
    assert [word for word in STUDY_WORDS if word in text] == []


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_is_in_the_book(study: str) -> None:
    """A folder in lib is a study, and the registry has what its `claims.py` collects: every experiment of its modules, too."""
    collected = importlib.import_module(f"lib.{study}.claims")
    assert collected in registry.STUDIES
    modules = [importlib.import_module(f"lib.{study}.{path.stem}") for path in (LIB / study).glob("[!_]*.py")]
    made = {e.name for module in modules for e in vars(module).values() if isinstance(e, Experiment)}
    assert made <= {e.name for e in collected.EXPERIMENTS}


# ---------------------------------------------------------------- the places of a study


NO_START_COMPARED = ("chain_of_thought",)
"""Studies without a row on the bridge, which compares large starts with small ones."""
NO_OWN_WORDS = ("chain_of_thought",)
"""Studies that use no word in a sense of their own."""


def explained(glossary: str) -> set[int]:
    """The chapters that the glossary names: `chapter 19`, `chapters 9 to 11`."""
    return {
        n
        for first, last in re.findall(r"chapters? (\d+)(?: (?:to|and) (\d+))?", glossary)
        for n in range(int(first), int(last or first) + 1)
    }


def missing_places(study: str, readme: str, toc: str, glossary: str, on_bridge: Collection[str]) -> list[str]:
    """The places that a study lacks: its row in the README's table, experiments and claims in the registry, its chapters in the
    table of contents, and one at least of those on the bridge and in the glossary."""
    made = [e.name for e in registry.EXPERIMENTS.values() if e.make_study.__module__.startswith(f"lib.{study}.")]
    try:
        chapters = importlib.import_module(f"lib.{study}.claims").CLAIMS_OF
    except ModuleNotFoundError:
        chapters = {}
    missing = [] if f"`lib/{study}/`" in readme else ["the README's table of folders"]
    missing += [] if made else ["its experiments in lib/book/registry.py"]
    missing += [] if chapters and chapters.items() <= registry.CLAIMS_OF.items() else ["its claims in lib/book/registry.py"]
    missing += [] if study in NO_START_COMPARED or set(chapters) & set(on_bridge) else ["its row in lib/book/bridge.py"]
    known = study in NO_OWN_WORDS or {int(name[:2]) for name in chapters} & explained(glossary)
    missing += [] if known else ["a word of its own in book/glossary.md, with its chapter"]
    return missing + [f"{name} in _toc.yml" for name in chapters if f"file: book/{name}\n" not in toc]


@cache
def bridge_chapters() -> list[str]:
    """The chapters that its rows lead to, on the stored results."""
    return [task.chapter for task in bridge.tasks(default_store(), "laptop")]


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_all_its_places(study: str) -> None:
    texts = [(packages.ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "_toc.yml", "book/glossary.md")]
    assert missing_places(study, *texts, bridge_chapters()) == []


def test_what_a_study_lacks_is_named() -> None:
    first = next(iter(importlib.import_module("lib.language.claims").CLAIMS_OF))
    assert f"{first} in _toc.yml" in missing_places("language", "`lib/language/`", "", "", ["21-prontoqa"])
    assert missing_places("nowhere", "", "", "", ["21-prontoqa"]) == [
        "the README's table of folders",
        "its experiments in lib/book/registry.py",
        "its claims in lib/book/registry.py",
        "its row in lib/book/bridge.py",
        "a word of its own in book/glossary.md, with its chapter",
    ]
