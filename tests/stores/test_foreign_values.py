"""Values that no warehouse of ours holds are named, with what is allowed in their place."""

from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.store.foreign.rules import check_values


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update runs set state = 'great'", "column state is great; allowed: held, preparing"),
        ("update runs set region = null", "column region is empty; allowed: a value"),
        (
            "update runs set created_at = 'infinity'",
            "column created_at is infinity; allowed: a time of the years 1 to 9999",
        ),
        ("update runs set created_at = '290000-01-01'", "allowed: a time of the years 1 to 9999"),
        ("update results set throughput_cluster = 'nan'", "column throughput_cluster is nan; allowed: a finite number"),
        ("update runs set cards_per_node = 0", "column cards_per_node is 0; allowed: 1 or more"),
        ("update runs set tags = '{}'", "column tags is {}; allowed: a list of texts"),
        ("update runs set tags = '[1]'", "column tags is [1]; allowed: a list of texts"),
        ("update runs set spec = '[]'", "column spec is []; allowed: an object"),
        ("update results set checks = '[{}]'", "column checks is [{}]; allowed: a list of checks"),
        (
            """update results set checks = '[{"id":"V01","level":"fine","expected":"","found":""}]'""",
            "allowed: a list of checks",
        ),
        (
            "insert into run_metrics values ('run-0', 'm', 1, '', 'best', 'mean', '', 'job')",
            "table run_metrics, run run-0: column better is best; allowed: ",
        ),
        (
            "insert into run_metrics values ('run-0', 'm', null, '', '', 'mean', '', 'job')",
            "column value is empty; allowed: a value",
        ),
        ("""update runs set stop_cause = '{"kind":"search"}'""", "allowed: a kind and a value"),
        ("""update runs set stop_cause = '{"kind":"cat","value":"x"}'""", "allowed: a kind and a value"),
        ("""update runs set stop_cause = '{"kind":"stall","value":[]}'""", "allowed: a kind and a value"),
        ("update runs set run_id = '..'", "table runs: column run_id is ..; allowed: 1 to 120 characters"),
        ("update runs set run_id = 'a/b'", "column run_id is a/b"),
        ("update runs set run_id = ''", "allowed: 1 to 120 characters"),
        ("insert into runs from runs", "allowed: each run once"),
        ("delete from results", "allowed: runs with a row in results"),
        ("insert into rank_results values ('nobody', 0, 0, 1)", "allowed: runs with a row in runs"),
        ("insert into saved_views values ('compare', 'x', '[]', 'me', now()::TIMESTAMP)", "table saved_views: a row"),
        ("insert into series values ('s', '{}', '[]', 'p', now()::TIMESTAMP, 'me')", "table series: a row"),
        ("insert into baselines values ('g', '{}', '', '[]', 'me', now()::TIMESTAMP)", "table baselines: a row"),
        ("""update runs set spec = '{"a":' || repeat('[', 9000) || repeat(']', 9000) || '}'""", "is nested too deep"),
        (
            "update runs set note = repeat('x', 100_000_000) where run_id = 'run-0'",
            "table runs, run run-0: column note has 100,000,000 characters; allowed: at most 4,194,304",
        ),
        (
            "update runs set workload = repeat('x', 65_537) where run_id = 'run-0'",
            "table runs, run run-0: column workload has 65,537 characters; allowed: at most 65,536",
        ),
        (
            "insert into annotations values ('run-0', now()::TIMESTAMP, 'me', 'note', repeat('x', 5_000_000))",
            "table annotations, run run-0: column text has 5,000,000 characters; allowed: at most 4,194,304",
        ),
        (
            """insert into series
            values ('s', '{}', '"' || repeat('x', 20_000_000) || '"', 'p', now()::TIMESTAMP, 'me')""",
            "table series, series_id s: column cells has 20,000,002 characters; allowed: at most 16,777,216",
        ),
    ],
)
def test_values_that_no_warehouse_holds_are_named(theirs: Path, statement: str, said: str) -> None:
    with duckdb.connect(theirs) as con:
        con.execute(statement)
        with pytest.raises(WarehouseError) as error:
            check_values(con, theirs)

    assert str(error.value).startswith(f"{theirs}, table ")
    assert said in str(error.value)
