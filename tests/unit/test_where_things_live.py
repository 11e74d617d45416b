"""What ARCHITECTURE.md promises about the code: where things live, what they are called, and how large they get."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.source_tree import (
    HOME,
    PRODUCT,
    all_python,
    conditions,
    files_of,
    imports,
    is_inside,
    lies_in,
    nodes_of,
    path_of,
    product,
    reads_environment,
    texts_of,
    tree_of,
)

SQL = re.compile(
    r"\b(select\s.+\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from|create\s+table)\s", re.I
)
SQL_PLACES = (
    "aisbench_core/store/ledger/ledger.py",
    "aisbench_core/maintenance/upgrading",
    "aisbench_core/running/following/beats.py",
    "aisbench_core/people/budgets",
    "aisbench_core/store/ledger/acceptances.py",
    "aisbench_core/store/ledger/deletions.py",
    "aisbench_core/store/ledger/issued_reports.py",
    "aisbench_core/store/ledger/lineage.py",
    "aisbench_core/store/ledger/ledger_file.py",
    "aisbench_core/store/ledger/schedules.py",
    "aisbench_core/store/ledger/database/ledger_schema.py",
    "aisbench_core/store/ledger/outbox.py",
    "aisbench_core/store/ledger/series.py",
    "aisbench_core/store/ledger/tokens.py",
    "aisbench_core/store/signing/ledger.py",
    "aisbench_core/store/ledger/limits.py",
    "aisbench_core/store/ledger/watches.py",
    "aisbench_core/store/run_folders/ledger.py",
    "aisbench_core/store/run_folders/parts.py",
    "aisbench_core/store/ledger/database",
    "aisbench_core/maintenance/backups/ledger_copies.py",
    "aisbench_core/people/accounts",
    "aisbench_core/store/audit",
    "aisbench_core/store/seals/ledger.py",
    "aisbench_core/store/ledger/issued_reports.py",
    "aisbench_core/exchange/mlflow",
    "aisbench_core/warehouse",
)
ENVIRONMENT_PLACES = ("aisbench_core/config/settings.py", "aisbench_sandbox")
SANDBOX_STARTS_HERE = "aisbench_core/interfaces/cli/serving.py"

NOT_IN_PAGES = frozenset({"threading", "multiprocessing", "asyncio", "subprocess", "socket", "urllib", "http", "os"})

VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "managers"})

MOST_LINES = 400
"""One idea may be that long; ten pieces of it in as many files are harder to read."""

LONGER_STILL = frozenset(
    {
        "tests/stores/test_warehouse_file.py",
    }
)
"""Modules over the limit. This list may only get shorter."""


def test_sql_lives_in_the_ledger_and_in_the_warehouse() -> None:
    speaking = {path_of(file) for file in product() if any(SQL.search(text) for text in texts_of(file))}

    assert {name for name in speaking if not lies_in(HOME / name, SQL_PLACES)} == set()
    assert SQL_PLACES[0] in speaking


def test_only_the_settings_read_the_environment() -> None:
    readers = {path_of(file) for file in product() if reads_environment(file)}

    assert {name for name in readers if not lies_in(HOME / name, ENVIRONMENT_PLACES)} == set()


def test_nothing_asks_whether_a_region_is_the_sandbox() -> None:
    asking = {
        f"{path_of(file)}:{test.lineno}"
        for file in product()
        if not lies_in(file, ("aisbench_sandbox",)) and path_of(file) != SANDBOX_STARTS_HERE
        for test in conditions(file)
        if "sandbox" in ast.unparse(test).lower()
    }

    assert asking == set()


def test_files_are_named_after_what_they_hold() -> None:
    assert {path_of(file) for file in all_python() if file.stem.lower() in VAGUE} == set()


def test_modules_are_short() -> None:
    long = {path_of(file) for file in all_python() if len(file.read_text("utf-8").splitlines()) > MOST_LINES}

    assert long == LONGER_STILL


def test_every_module_says_what_it_is_for() -> None:
    silent = {path_of(file) for file in product() if file.stat().st_size and not ast.get_docstring(tree_of(file))}

    assert silent == set()


def test_errors_stand_on_the_standard_library_and_the_model_on_pydantic_too() -> None:
    def others(file: Path) -> set[str]:
        tops = {name.split(".")[0] for name in imports(file)}
        return tops - sys.stdlib_module_names

    assert others(HOME / PRODUCT / "base" / "errors.py") == {PRODUCT}  # what errors say is a Message
    nouns = [others(file) for file in files_of("aisbench_core/model")]
    assert set().union(*nouns) == {"pydantic", PRODUCT}


def test_pages_have_no_threads_no_processes_no_sockets_and_no_environment() -> None:
    wrong = {
        path_of(file) for file in files_of("pages") if NOT_IN_PAGES & {name.split(".")[0] for name in imports(file)}
    }

    assert wrong == set()


def test_no_cell_of_a_table_is_keyed_by_a_translated_word() -> None:
    keyed = {
        f"{path_of(file)}:{key.lineno}" for file in files_of("pages") for key in _list_keys(file) if _is_translated(key)
    }

    assert keyed == set()


def _list_keys(file: Path) -> Iterator[ast.expr]:
    for node in nodes_of(file, ast.Dict):
        yield from filter(None, node.keys)
    yield from (node.key for node in nodes_of(file, ast.DictComp))
    yield from (node.slice for node in nodes_of(file, ast.Subscript))


def _is_translated(key: ast.expr) -> bool:
    function = key.func if isinstance(key, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(owner, ast.Name) and owner.id == "t"


def test_nothing_but_tests_imports_tests() -> None:
    assert {path_of(file) for file in product() if any(is_inside(name, ("tests",)) for name in imports(file))} == set()
