"""The ledger's tables."""

from collections.abc import Collection
from typing import Protocol

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.store.ledger.database.connection import LedgerConnection

# The schema of the first release; ledgers of those before it are of development versions.
RELEASED = 24

# One more with every change of what follows.
VERSION = 29

# By version: the columns that it adds to tables of the version before it; an empty one is the whole table.
ADDED = {
    25: (("progress", "stage text not null default ''"),),
    26: (("deletions", ""), ("parents", ""), ("tags", "")),
    27: (("signing_keys", ""),),
    28: (("issued_reports", ""),),
    29: (("acceptances", ""),),
}

UPGRADE = Message("run `aisbench upgrade`")

# By what right a follower does later what somebody asked for. What was asked for before it was stored: to launch.
GRANT = "role text not null default 'engineer', token_id text not null default ''"

# Columns that end in _data hold what the sentence beside them was made from; empty for older ones, or nobody's.
TABLES = {
    "runs": "run_id text primary key, spec text not null, workload text not null, profile text not null,"
    " state text not null, created_at text not null, created_by text not null, updated_at text not null,"
    " next_step_at text not null, version integer not null, job_name text not null, job_id text not null,"
    " phase text not null, attempts integer not null, final_state text, detail text not null,"
    " code_sha256 text not null, submitted_at text, started_at text, ended_at text, duration_s real, token text unique,"
    " series_id text not null default '', series_index integer, detail_data text not null default '',"
    " price_per_node_hour real, currency text not null default '', expected_cost real, node_count integer not null"
    " default 0, region_ahead_s real, stop_cause text not null default ''",
    "events": "number integer primary key, run_id text not null, at text not null, source text not null,"
    " level text not null, message text not null, actor text not null, message_data text not null default '',"
    " actor_data text not null default ''",
    "progress": "run_id text primary key, state text not null, done integer not null, total integer not null,"
    " unit text not null, at text not null, stage text not null default ''",
    "drafts": "key text primary key, text text not null, at text not null",
    "heartbeats": "id integer primary key, who text not null, at text not null, who_data text not null default ''",
    # Of followers that share the profiles. `profiles`: names; `clock_ahead_s`: the ledger's clock less theirs.
    "followers": "who text primary key, at text not null, who_data text not null, profiles text not null,"
    " clock_ahead_s real not null default 0",
    "series": "series_id text primary key, name text not null, profile text not null, plan text not null,"
    " cells text not null, created_at text not null, created_by text not null, budget real, launch_error text not null,"
    " token text unique, launch_error_data text not null default '', held text not null default '',"
    " held_data text not null default '', held_until text, approved integer not null default 0",
    # A try at a cell has one row for ever, which is given its run's id once: no cell is launched twice.
    "attempts": "series_id text not null, cell integer not null, number integer not null, row_index integer not null,"
    " repeat integer not null, requested_by text not null, requested_at text not null, run_id text not null,"
    " cancelled integer not null, expected_cost real, currency text not null default '',"
    f" {GRANT},"
    " primary key (series_id, cell, number)",
    "notices": "notice_id text primary key, subject text not null, kind text not null, at text not null,"
    " text text not null, data text not null default ''",
    # A message to one channel; those that are sent together share their message_id.
    "deliveries": "delivery_id text primary key, message_id text not null, channel text not null,"
    " notification text not null, at text not null, state text not null, attempts integer not null,"
    " next_at text not null, error text not null,"
    " error_data text not null default '', sent_at text",
    # Names that people gave to runs, for the search; the run's folder holds all that it was ever called.
    "names": "run_id text primary key, name text not null",
    # Their tags, for the same; see also PINNED in aisbench_core/model/annotation.py.
    "tags": "run_id text not null, tag text not null, primary key (run_id, tag)",
    # What the stall guard knows of a run; those that completed teach it how long their configuration is quiet.
    "watches": "run_id text primary key, configuration text not null, completed_at text, data text not null",
    "schedules": "name text primary key, plan text not null, profile text not null, cron text not null,"
    " time_zone text not null, owner text not null, created_at text not null, next_at text not null,"
    " weekly_hours real, due_at text, series_id text not null, reported integer not null, paused integer not null,"
    f" detail text not null, version integer not null, detail_data text not null default '', {GRANT}",
    # Stays when a schedule is removed: one of the same name goes on with its node hours of the week.
    "scheduled_series": "series_id text primary key, schedule text not null, at text not null",
    # The hash stands in for the secret, which is stored nowhere.
    "tokens": "token_id text primary key, name text not null, role text not null, read_only integer not null,"
    " secret_hash text not null, created_at text not null, created_by text not null, expires_at text not null,"
    " revoked_at text, revoked_by text not null, last_used_at text",
    # An empty name: each one that has no budget by name.
    "budgets": "scope text not null, name text not null, currency text not null, amount real not null,"
    " allow_unknown integer not null, changed_at text not null, changed_by text not null,"
    " primary key (scope, name, currency)",
    # Notifications of budgets; each is made once, whoever follows.
    "budget_alerts": "alert_id text primary key, at text not null",
    # Teams are groups of people's last sign-in.
    "team_members": "team text not null, person text not null, primary key (team, person)",
    # Who changed what; see Dialect.finish.
    "audit": "number integer primary key, at text not null, who text not null, role text not null, via text not null,"
    " change text not null, object text not null, before text not null, after text not null, outcome text not null,"
    " detail text not null, previous text not null, hash text not null",
    # What each run's folder held when it was written last: see aisbench_core/store/seals/.
    "seals": "run_id text primary key, entry integer not null, files text not null, is_recorded integer not null,"
    " removed text not null default '', changing text not null default '', gone_at text, gone_by text not null"
    " default '', expected text not null default ''",
    # Keys that sign evidence, of this console (without an owner) and of others; see aisbench_core/store/signing/.
    "signing_keys": "fingerprint text primary key, public_key text not null, owner text not null,"
    " added_at text not null, added_by text not null, endorsement text not null, ended_at text,"
    " ended_by text not null",
    # Reports of the lab; see aisbench_core/store/ledger/issued_reports.py.
    "issued_reports": "number integer primary key, report_id text not null, title text not null, content_sha256 text"
    " not null, files text not null, involved text not null, prepared_at text not null, prepared_by text not null,"
    " amends integer, reason text not null, authorised_at text, authorised_by text not null default '',"
    " envelope text not null default '', withdrawn_at text, withdrawn_by text not null default '',"
    " withdrawal text not null default ''",
    # See aisbench_core/store/ledger/acceptances.py. Their steps are series, found by their tokens.
    "acceptances": "acceptance_id text primary key, plan text not null, profile text not null, created_at text"
    f" not null, created_by text not null, state text not null, reason text not null, reason_data text not null,"
    f" ended_at text, token text unique, {GRANT}",
    # `role` is what an admin gave, `group_role` what the groups of the last sign-in give.
    "people": "name text primary key, role text not null, group_role text not null, first_seen_at text not null,"
    " last_seen_at text not null, changed_at text, changed_by text not null, revoked integer not null",
    # Which account of a provider each name belongs to, from the first sign-in on.
    "identities": "issuer text not null, subject text not null, name text not null unique,"
    " primary key (issuer, subject)",
    # Sessions of accounts. The hash stands in for the id in the browser's cookie, which is stored nowhere.
    "sign_ins": "id_hash text primary key, name text not null, began_at text not null, active_at text not null,"
    " address text not null default '', browser text not null default ''",
    # Runs that somebody deleted; their rows stay. `ended_at`: when all that belonged to it was removed.
    "deletions": "run_id text primary key, at text not null, who text not null, reason text not null, ended_at text",
    # What each run came from: the run that it is a clone or a reproduction of, or goes on from.
    "parents": "run_id text not null, parent text not null, kind text not null, primary key (run_id, kind)",
    # Files of run folders that are on OBS, each with the version that everybody reads.
    "run_files": "run_id text not null, name text not null, version integer not null, size integer not null,"
    " pieces text not null, primary key (run_id, name)",
}

