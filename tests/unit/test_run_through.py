"""docs/run-through.md and docs/data-model.md name functions, files and tables that exist."""

import ast
import re
from pathlib import Path

from aisbench_core.config.settings import HOME
from aisbench_core.store.ledger.database.ledger_schema import TABLES as LEDGER
from aisbench_core.warehouse.tables.schema import TABLES as WAREHOUSE
from tests.source_tree import tree_of

PAGE = HOME / "docs" / "run-through.md"
DATA_MODEL = HOME / "docs" / "data-model.md"


def test_every_function_of_the_run_through_is_where_it_says() -> None:
    named = re.findall(r"`([\w/]+\.py)::([\w.]+)`", PAGE.read_text("utf-8"))

    assert len(named) > 30
    assert [f"{file}::{name}" for file, name in named if name not in _functions(HOME / file)] == []


def test_every_file_of_the_run_through_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)", PAGE.read_text("utf-8"))

    assert [name for name in named if not (HOME / name).is_file()] == []


def test_the_picture_of_the_data_model_shows_tables_that_exist() -> None:
    shown = set(re.findall(r"(ledger|warehouse)_(\w+) \{", DATA_MODEL.read_text("utf-8")))

    assert {name for store, name in shown if store == "ledger"} <= set(LEDGER)
    assert {name for store, name in shown if store == "warehouse"} <= set(WAREHOUSE)


def _functions(file: Path) -> set[str]:
    """Functions of a module, and methods with their class."""
    found = set()
    for node in tree_of(file).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found
