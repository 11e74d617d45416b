"""How often the product lists columns of a run by hand, beside the catalogue."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.model.columns import COLUMNS
from tests.source_tree import nodes_of, path_of, product

MANY = 9
"""A definition that names so many columns of a run repeats the catalogue."""

MOST = 14
"""This may only get smaller: typed rows, the leaderboard's own table, and lists that nobody has derived yet."""

CATALOGUE = "aisbench_core/model/columns/"

OLD_FOLDERS = "aisbench_core/maintenance/upgrading/"
"""What a warehouse of before 0.1.0 held, which the catalogue of today does not say; it goes with `aisbench upgrade`."""

NAMES = frozenset({name for column in COLUMNS for name in (column.name, column.stored_name, column.field)})


LISTING = (ast.ClassDef, ast.Dict, ast.Tuple, ast.List, ast.Set, ast.Constant, ast.JoinedStr)
"""What can name many columns."""


def definitions(file: Path) -> Iterator[tuple[str, int, str]]:
    """Classes, dicts, tuples, lists, sets and texts that name many columns: file, line and what it is."""
    silent = {id(text) for node in nodes_of(file, ast.Expr, ast.JoinedStr) for text in _said(node)}
    for node in nodes_of(file, *LISTING):
        if id(node) not in silent and len(_names(node) & NAMES) >= MANY:
            yield path_of(file), getattr(node, "lineno", 0), type(node).__name__


def _said(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the parts of a formatted text, which is counted as a whole."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield from node.values


def _names(node: ast.AST) -> set[str]:
    match node:
        case ast.ClassDef():
            return {
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
        case ast.Dict():
            return {text for key in node.keys for text in _text(key)}
        case ast.Tuple() | ast.List() | ast.Set():
            return {text for each in node.elts for text in _text(each)}
        case ast.Constant(value=str(text)):
            return set(re.findall(r"\w+", text))
        case ast.JoinedStr():
            parts = (part.value for part in node.values if isinstance(part, ast.Constant))
            return set(re.findall(r"\w+", " ".join(map(str, parts))))
    return set()


def _text(node: ast.AST | None) -> Iterator[str]:
    """A text, or the first argument of what is made of one."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else node
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value


def test_columns_of_a_run_are_listed_in_the_catalogue() -> None:
    files = [file for file in product() if not path_of(file).startswith((CATALOGUE, OLD_FOLDERS))]
    found = [each for file in files for each in definitions(file)]

    listed = "\n".join(f"{name}:{line} {kind}" for name, line, kind in found)
    assert len(found) <= MOST, f"say it with aisbench_core/model/columns instead of by hand:\n{listed}"
