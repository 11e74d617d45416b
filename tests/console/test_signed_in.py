"""Pages of a console with sign-in: who uses them, and what each role may do, whatever the page shows."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Role
from aisbench_core.people.accounts.sessions import Session
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from pages._ui.shell.core import SESSION
from tests.actors import TESTER
from tests.console.conftest import OpenPage, newest, texts
from tests.console.seeds import ACTIVE_RUN

SignIn = Callable[..., AppTest]


@pytest.fixture
def proxied(used: Path, monkeypatch: pytest.MonkeyPatch) -> Core:
    """A used console behind a proxy; `ann` launched nothing that is there."""
    assert used.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    return open_core()


@pytest.fixture
def sign_in(proxied: Core, open_page: OpenPage) -> SignIn:
    """Open a page as somebody with a role, as the proxy would say."""

    def opened(page: str, role: Role, name: str = "ann", **query: str) -> AppTest:
        proxied.people.set_role(name, role, TESTER)
        return as_person(open_page(page, **query), name)

    return opened


def as_person(app: AppTest, name: str, began: datetime | None = None) -> AppTest:
    """The same page with the session of somebody."""
    now = began or datetime.now(UTC)
    app.session_state[SESSION] = Session(name, now, now)
    return app.run()


def test_who_is_named_by_nobody_sees_nothing_of_the_console(proxied: Core, open_page: OpenPage) -> None:
    assert proxied.sessions.needs_sign_in

    app = open_page("runs")

    assert "the proxy sent no user name" in texts(app)
    assert list(app.title) == []
    assert list(app.dataframe) == []


def test_the_menu_says_who_is_signed_in_and_in_which_role(sign_in: SignIn) -> None:
    app = sign_in("leaderboard", Role.LEAD)

    assert "Signed in: ann, lead" in texts(app)


def test_a_viewer_reads_what_a_launch_needs_and_sees_no_button_for_it(sign_in: SignIn, proxied: Core) -> None:
    app = sign_in("configure", Role.VIEWER)

    assert "launch" not in [button.key for button in app.button]
    assert "Needs the role engineer; an admin can give it." in texts(app)
    proxied.people.set_role("ann", Role.ENGINEER, TESTER)
    assert not app.run().button(key="launch").disabled


def test_a_viewer_who_brings_the_question_along_launches_nothing(sign_in: SignIn, proxied: Core) -> None:
    app = sign_in("configure", Role.VIEWER)
    before = proxied.ledger.count()

    app.session_state["launch-question"] = "a question that no button asked"
    app.run()
    app.button(key="launch-yes").click().run()

    assert proxied.ledger.count() == before
    assert "needs the role engineer" in texts(app).replace("\\", "")
    (refused,) = proxied.audit.entries(AuditQuery(outcome="refused"), TESTER)
    assert (refused.act.who, refused.act.role, refused.act.change, refused.act.via) == (
        *("ann", "viewer", "run.launch", "console"),
    )


def test_who_is_demoted_while_a_page_is_open_launches_nothing_from_it(sign_in: SignIn, proxied: Core) -> None:
    app = sign_in("configure", Role.ENGINEER)
    app.button(key="launch").click().run()
    before = proxied.ledger.count()

    proxied.people.set_role("ann", Role.VIEWER, TESTER)
    app.button(key="launch-yes").click().run()

    assert proxied.ledger.count() == before
    assert "needs the role engineer" in texts(app).replace("\\", "")


def test_an_engineer_launches_under_the_own_name(sign_in: SignIn, proxied: Core) -> None:
    app = sign_in("configure", Role.ENGINEER)
    app.button(key="launch").click().run()
    app.button(key="launch-yes").click().run()

    assert proxied.ledger.page(limit=1)[0].created_by == "ann"


@pytest.mark.parametrize(("role", "may"), [(Role.LEAD, False), (Role.ADMIN, True)])
def test_only_admins_name_files_of_the_server_on_a_page(sign_in: SignIn, role: Role, may: bool) -> None:
    results, packages = sign_in("import", role), sign_in("configure", role)
    packages.button(key="import").click().run()

    assert results.text_input(key="old-path").disabled is not may
    assert packages.text_input(key="import-place").disabled is not may


@pytest.mark.parametrize(("role", "name", "may"), [
    (Role.ENGINEER, "eve", False), (Role.ENGINEER, "owner", True), (Role.LEAD, "eve", True),
])  # fmt: skip
def test_only_the_owner_and_leads_stop_a_run(sign_in: SignIn, proxied: Core, role: Role, name: str, may: bool) -> None:
    run = proxied.ledger.get(ACTIVE_RUN)
    owner = run.created_by if name == "owner" else name

    app = sign_in("live", role, owner, run=ACTIVE_RUN)

    assert any((button.key or "").startswith("stop-") for button in app.button) is may


def test_whoever_is_revoked_is_out_of_an_open_page(sign_in: SignIn, proxied: Core) -> None:
    app = sign_in("runs", Role.ENGINEER)
    assert [title.value for title in app.title] == ["Runs"]

    proxied.people.revoke("ann", TESTER)
    app.run()

    assert "the access of ann was revoked" in texts(app)
    assert list(app.title) == []
    assert list(app.dataframe) == []


def test_an_old_session_is_out_and_says_what_to_do(proxied: Core, open_page: OpenPage) -> None:
    proxied.people.set_role("ann", Role.ADMIN, TESTER)

    app = as_person(open_page("runs"), "ann", datetime.now(UTC) - timedelta(hours=25))

    assert "the session of ann has ended" in texts(app)
    assert "reload the page to continue" in texts(app)


def test_without_sign_in_the_page_acts_as_the_console_with_every_role(used: Path, open_page: OpenPage) -> None:
    assert used.exists()

    app = open_page("configure")

    assert not app.button(key="launch").disabled
    assert "Signed in" not in texts(app)


CLOSED = "names files on the server"
SERVER_FILES = ("code_dir: {}\nboot_file: key.py", "update: {{cann: {}}}", "code_dir: {}\nlog_levels: {{cann: debug}}")


def with_spec(app: AppTest, fields: str) -> AppTest:
    """The page New run after somebody has typed these fields of a spec as YAML."""
    text = f"workload: quickstart_digits\nauto_stop_hours: 1\n{fields}\n"
    newest(app.text_area, "spec.yaml").set_value(text)
    return app.run()


@pytest.mark.parametrize("fields", SERVER_FILES)
@pytest.mark.parametrize("role", [Role.VIEWER, Role.LEAD])
def test_findings_say_nothing_of_files_of_the_server(sign_in: SignIn, tmp_path: Path, fields: str, role: Role) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "key.py").write_text("key", "utf-8")
    (home / "ma-pre-start.sh").write_text("true", "utf-8")
    app = sign_in("configure", role, view="yaml")

    away = texts(with_spec(app, fields.format(tmp_path / "away")))
    there = texts(with_spec(app, fields.format(home)))

    assert CLOSED in there.replace("\\", "")
    assert there == away
    assert not [button for button in app.button if button.key == "launch" and not button.disabled]


def test_an_admin_may_name_any_file(sign_in: SignIn, tmp_path: Path) -> None:
    app = with_spec(sign_in("configure", Role.ADMIN, view="yaml"), f"code_dir: {tmp_path}\nboot_file: train.py")

    assert "the boot file 'train.py' is not in the code directory" in texts(app).replace("\\", "")


@pytest.mark.parametrize("fields", SERVER_FILES)
def test_a_plan_of_a_series_says_nothing_of_files_of_the_server(sign_in: SignIn, tmp_path: Path, fields: str) -> None:
    app = with_spec(sign_in("configure", Role.ENGINEER, view="yaml"), fields.format(tmp_path))

    app.switch_page("../series.py")
    app.query_params["new"] = "1"
    app.run()

    assert CLOSED in texts(app).replace("\\", "")
    assert [header.value for header in app.header] == ["New series"]
    assert not [button for button in app.button if button.key == "series-launch-button"]


def test_shared_code_is_checked_for_everybody_who_may_launch_it(
    sign_in: SignIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path.parent / f"{tmp_path.name}-code"
    code.mkdir()
    monkeypatch.setenv("AISBENCH_CODE_FOLDERS", str(code))

    app = with_spec(sign_in("configure", Role.ENGINEER, view="yaml"), f"code_dir: {code}\nboot_file: train.py")

    assert "the boot file 'train.py' is not in the code directory" in texts(app).replace("\\", "")
