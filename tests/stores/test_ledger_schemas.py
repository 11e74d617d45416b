"""Ledgers that development versions left behind are upgraded without a loss."""

import os
import sqlite3
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.messages.stored import to_json
from aisbench_core.maintenance.upgrading.ledger_tables import FORMER_COLUMNS, FORMER_TABLES, upgrade_ledger
from aisbench_core.model import RunState, StopCause, StopKind
from aisbench_core.store.ledger.database.ledger_schema import RELEASED, SQLITE, VERSION
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import SeriesLedger
from tests.processes import FORKED
from tests.stored_schemas import ledger_of

STORED = [version for version in range(1, RELEASED) if ledger_of(version).exists()]
OF_RELEASES = range(RELEASED, VERSION)

Content = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=STORED)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the ledger that a schema version left behind."""
    file = tmp_path / "ledger.sqlite3"
    with sqlite3.connect(file) as con:
        con.executescript(ledger_of(request.param).read_text("utf-8"))
    return file


def content(file: Path) -> Content:
    """Every row by table, each as cells by column."""
    with sqlite3.connect(file) as con:
        con.row_factory = sqlite3.Row
        tables = con.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {name: [dict(row) for row in con.execute(f"select * from {name} order by rowid")] for (name,) in tables}


def schema(file: Path) -> set[str]:
    """The statements that make its tables and indexes, in the words in which SQLite keeps them."""
    with sqlite3.connect(file) as con:
        made = con.execute("select sql from sqlite_master where sql is not null").fetchall()
    return {sql.replace('"', "") for (sql,) in made}


def upgrade(file: Path) -> Path:
    """The same file with the tables of today."""
    with sqlite3.connect(file, isolation_level=None) as con:
        con.row_factory = sqlite3.Row
        upgrade_ledger(con, SQLITE)
    return file


def renamed(content: Content) -> Content:
    """Rows of before under the names of today."""
    tables = {former: name for name, former in FORMER_TABLES.items()}
    columns = {table: {former: name for name, former in renames.items()} for table, renames in FORMER_COLUMNS.items()}
    return {
        tables.get(table, table): [{columns.get(table, {}).get(name, name): row[name] for name in row} for row in rows]
        for table, rows in content.items()
    }


def lost(before: Content, after: Content) -> list[tuple[str, dict[str, Any]]]:
    """Rows of before that are not there with all their cells."""
    return [
        (table, row)
        for table, rows in before.items()
        for row in rows
        if not any(row.items() <= found.items() for found in after[table])
    ]


def test_a_development_version_is_refused_with_the_way(file: Path) -> None:
    before = content(file)

    with pytest.raises(AisbenchError, match="is of a development version") as refused:
        Ledger(file).page()

    assert "`aisbench upgrade`" in str(refused.value.hint)
    assert content(file) == before


@pytest.mark.parametrize("version", OF_RELEASES)
def test_the_ledger_of_a_release_is_opened_and_gets_what_it_lacks(version: int, tmp_path: Path) -> None:
    file, new = tmp_path / "ledger.sqlite3", tmp_path / "new.sqlite3"
    with sqlite3.connect(file) as con:
        con.executescript(ledger_of(version).read_text("utf-8"))
    before = content(file)

    assert len(Ledger(file).page()) == len(before["runs"])

    Ledger(new).page()
    assert lost(before, content(file)) == []
    assert {name: [*rows[0]] for name, rows in content(file).items() if rows} == {
        name: column_names(new, name) for name, rows in content(file).items() if rows
    }
    with sqlite3.connect(file) as con:
        assert con.execute("pragma user_version").fetchone() == (VERSION,)


def column_names(file: Path, table: str) -> list[str]:
    """In their order."""
    with sqlite3.connect(file) as con:
        return [name for (name,) in con.execute("select name from pragma_table_info(?)", [table])]


def test_every_row_is_there_after_an_upgrade(file: Path) -> None:
    before = renamed(content(file))

    runs = Ledger(upgrade(file)).page()

    after = content(file)
    assert {run.run_id for run in runs} == {"r-1", "r-2", "r-3"}
    assert lost(before, after) == []
    assert {name: len(rows) for name, rows in after.items() if rows} == {
        name: len(rows) for name, rows in before.items() if rows
    }


def test_what_it_holds_can_be_asked_and_carried_on(file: Path) -> None:
    ledger = Ledger(upgrade(file))

    progress = ledger.progress("r-1")
    beat = ledger.last_beat()

    assert [event.message for event in ledger.events("r-1")] == ["submitted"]
    assert progress is not None
    assert (progress.done, progress.total) == (3, 90)
    assert ledger.draft("configure/quickstart_digits") == "epochs: 3\n"
    assert beat is not None
    assert ledger.get("r-2").detail == "the job ended as Failed"
    assert [run.run_id for run in ledger.active()] == ["r-1"]
    for series in SeriesLedger(ledger).of(["s-1"]):
        assert (series.title, series.budget, series.launch_error) == ("scaling", 12.5, "the budget is used up")
        assert [run.run_id for run in SeriesLedger(ledger).runs(["s-1"])] == ["r-3"]
        assert [each.run_id for each in SeriesLedger(ledger).attempts(["s-1"])] == ["r-3", ""]
    assert ledger.add(ledger.get("r-2"), token="dialog-1").run_id == "r-1", "a token is launched once, for ever"
    assert ledger.get("r-1").state is RunState.RUNNING


@pytest.mark.parametrize("file", STORED[-1:], indirect=True)
@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        (Message("stopped by {who}", who="ann"), StopCause(StopKind.PERSON, "ann")),
        (Message("stopped by the search: {search_reason}", search_reason="slow"), StopCause(StopKind.SEARCH, "slow")),
        (
            Message("stopped by the search: {search_reason}", search_reason=Message("slow by {much:.1f}", much=2.04)),
            StopCause(StopKind.SEARCH, "slow by 2.0"),
        ),
        (Message("no sign of life for {stalled_minutes} minutes", stalled_minutes=75), StopCause(StopKind.STALL, 75)),
        (Message("the job ended as {phase}", phase="Terminated"), None),
    ],
    ids=["person", "search", "sentence", "stall", "platform"],
)
def test_why_a_run_was_stopped_is_read_once_from_its_sentence(
    file: Path, sentence: Message, cause: StopCause | None
) -> None:
    detail = join_parts("; ", [sentence, "killed"])
    with sqlite3.connect(file) as con:
        values = [detail, to_json(detail)]
        con.execute("update runs set state = 'stopped', detail = ?, detail_data = ? where run_id = 'r-2'", values)

    run = Ledger(upgrade(file)).get("r-2")

    assert (run.stop_cause, run.detail) == (cause, detail)


def test_its_tables_and_indexes_are_those_of_a_new_one(file: Path) -> None:
    Ledger(file.with_name("new.sqlite3")).count()

    Ledger(upgrade(file)).count()

    assert schema(file) == schema(file.with_name("new.sqlite3"))


@pytest.mark.parametrize("file", STORED[-1:], indirect=True)
def test_whoever_is_killed_on_the_way_leaves_the_old_one_whole(file: Path) -> None:
    before = content(file)
    for statement in count(1, step=8):
        process = FORKED.Process(target=migrate_and_die, args=(file, statement))
        process.start()
        process.join(60)
        if process.exitcode == 0:
            break
        assert content(file) == before

    assert statement > 40, "it was killed that often"
    assert lost(renamed(before), content(file)) == []
    assert Ledger(file).count() == 3


class Dying:
    """A connection whose process is killed before one of its statements."""

    def __init__(self, con: Any, statements: int) -> None:
        self._con, self._left = con, statements

    def execute(self, *statement: Any) -> Any:
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), 9)
        return self._con.execute(*statement)


def migrate_and_die(file: Path, statement: int) -> None:
    """Upgrade a ledger up to a statement."""
    with sqlite3.connect(file, isolation_level=None) as con:
        upgrade_ledger(cast("sqlite3.Connection", Dying(con, statement)), SQLITE)


def test_tables_of_another_program_stay(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite3"
    with sqlite3.connect(file) as con:
        con.execute("create table runs (distance real)")
        con.execute("insert into runs values (42.195)")

    with pytest.raises(AisbenchError, match="table runs already exists"):
        Ledger(file).count()

    assert content(file) == {"runs": [{"distance": 42.195}]}
