"""The page People: who signed in and in which role, and what an admin changes there."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Role
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid, has_grid
from tests.console.test_signed_in import as_person


@pytest.fixture
def team(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Core:
    """A console behind a proxy, with an admin and an engineer."""
    assert data_dir.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    core = open_core()
    for name, role in (("boss", Role.ADMIN), ("ann", Role.ENGINEER)):
        core.people.set_role(name, role, TESTER)
    return core


@pytest.fixture
def page(team: Core, open_page: OpenPage) -> AppTest:
    assert team.people.find("ann")
    return as_person(open_page("people"), "boss")


def roles(app: AppTest) -> dict[str, str]:
    table = Grid(app, "People")
    return dict(zip(table.ids, table.column("role"), strict=True))


def test_everybody_is_listed_with_the_role_that_counts(page: AppTest) -> None:
    assert roles(page) == {"ann": "engineer", "boss": "admin"}


def test_a_role_is_changed_as_the_command_line_does_and_is_in_the_audit(page: AppTest, team: Core) -> None:
    app = Grid(page, "People").tick("ann")
    app.button(key="people-set-role").click().run()
    app.radio(key="people-role-ann").set_value(Role.LEAD).run()

    app.button(key="people-role-yes").click().run()

    assert roles(app)["ann"] == "lead"
    assert "ann now has the role lead" in texts(app)
    entry = team.audit.entries(AuditQuery("boss"), TESTER, 1, 0)[0].act
    assert (entry.change, entry.object, entry.before, entry.after) == ("person.set_role", "ann", "engineer", "lead")


def test_somebody_has_a_role_before_the_first_sign_in(page: AppTest) -> None:
    page.button(key="people-add").click().run()
    page.text_input(key="people-name").set_value("bob").run()
    page.radio(key="people-role-").set_value(Role.ENGINEER).run()

    page.button(key="people-role-yes").click().run()

    assert roles(page)["bob"] == "engineer"


def test_an_access_is_revoked_after_a_question_and_the_last_admin_stays(page: AppTest, team: Core) -> None:
    app = Grid(page, "People").tick("ann")
    app.button(key="people-revoke-open").click().run()
    app.button(key="people-revoke-yes").click().run()
    assert roles(app)["ann"] == "revoked"
    assert team.people.is_revoked("ann")

    app = Grid(app, "People").tick("boss")
    app.button(key="people-revoke-open").click().run()
    app.button(key="people-revoke-yes").click().run()

    assert "is the last admin" in texts(app)
    assert not team.people.is_revoked("boss")


def test_what_each_role_may_do_is_a_table(page: AppTest) -> None:
    stop = Grid(page, "What each role may do").row("run.stop")

    assert [stop[role] for role in Role] == ["", "own", "✓", "✓"]


def test_nobody_but_admins_is_told_who_there_is(team: Core, open_page: OpenPage) -> None:
    assert team.people.find("ann")

    app = as_person(open_page("people"), "ann")

    assert "needs the role admin" in texts(app).replace("\\", "")
    assert not has_grid(app, "People")
