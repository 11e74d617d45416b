"""Buttons that change something are there for those who may use them, and for nobody else."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.base.messages import Message
from aisbench_core.model import Role
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER, named
from tests.console.conftest import OpenPage, texts
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, FAILED_RUN
from tests.console.test_signed_in import as_person
from tests.series_bench import SPEC

CHANGES = (
    *("stop-", "collect-", "clean-", "annotation-", "reproduce", "priority-", "view-", "notify-", "test-", "edit-"),
    *("remove-", "imports-", "mark-", "unmark-", "demo-", "series-stop", "series-more", "schedule-", "system-"),
    *("series-launch", "launch", "missing-", "old-", "people-", "audit-", "approve", "decline", "FormSubmitter:budget"),
    *("clone-", "corrected-draft", "retry-", "import", "delete-", "pin-"),
)
"""How the keys of such buttons begin."""


@pytest.fixture
def shared(used: Path, monkeypatch: pytest.MonkeyPatch) -> Core:
    """A used console behind a proxy, with a channel, a series and a schedule of somebody else."""
    assert used.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    core = open_core()
    answers = {"name": "lab", "url": "https://hooks.example.com/x", "secret": "0123456789abcdef", "events": ["failed"]}
    core.notifications.channels.save(channel_of(answers, Message("channel")), TESTER)
    plan = core.series.plan(SPEC, {"repeats": 2}).plan
    core.series.launch(plan, "", named("bob"))
    core.schedules.add(plan, {"name": "nightly", "cron": "0 2 * * *"}, "", named("bob"))
    return core


def buttons(app: AppTest) -> set[str]:
    """The keys of those that change something, whether they can be pressed or not."""
    assert not app.exception
    return {each.key for each in app.button if each.key and each.key.startswith(CHANGES)}


@pytest.mark.parametrize(
    "page",
    [
        *("home", "live", "notifications", "leaderboard", "series", "one series", "new series", "configure", "import"),
        *("spending", "audit", "people"),
    ],
)
def test_a_viewer_is_shown_no_button_of_a_change(page: str, shared: Core, open_page: OpenPage) -> None:
    queries = {
        "live": {"run": ACTIVE_RUN},
        "one series": {"series": shared.series.newest(1)[0].series_id},
        "new series": {"new": "1"},
    }
    for name, role in (("boss", Role.ADMIN), ("ann", Role.VIEWER)):
        shared.people.set_role(name, role, TESTER)

    app = open_page(page.split()[-1], **queries.get(page, {}))
    as_viewer, as_admin = buttons(as_person(app, "ann")), buttons(as_person(app, "boss"))

    assert as_viewer == set()
    assert as_admin != set()


def test_a_viewer_is_refused_nothing_that_a_button_offers(shared: Core, open_page: OpenPage) -> None:
    shared.people.set_role("ann", Role.VIEWER, TESTER)
    pressed: set[str] = set()
    pages: list[tuple[str, dict[str, str]]] = [
        *((page, {}) for page in ("home", "configure", "runs", "live", "series", "region", "leaderboard", "history")),
        *((page, {}) for page in ("scaling", "spending", "import", "notifications", "health", "audit", "people")),
        *(("live", {"run": run_id}) for run_id in (ACTIVE_RUN, FAILED_RUN, DONE_RUN)),
        *((page, {"run": DONE_RUN}) for page in ("configuration", "scaling")),
        ("series", {"series": shared.series.newest(1)[0].series_id}),
        ("series", {"new": "1"}),
    ]

    for page, query in pages:
        press_everything(as_person(open_page(page, **query), "ann"), pressed)

    assert {"system", "switch-view", "draft-new"} <= pressed
    assert shared.audit.entries(AuditQuery(outcome="refused"), TESTER) == []


def press_everything(app: AppTest, pressed: set[str]) -> None:
    """Each button that can be pressed, with those of the dialogs and menus that it opens, once on all pages."""
    while ready := [each for each in app.button if each.key and not each.disabled and each.key not in pressed]:
        key = str(ready[0].key)
        pressed.add(key)
        ready[0].click().run()
        assert not app.exception, key
        assert "permission denied" not in texts(app), key
