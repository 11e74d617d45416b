"""The page Audit: filters, pages and verification, for admins only."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.model import Role
from aisbench_core.people.accounts.sessions import Session
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.audit.audit_table import to_csv
from aisbench_core.wiring import Core, open_core
from pages._ui.audit.entries import PAGE
from pages._ui.shell.core import SESSION
from tests.actors import TESTER, named
from tests.console.conftest import OpenPage, texts


@pytest.fixture
def core(data_dir: Path) -> Core:
    """A console in which two people changed something."""
    assert data_dir.exists()
    core = open_core()
    core.warehouse.unmark_baseline("group-1", TESTER)
    core.warehouse.unmark_baseline("group-2", named("ann"))
    return core


def rows(app: object) -> list[list[object]]:
    """Who changed what, as the table shows it."""
    (table,) = app.dataframe  # type: ignore[attr-defined]
    return [[row["Who"], row["Change"], row["Object"], row["Outcome"]] for _, row in table.value.iterrows()]


@pytest.mark.usefixtures("core")
def test_the_page_lists_changes_newest_first_and_filters_them(open_page: OpenPage) -> None:
    assert rows(open_page("audit")) == [
        ["ann", "baseline.unmark", "group-2", "done"],
        ["tester", "baseline.unmark", "group-1", "done"],
    ]
    assert rows(open_page("audit", who="ann")) == [["ann", "baseline.unmark", "group-2", "done"]]
    assert "No entries." in texts(open_page("audit", outcome="refused"))


def test_a_long_audit_has_pages(core: Core, open_page: OpenPage) -> None:
    for number in range(PAGE):
        core.warehouse.unmark_baseline(f"group-{number + 3}", TESTER)

    assert len(rows(open_page("audit"))) == PAGE
    assert [row[2] for row in rows(open_page("audit", page="2"))] == ["group-2", "group-1"]


def test_an_audit_is_verified_and_a_change_of_the_file_is_found(core: Core, open_page: OpenPage) -> None:
    app = open_page("audit")
    app.button(key="audit-verify").click().run()
    assert "Entries verified: 2, none changed" in texts(app)
    with closing(sqlite3.connect(core.settings.ledger_path)) as con:
        con.execute("drop trigger audit_is_not_changed")
        con.execute("update audit set who = 'bob' where number = 1")
        con.commit()

    app.button(key="audit-verify").click().run()

    assert "the audit was changed: entry 1" in texts(app).replace("\\", "")


def test_seals_are_listed_on_request(core: Core, open_page: OpenPage) -> None:
    count = core.imports.add_demo(TESTER)

    assert next(row[1] for row in rows(open_page("audit"))) == "demo.add"
    assert {row[1] for row in rows(open_page("audit", change="seal"))} == {"seal.recorded"}
    assert core.audit.count(AuditQuery(), TESTER) == count + 3


def test_only_admins_read_it(core: Core, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    core.people.set_role("lea", Role.LEAD, TESTER)
    app = open_page("audit")
    app.session_state[SESSION] = Session("lea", datetime.now(UTC), datetime.now(UTC))

    app.run()

    assert "audit.count needs the role admin" in texts(app).replace("\\", "")
    assert list(app.dataframe) == []
    core.people.set_role("lea", Role.ADMIN, TESTER)
    assert rows(app.run())[0][:3] == ["tester", "person.set_role", "lea"]


def test_the_file_holds_no_formula(core: Core) -> None:
    for name in ("=cmd()", "'=cmd()", "\uff1dcmd()"):
        core.warehouse.unmark_baseline(name, TESTER)

    text = to_csv(core.audit.entries(AuditQuery(change="baseline"), TESTER))

    for guarded in ("'=cmd()", "''=cmd()", "'\uff1dcmd()"):
        assert f",{guarded}," in text