INDEXES = {
    "runs_by_age": "runs (created_at desc, run_id desc)",
    # All that runs are sorted by: to read the index takes a tenth of what reading the runs does.
    "runs_by_state": "runs (state, created_at desc, run_id desc, ended_at, duration_s, workload, created_by)",
    "runs_by_person": "runs (created_by, created_at) where currency <> ''",
    "runs_by_series": "runs (series_id) where series_id <> ''",
    "events_by_run": "events (run_id, number)",
    "series_by_age": "series (created_at desc, series_id desc)",
    "deliveries_by_state": "deliveries (state, next_at)",
    "deliveries_by_age": "deliveries (at desc, delivery_id)",
    "watches_by_configuration": "watches (configuration, completed_at desc) where completed_at is not null",
    "scheduled_series_by_age": "scheduled_series (schedule, at)",
    "series_held": "series (held_until) where held <> ''",
    "deletions_to_end": "deletions (at) where ended_at is null",
    "children_of_runs": "parents (parent)",
    "tags_by_name": "tags (tag)",
    "attempts_to_launch": "attempts (series_id) where run_id = '' and cancelled = 0",
}

APPEND_ONLY = "the audit is append-only"


class Dialect(Protocol):
    """What databases say differently about tables."""

    def version(self, con: LedgerConnection) -> int:
        """The version of the schema; 0 before there is one."""

    def begin(self, con: LedgerConnection) -> None:
        """Begin a transaction while which nobody else uses the database."""

    def set_version(self, con: LedgerConnection, version: int) -> None:
        """Store the version of the schema."""

    def names(self, con: LedgerConnection, kind: str) -> set[str]:
        """The names of all that is of a kind: table, index."""

    def columns(self, con: LedgerConnection, table: str) -> set[str]:
        """The names of a table's columns."""

    def add_types(self, columns: str) -> str:
        """A table's columns, with the types of this database."""

    def finish(self, con: LedgerConnection) -> None:
        """Make the triggers: the audit is only appended to, and retention removes its oldest entries only."""


