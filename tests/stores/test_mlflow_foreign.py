"""MLflow stores that somebody made up: wrong types, views and computed columns are named, and nothing of them runs."""

from pathlib import Path

import pytest

from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.mlflow.store import REQUIRED
from aisbench_core.exchange.readers.reading import columns_of, read_path
from aisbench_core.exchange.readers.results import ParsedResult, Unread
from tests import records as a
from tests.actors import named
from tests.stores.test_mlflow import core_in, found_in, made, sent


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update metrics set value = 'fast'", "table metrics: column value holds text fast; allowed: real or integer"),
        (
            "update latest_metrics set value = x'00'",
            "table latest_metrics: column value holds blob; allowed: real or int",
        ),
        (
            "update runs set start_time = 'now'",
            "table runs: column start_time holds text now; allowed: integer or null",
        ),
        ("update runs set name = 7.5", "table runs: column name holds real 7.5; allowed: text or null"),
        ("update params set value = x'ff'", "table params: column value holds blob; allowed: text or null"),
        ("update metrics set step = 1.5", "table metrics: column step holds real 1.5; allowed: integer"),
        ("update experiments set name = x'00'", "table experiments: column name holds blob; allowed: text or null"),
    ],
)
def test_values_of_types_that_mlflow_does_not_write_are_named(statement: str, said: str, tmp_path: Path) -> None:
    file = sent(core_in(tmp_path), tmp_path / "store.db", a.record("one"))
    columns = {table: ", ".join(names) for table, names in REQUIRED.items()}
    loose = "".join(_without_types(table, names) for table, names in columns.items())
    made(tmp_path, f"pragma foreign_keys = off; {loose}{statement}", file.name)

    [unread] = found_in(file)[1]
    [column] = list(columns_of(file))

    assert said in unread.reason
    assert isinstance(column, Unread)
    assert said in column.reason


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ("create view runs as select * from before_it", "runs is a view; allowed: a table"),
        (
            "create view runs as with recursive n(i) as (select 1 union all select i + 1 from n) "
            "select before_it.* from before_it, n",
            "runs is a view; allowed: a table",
        ),
        (
            "create table runs (run_uuid, name, user_id, status, start_time, end_time, lifecycle_stage, experiment_id, "
            "none, end_time_ as (1)); alter table runs drop column end_time; "
            "alter table runs rename column end_time_ to end_time",
            "table runs: column end_time is computed; allowed: stored values",
        ),
    ],
)
def test_views_and_computed_columns_in_a_store_are_not_asked(statements: str, said: str, tmp_path: Path) -> None:
    file = sent(core_in(tmp_path), tmp_path / "store.db", a.record("one"))
    made(tmp_path, f"pragma foreign_keys = off; alter table runs rename to before_it; {statements}", file.name)

    assert said in found_in(file)[1][0].reason


def test_names_and_counts_beyond_all_machines_are_no_bugs(tmp_path: Path) -> None:
    file = sent(core_in(tmp_path), tmp_path / "store.db", a.record("one"))
    made(
        tmp_path,
        "update metrics set key = 'platform.npuUtil.node_99999999999' where key like 'rank_throughput.%' and step = 0;"
        "update metrics set key = 'rank_throughput.server_\u00b2' where key = 'rank_throughput.server_0' and step = 1;"
        "update latest_metrics set value = 1e300 where key = 'ranks_expected';"
        "update params set value = '\u00b2' where key = 'node_count'",
        file.name,
    )
    core = core_in(tmp_path / "other")

    saved = core.imports.save(
        (each for each in read_path(file) if isinstance(each, ParsedResult)), Choices(), named("me")
    )

    assert len(saved.new) == 1


def _without_types(table: str, names: str) -> str:
    return (
        f"create table loose as select {names} from {table}; drop table {table}; create table {table} ({names}); "
        f"insert into {table} select {names} from loose; drop table loose; "
    )
