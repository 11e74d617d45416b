"""The warehouse of a development version: every row into the tables of today, and what older rows lack."""

from duckdb import DuckDBPyConnection

from aisbench_core.maintenance.upgrading.refingerprinting import recompute_fingerprints
from aisbench_core.maintenance.upgrading.rehashing import recompute_hashes
from aisbench_core.warehouse.queries.group_statistics import regroup_runs
from aisbench_core.warehouse.store.migrations import LATEST, RELEASED, add_missing, stored_version
from aisbench_core.warehouse.tables.schema import ALL_TABLES

FORMER_TABLES = {"remarks": "annotations"}
# What is computed from other tables.
DERIVED = ("standings", "standings_due", "revision", "group_statistics", "group_statistics_due")

COMPLETED, FINGERPRINTED = 12, 20
"""The schemas from which on rows have all that `_COMPLETE` computes, and today's fingerprints."""

_COMPLETE = """
    update runs set image = coalesce(nullif(spec->>'$.image_url', ''), engine_version, '') where image is null;
    insert into server_results
        select run_id, server, case when count(throughput) = any_value(cards_per_node) then sum(throughput) end, null
        from rank_results join runs using (run_id)
        where mode = 'single_server' and run_id not in (select run_id from server_results)
        group by run_id, server;
    update results set ruleset_id = 'aisbench/1', ruleset_sha256 = '',
        problems = case when checks->>'$[0].level' = 'fail' and ranks_expected is not null
            then to_json(string_split(checks->>'$[0].found', '; ')) else '[]' end
        where ruleset_id is null;
"""


def upgrade_tables(con: DuckDBPyConnection, location: object) -> bool:
    """Bring the rows into the tables of today, in one transaction; False if there is nothing to do.

    Raises WarehouseError when another program wrote them."""
    version = stored_version(con, location)
    if not 0 < version < RELEASED:
        return False
    con.begin()
    try:
        _rename_tables(con)
        add_missing(con, ALL_TABLES, with_columns=True)
        if version < COMPLETED:
            con.execute(_COMPLETE)
        if version < FINGERPRINTED:
            recompute_fingerprints(con)
        recompute_hashes(con)
        regroup_runs(con)
        con.execute("insert into schema_version values (?)", [LATEST])
        con.commit()
    except BaseException:
        con.rollback()
        raise
    return True


def _rename_tables(con: DuckDBPyConnection) -> None:
    con.execute("select table_name from duckdb_tables() where database_name = current_database()")
    there = {name for (name,) in con.fetchall()}
    for former, name in FORMER_TABLES.items():
        if former in there:
            con.execute(f"alter table {former} rename to {name}")
    for name in DERIVED:
        con.execute(f"drop table if exists {name}")