class SqliteDialect:
    """SQLite, in which the tables above are written."""

    def version(self, con: LedgerConnection) -> int:
        """`user_version` of the file."""
        return int(con.execute("pragma user_version").fetchone()[0])

    def begin(self, con: LedgerConnection) -> None:
        """Readers do not wait for writers from now on."""
        con.execute("pragma journal_mode = wal")
        con.execute("begin exclusive")

    def set_version(self, con: LedgerConnection, version: int) -> None:
        """`user_version` of the file."""
        con.execute(f"pragma user_version = {version}")

    def names(self, con: LedgerConnection, kind: str) -> set[str]:
        """What SQLite's own table knows."""
        return {name for (name,) in con.execute("select name from sqlite_master where type = ?", [kind])}

    def columns(self, con: LedgerConnection, table: str) -> set[str]:
        """What SQLite knows of a table."""
        return {name for (name,) in con.execute("select name from pragma_table_info(?)", [table])}

    def add_types(self, columns: str) -> str:
        """As they are."""
        return columns

    def finish(self, con: LedgerConnection) -> None:
        """The triggers raise."""
        refusal = f"begin select raise(abort, '{APPEND_ONLY}'); end"
        con.execute(f"create trigger audit_is_not_changed before update on audit {refusal}")
        oldest = "old.number > (select min(number) from audit)"
        con.execute(f"create trigger audit_is_not_thinned before delete on audit when {oldest} {refusal}")
        # `insert or replace` deletes the row before without the triggers of a deletion.
        existing = "new.number <= (select max(number) from audit)"
        con.execute(f"create trigger audit_is_not_replaced before insert on audit when {existing} {refusal}")


SQLITE = SqliteDialect()


def prepare_tables(con: LedgerConnection, dialect: Dialect = SQLITE) -> None:
    """Make the tables if there are none, or add what an earlier release lacks, in one transaction; others may do the
    same at the same time.

    Raises AisbenchError on the tables of a newer version, or of a development version."""
    if dialect.version(con) == VERSION:
        return
    dialect.begin(con)
    version = dialect.version(con)
    require_no_newer(con, version)
    if 0 < version < RELEASED:
        con.execute("rollback")
        raise AisbenchError(Message("the ledger is of a development version (schema {found})", found=version), UPGRADE)
    if version == 0:
        for name in TABLES:
            create_table(con, dialect, name)
        create_indexes(con)
        dialect.finish(con)
    else:
        for table, column in (added for number in range(version + 1, VERSION + 1) for added in ADDED[number]):
            if column:
                con.execute(f"alter table {table} add column {dialect.add_types(column)}")
            else:
                create_table(con, dialect, table)
        create_indexes(con, INDEXES.keys() - dialect.names(con, "index"))
    if version < VERSION:
        dialect.set_version(con, VERSION)
    con.execute("commit")


def require_no_newer(con: LedgerConnection, version: int) -> None:
    """Raise AisbenchError, and end the transaction, if a newer version wrote the tables."""
    if version > VERSION:
        con.execute("rollback")
        raise AisbenchError(
            Message("the ledger was written by a newer version (schema {found})", found=version),
            Message("update this console"),
        )


def create_table(con: LedgerConnection, dialect: Dialect, name: str) -> None:
    """Make one of the tables."""
    con.execute(f"create table {name} ({dialect.add_types(TABLES[name])})")


def create_indexes(con: LedgerConnection, names: Collection[str] = INDEXES.keys()) -> None:
    """Make indexes, by default all."""
    for name in names:
        con.execute(f"create index {name} on {INDEXES[name]}")
