"""The index of modules: the first paragraph of every module's docstring, folder by folder."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.source_tree import HOME, path_of, product, tree_of

PAGE = HOME / "build" / "modules.md"
"""Not kept: `make docs` writes it."""

INTRODUCTION = """# Modules

Every module of the product with the beginning of its docstring.
"""
HEAD = "| module | what it is |\n|---|---|\n"


def document() -> str:
    """The index as Markdown."""
    folders = groupby(sorted(product(), key=lambda file: (file.parent, file.name)), key=lambda file: file.parent)
    return "\n".join(
        [INTRODUCTION, *(section for folder, files in folders for section in _section(folder, list(files)))]
    )


def summary_of(file: Path) -> str:
    """The first paragraph of a module's docstring in one line, as a cell of a table."""
    first = (ast.get_docstring(tree_of(file)) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", first).replace("|", "\\|")


def _section(folder: Path, files: list[Path]) -> Iterator[str]:
    yield f"## `{path_of(folder) if folder != HOME else '.'}/`\n"
    package = folder / "__init__.py"
    if package in files and summary_of(package):
        yield f"{summary_of(package)}\n"
    rows = [f"| `{file.name}` | {summary_of(file)} |" for file in files if file != package]
    if rows:
        yield HEAD + "\n".join(rows) + "\n"
