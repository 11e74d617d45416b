"""docs/modules.md is the first paragraph of every module's docstring, folder by folder."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.source_tree import HOME, path_of, product, tree_of

PAGE = HOME / "docs" / "modules.md"
ARCHITECTURE = HOME / "ARCHITECTURE.md"
MOST_WORDS = 1_500

INTRODUCTION = """# Modules

Every module of the product with the beginning of its docstring; a test writes this page anew from the code.
[ARCHITECTURE.md](../ARCHITECTURE.md) says how they work together.
"""
HEAD = "| module | what it is |\n|---|---|\n"


def document() -> str:
    """docs/modules.md as the code would write it."""
    folders = groupby(sorted(product(), key=lambda file: (file.parent, file.name)), key=lambda file: file.parent)
    return "\n".join(
        [INTRODUCTION, *(section for folder, files in folders for section in _section(folder, list(files)))]
    )


def _section(folder: Path, files: list[Path]) -> Iterator[str]:
    yield f"## `{path_of(folder) if folder != HOME else '.'}/`\n"
    package = folder / "__init__.py"
    if package in files and _summary(package):
        yield f"{_summary(package)}\n"
    rows = [f"| `{file.name}` | {_summary(file)} |" for file in files if file != package]
    if rows:
        yield HEAD + "\n".join(rows) + "\n"


def _summary(file: Path) -> str:
    first = (ast.get_docstring(tree_of(file)) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", first).replace("|", "\\|")


def test_the_index_of_modules_says_what_their_docstrings_say() -> None:
    rewrite = "from tests.unit.test_module_index import *; PAGE.write_text(document(), 'utf-8')"

    assert PAGE.read_text("utf-8") == document(), f'to write it anew: .venv/bin/python -c "{rewrite}"'


def test_every_module_says_what_it_is() -> None:
    silent = [path_of(file) for file in product() if file.name != "__init__.py" and not _summary(file)]

    assert silent == []


def test_the_architecture_can_be_read_at_one_sitting() -> None:
    assert len(re.findall(r"[\w’'-]+", ARCHITECTURE.read_text("utf-8"))) <= MOST_WORDS


def test_every_module_that_the_architecture_names_is_there() -> None:
    """Most with their path, which tests of documents look up, too; some only with the folder named before."""
    names = {"modelarts_config.py", *(file.name for file in product())}  # the first one is upstream's

    assert set(re.findall(r"`(\w+\.py)`", ARCHITECTURE.read_text("utf-8"))) - names == set()
