"""Put a cell before the first of every notebook that fetches the book where it is not there: Colab opens a notebook alone.

python .github/launch.py https://github.com/OWNER/NAME
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat

FETCH = """# Opened alone, as on Colab: fetch the book and what it needs beside PyTorch.
import os, subprocess, sys

if not os.path.exists("../lib"):
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", "{address}", "/tmp/book"], check=True)
    needs = ["anywidget", "papermill", "safetensors", "filelock", "threadpoolctl", "jaxtyping"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *needs], check=True)
    os.chdir("/tmp/book/book")
sys.path.insert(0, os.path.abspath(".."))"""


def main(address: str, folder: Path = Path(__file__).parents[1] / "book") -> None:
    for path in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        cell = nbformat.v4.new_code_cell(FETCH.format(address=address), id="fetch-the-book")
        notebook.cells = [cell, *(c for c in notebook.cells if c.get("id") != cell["id"])]
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1])
