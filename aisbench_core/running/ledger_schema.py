"""The ledger's tables, and the way from each version of them to the next."""

import sqlite3

from aisbench_core.errors import AisbenchError
from aisbench_core.messages import Message


def migrate(con: sqlite3.Connection) -> None:
    """Bring the tables up to date; others may do the same at the same time. Raises AisbenchError on newer ones."""
    if _version(con) == len(MIGRATIONS):
        return
    con.execute("pragma journal_mode = wal")
    con.execute("begin exclusive")
    found = _version(con)
    if found > len(MIGRATIONS):
        con.execute("rollback")
        raise AisbenchError(
            Message("the ledger was written by a newer version (schema {found})", found=found),
            Message("update this console"),
        )
    for migration in MIGRATIONS[found:]:
        migration(con)
    con.execute(f"pragma user_version = {len(MIGRATIONS)}")
    con.execute("commit")


def _first_schema(con: sqlite3.Connection) -> None:
    con.execute(
        "create table runs (run_id text primary key, spec text not null, workload text not null, profile text not null,"
        " state text not null, created_at text not null, created_by text not null, updated_at text not null,"
        " next_step_at text not null, version integer not null, job_name text not null, job_id text not null,"
        " phase text not null, attempts integer not null, verdict text, detail text not null,"
        " code_sha256 text not null, submitted_at text, started_at text, ended_at text, duration_s real,"
        " token text unique)"
    )
    con.execute("create index runs_by_age on runs (created_at desc, run_id desc)")
    con.execute("create index runs_by_state on runs (state, created_at)")
    con.execute(
        "create table events (number integer primary key, run_id text not null, at text not null,"
        " source text not null, level text not null, message text not null, actor text not null)"
    )
    con.execute("create index events_by_run on events (run_id, number)")
    con.execute(
        "create table progress (run_id text primary key, state text not null, done integer not null,"
        " total integer not null, unit text not null, at text not null)"
    )
    con.execute("create table drafts (key text primary key, text text not null, at text not null)")
    con.execute("create table beats (id integer primary key, who text not null, at text not null)")


def _newest_of_a_state(con: sqlite3.Connection) -> None:
    """The index gives the newest runs of a state in order, so that a page need not sort the whole history."""
    con.execute("drop index runs_by_state")
    con.execute("create index runs_by_state on runs (state, created_at desc, run_id desc)")


def _series(con: sqlite3.Connection) -> None:
    """A try at a cell has one row for ever, which is given its run's id once: no cell is launched twice."""
    con.execute("alter table runs add column series_id text not null default ''")
    con.execute("alter table runs add column series_index integer")
    con.execute("create index runs_by_series on runs (series_id) where series_id <> ''")
    con.execute(
        "create table series (series_id text primary key, name text not null, profile text not null,"
        " plan text not null, cells text not null, created_at text not null, created_by text not null,"
        " budget real, trouble text not null, token text unique)"
    )
    con.execute("create index series_by_age on series (created_at desc, series_id desc)")
    con.execute(
        "create table attempts (series_id text not null, cell integer not null, number integer not null,"
        " place integer not null, repeat integer not null, asked_by text not null, asked_at text not null,"
        " run_id text not null, cancelled integer not null, primary key (series_id, cell, number))"
    )
    con.execute("create index attempts_to_launch on attempts (series_id) where run_id = '' and cancelled = 0")


def _sorted_runs(con: sqlite3.Connection) -> None:
    """The index holds all that runs are sorted by: to read it takes a tenth of what reading the runs does."""
    con.execute("drop index runs_by_state")
    con.execute(
        "create index runs_by_state on runs"
        " (state, created_at desc, run_id desc, ended_at, duration_s, workload, created_by)"
    )


def _sentences(con: sqlite3.Connection) -> None:
    """What a sentence was made from, beside its English text; empty for those that are older, or nobody's sentence."""
    for table, column in (("runs", "detail"), ("events", "message"), ("events", "actor"), ("series", "trouble")):
        con.execute(f"alter table {table} add column {column}_data text not null default ''")
    con.execute("alter table beats add column who_data text not null default ''")


MIGRATIONS = (_first_schema, _newest_of_a_state, _series, _sorted_runs, _sentences)
"""Each brings the schema one version further; a released one is never edited."""


def _version(con: sqlite3.Connection) -> int:
    return int(con.execute("pragma user_version").fetchone()[0])
