"""What must not happen however people sign in: stories that are told of a proxy and of OpenID Connect providers."""

from playwright.sync_api import expect

from aisbench_core.model import Role
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core
from tests import records as a
from tests.actors import TESTER
from tests.browser.visit import Visit

OUT_MS = 60_000
"""Within this time a revoked person is out of an open page."""


def launches_by_no_page_link_or_stale_tab(visit: Visit, core: Core, name: str) -> None:
    """A viewer, whose window shows the form of a launch, is an engineer for a moment, and then a viewer again."""
    expect(visit.page.get_by_text(f"Signed in: {name}, viewer")).to_be_visible()
    expect(visit.page.get_by_text("Needs the role engineer; an admin can give it.")).to_be_visible()
    expect(visit.keyed("launch")).to_have_count(0)

    core.people.set_role(name, Role.ENGINEER, TESTER)
    visit.reload()
    visit.keyed("launch").get_by_role("button").click()
    confirm = visit.keyed("launch-yes").get_by_role("button")
    expect(confirm).to_be_enabled()
    before = core.ledger.count()
    core.people.set_role(name, Role.VIEWER, TESTER)
    confirm.click()  # in a tab that still shows what an engineer may do

    expect(visit.page.get_by_text(f"needs the role engineer, and {name} has viewer")).to_be_visible()
    assert core.ledger.count() == before
    refusals = core.audit.entries(AuditQuery(who=name, outcome="refused"), TESTER)
    assert [(entry.act.change, entry.act.role) for entry in refusals] == [("run.launch", "viewer")]
    assert visit.troubles() == []


def launches_and_is_named(visit: Visit, core: Core, name: str) -> None:
    """An engineer by the groups of the sign-in launches a run."""
    run_id = visit.launch_draft()

    assert core.ledger.get(run_id).created_by == name
    core.runs.stop(run_id, TESTER)


def is_out_of_an_open_page_within_a_minute(visit: Visit, core: Core, name: str) -> None:
    """Somebody's access is revoked while a page of theirs is open, and then they ask for it again."""
    address = visit.page.url
    core.people.revoke(name, TESTER)  # the page is not touched any more

    expect(visit.page.get_by_text(f"the access of {name} was revoked")).to_be_visible(timeout=OUT_MS)
    expect(visit.page.get_by_role("heading", level=1)).to_have_count(0)
    answer = visit.page.goto(address)
    assert answer
    assert answer.status == 403


def downloads_results(visit: Visit, core: Core) -> None:
    """Somebody exports what the leaderboard and the list of runs show: the file is written beside the page."""
    for run_id in ("for-download", "left-out"):
        record = a.record(run_id)
        core.ledger.add(record.run)
        core.warehouse.record(record)

    for address in ("/leaderboard?region=cn-north-9&q=for-download", "/runs?q=for-download"):
        visit.open(address)
        visit.page.get_by_role("button", name="Export").click()
        with visit.page.expect_download(timeout=20_000) as download:
            visit.keyed("export").get_by_role("button").click()
        content = download.value.path().read_text("utf-8-sig")

        assert "for-download" in content
        assert "left-out" not in content
