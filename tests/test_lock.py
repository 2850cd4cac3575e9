"""The locks: whole, hashed, one a part of the other, and good for every Python that is promised."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packages import asked
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11.0", "3.12", "3.13")


def pins(name: str) -> dict[str, tuple[Requirement, int]]:
    """{package: (pin, number of hashes)}."""
    found = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text().strip()):
        pin, *hashes = (line.strip(" \\") for line in entry.splitlines())
        requirement = Requirement(pin)
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), pin
        found[canonicalize_name(requirement.name)] = requirement, len(hashes)
    return found


@pytest.mark.parametrize("name", ["requirements", "requirements-test"])
def test_every_package_that_is_asked_for_is_pinned_with_its_hashes(name: str) -> None:
    there = pins(f"{name}.lock")
    assert asked(f"{name}.txt") - {"torch"} <= there.keys()
    for pin, hashes in there.values():
        assert re.fullmatch(r"==[^*,]+", str(pin.specifier)), pin
        assert hashes > 0, pin


def test_what_pytorch_brings_is_left_to_the_machine() -> None:
    assert not [name for name in pins("requirements-test.lock") if re.match(r"torch$|triton$|nvidia-|cuda-", name)]


def test_the_book_and_the_tests_have_the_same_versions() -> None:
    book, tests = pins("requirements.lock"), pins("requirements-test.lock")
    assert {name: str(pin) for name, (pin, _) in book.items()}.items() <= {n: str(pin) for n, (pin, _) in tests.items()}.items()


def test_binder_has_the_pytorch_of_the_book() -> None:
    (pinned,) = re.findall(r"^torch==(\d+\.\d+)\.", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    (binder,) = re.findall(r"pytorch-cpu=([\d.]+\.\*)", (ROOT / "binder" / "environment.yml").read_text())
    assert binder == f"{pinned}.*"


@pytest.fixture(scope="module")
def resolving() -> Iterator[dict[str, subprocess.Popen[str]]]:
    """The resolutions for every Python, which wait for the network together."""
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "compile", "--quiet", "--only-binary", ":all:", "--no-binary", "reason-or-memorize", "--no-header"]
    command += ["--no-annotate", "-c", "requirements-test.lock", "requirements-test.txt", "--python-version"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = {python: subprocess.Popen([*command, python], cwd=ROOT, **pipes) for python in PYTHONS}
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_resolve_on_every_python_that_is_promised(resolving: dict[str, subprocess.Popen[str]], python: str) -> None:
    """Resolved, not installed; needs the network."""
    said, complained = resolving[python].communicate()
    if resolving[python].returncode and re.search(r"dns error|connect|timed? ?out", complained):
        pytest.skip("no network")
    assert resolving[python].returncode == 0, complained
    locked = {name: str(pin.specifier) for name, (pin, _) in pins("requirements-test.lock").items()}
    resolved = [Requirement(line) for line in said.splitlines() if line and line[0] not in "#-"]
    pytorch = re.compile(r"torch$|triton$|nvidia-|cuda-")
    wanted = {canonicalize_name(one.name): str(one.specifier) for one in resolved if not pytorch.match(one.name)}
    assert wanted.items() <= locked.items()
    assert len(wanted) > 150
