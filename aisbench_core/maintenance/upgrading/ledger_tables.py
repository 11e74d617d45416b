"""The ledger of a development version: every row into the tables of today."""

import json

from aisbench_core.maintenance.upgrading.stop_causes import find_stop_cause
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.database.ledger_schema import (
    INDEXES,
    RELEASED,
    TABLES,
    VERSION,
    Dialect,
    create_indexes,
    create_table,
    require_no_newer,
)

FORMER_TABLES = {"heartbeats": "beats"}
FORMER_COLUMNS = {
    "runs": {"final_state": "verdict"},
    "deliveries": {"notification": "news"},
    "series": {"launch_error": "trouble", "launch_error_data": "trouble_data"},
    "attempts": {"row_index": "place", "requested_by": "asked_by", "requested_at": "asked_at"},
}


def upgrade_ledger(con: LedgerConnection, dialect: Dialect) -> bool:
    """Bring the rows into the tables of today, in one transaction; False if there is nothing to do.

    Raises AisbenchError on a newer version."""
    dialect.begin(con)
    version = dialect.version(con)
    require_no_newer(con, version)
    if version == 0 or version >= RELEASED:
        con.execute("rollback")
        return False
    indexes = INDEXES.keys() & dialect.names(con, "index")
    for name in indexes:
        con.execute(f"drop index {name}")
    there = dialect.names(con, "table")
    for name in TABLES:
        former = FORMER_TABLES.get(name, name)
        _replace_table(con, dialect, name, former if former in there else name, there)
    create_indexes(con)
    dialect.finish(con)
    _count_nodes(con)
    _store_stop_causes(con)
    con.execute("update deliveries set notification = replace(notification, '\"news_id\":', '\"id\":')")
    dialect.set_version(con, VERSION)
    con.execute("commit")
    return True


def _replace_table(con: LedgerConnection, dialect: Dialect, name: str, former: str, there: set[str]) -> None:
    if former in there:
        con.execute(f"alter table {former} rename to earlier")
    create_table(con, dialect, name)
    if former in there:
        earlier, former_columns = dialect.columns(con, "earlier"), FORMER_COLUMNS.get(name, {})
        shared = {
            column: source
            for column in dialect.columns(con, name)
            for source in {column, former_columns.get(column, column)} & earlier
        }
        into, source = ", ".join(shared), ", ".join(shared.values())
        con.execute(f"insert into {name} ({into}) select {source} from earlier")
        con.execute("drop table earlier")


def _count_nodes(con: LedgerConnection) -> None:
    """Of runs that were stored with a price: what they cost counts for budgets."""
    priced = con.execute("select run_id, spec from runs where currency <> '' and node_count = 0").fetchall()
    for run_id, spec in priced:
        con.execute("update runs set node_count = ? where run_id = ?", [json.loads(spec)["node_count"], run_id])


def _store_stop_causes(con: LedgerConnection) -> None:
    """Of runs whose sentence says why they were stopped."""
    stopped = "state in ('stopping', 'collecting', 'stopped') and detail_data <> ''"
    for run_id, data in con.execute(f"select run_id, detail_data from runs where {stopped}").fetchall():
        if cause := find_stop_cause(data):
            con.execute("update runs set stop_cause = ? where run_id = ?", [cause.to_json(), run_id])
