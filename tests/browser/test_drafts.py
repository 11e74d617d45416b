"""Drafts and addresses hold what a person entered, and nothing else: whatever the language, however fast one clicks."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from filelock import FileLock
from playwright.sync_api import Locator, expect

from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt, OpenWindow, Visit
from tests.console import seeds
from tests.sandbox_process import SandboxProcess

ENGLISH, CHINESE = "English", "简体中文"

PAGES = {
    "home": "/home",
    "configure": "/configure?profile=sandbox&hours=3",
    "configure-yaml": "/configure?view=yaml",
    "runs": "/runs?sort=duration&order=up",
    "live": "/live",
    "live-one": f"/live?run={seeds.DONE_RUN}",
    "series": "/series",
    "series-new": "/series?new=1&counts=1,2&repeats=5&budget=3",
    "leaderboard": "/leaderboard?region=cn-north-9&show=runs&invalid=1&worth=invalid&origin=launched&sort=created_at",
    "compare": "/compare?ids=run-n1-0&ids=run-n2-0&all=1",
    "scaling": "/scaling?region=cn-north-9",
    "history": "/history?region=cn-north-9&along=version&by=framework_version&metric=per_card",
    "import": "/import",
    "health": "/health",
}
"""Every page of the menu and that of a run, with choices that are not the first ones."""

PAUSES_MS = (0, 80, 250)
"""How long a page may load before the next click meets it."""

INTERRUPTED = [(name, pause) for name in ("configure", "series-new", "leaderboard") for pause in PAUSES_MS]
LISTED = [name for name in PAGES if not name.startswith("live")]  # the page of a run has no entry in the menu
INTERRUPTED += [(name, PAUSES_MS[at % 3]) for at, name in enumerate(LISTED) if name not in dict(INTERRUPTED)]
"""Pages of many fields at every pause, the others at one of them."""

MOST_CHOICES = {("configure", 0), ("configure", 80), ("configure", 250), ("series-new", 80), ("leaderboard", 0)}
MOST_CHOICES |= {("history", PAUSES_MS[LISTED.index("history") % 3]), ("runs", PAUSES_MS[LISTED.index("runs") % 3])}
"""Pages of which an address or a draft holds much, each pause among them: `make test` asks no more."""

FOLDED = [
    ("volumes: [{server_path: '10.0.0.1:/', local_path: relative}]", "Spec as YAML"),
    ("image_url: own/image:1", "Start command"),
]
"""Drafts that preflight complains of, and where the field of the first complaint is."""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, scripted_sandbox: SandboxProcess) -> Iterator[ConsoleProcess]:
    """A console that was used for a while; nobody follows, so that the runs stay as they are."""
    data_dir = tmp_path_factory.mktemp("used")
    (data_dir / "sandbox").mkdir()
    shutil.copy(scripted_sandbox.data_dir / "profile.yaml", data_dir / "sandbox")
    seeds.fill(data_dir)
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


@pytest.fixture
def visit(used: ConsoleProcess, window: OpenWindow) -> Visit:
    """A window of somebody who has a draft, in which nothing is as it was at first."""
    visit = window(used)
    visit.open("/configure")
    begin_draft(visit)
    return visit


@pytest.fixture
def same_visit(used: ConsoleProcess, look: LookAt) -> Visit:
    """The same, whose session goes on from test to test: none of them changes the draft."""
    visit = look(used, "/configure")
    if nodes(visit).input_value() != "3":
        begin_draft(visit)
    return visit


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "?" in PAGES[name] else pytest.mark.exhaustive) for name in PAGES]
)
def test_another_language_changes_no_draft_and_no_address(used: ConsoleProcess, same_visit: Visit, name: str) -> None:
    visit = same_visit
    visit.go_to(PAGES[name])
    before, kept = address(visit), drafts(used.data_dir)

    for language in (CHINESE, ENGLISH):
        choose_language(visit, language)

        assert drafts(used.data_dir) == kept
        assert address(visit) == before
    assert visit.troubles() == []


@pytest.mark.parametrize(
    ("name", "pause"),
    [pytest.param(*each, marks=() if each in MOST_CHOICES else pytest.mark.exhaustive) for each in INTERRUPTED],
)
def test_a_page_that_is_left_while_it_loads_changes_no_draft_and_no_address(
    used: ConsoleProcess, same_visit: Visit, name: str, pause: int
) -> None:
    visit = same_visit
    visit.open(PAGES[name])
    path, before, kept = urlsplit(visit.page.url).path, address(visit), drafts(used.data_dir)

    interrupt(visit, path, pause)
    choose_language(visit, CHINESE)

    assert drafts(used.data_dir) == kept
    visit.open(PAGES[name])
    choose_language(visit, ENGLISH)
    assert address(visit) == before
    assert drafts(used.data_dir) == kept
    assert visit.troubles() == []


@pytest.mark.parametrize(
    ("label", "before", "range_text"), [("epochs †", "7", "1 to 1000"), ("Nodes", "3", "1 to 4096")]
)
def test_a_number_that_is_too_large_stays_typed_says_its_range_and_blocks_the_launch(
    same_visit: Visit, label: str, before: str, range_text: str
) -> None:
    visit = same_visit
    field, launch = visit.page.get_by_label(label, exact=True), visit.keyed("launch").get_by_role("button")
    expect(launch).to_be_enabled()

    field.fill("99999")
    field.press("Enter")

    expect(visit.page.get_by_text(range_text).first).to_be_visible()
    expect(launch).to_be_disabled()
    expect(visit.page.get_by_text("Fix the errors to launch.")).to_be_visible()
    expect(field).to_have_value("99999")
    visit.rest()
    visit.page.keyboard.press("Control+Shift+Enter")
    visit.rest()
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    enter(visit, label.removesuffix(" †"), before)
    expect(launch).to_be_enabled()
    assert visit.troubles() == []


def test_what_is_chosen_in_another_language_is_stored_as_the_same_value(used: ConsoleProcess, visit: Visit) -> None:
    visit.open("/configure")
    choose_language(visit, CHINESE)

    visit.pick(
        visit.page.get_by_label("工作负载", exact=True), "ResNet-50 v1.5，ImageNet（MindSpore） (mindspore_resnet)"
    )
    choose_language(visit, ENGLISH)

    assert "workload: mindspore_resnet\n" in "".join(drafts(used.data_dir).values())
    expect(visit.page.get_by_label("Workload", exact=True)).to_have_value(
        "ResNet-50 v1.5 on ImageNet (MindSpore) (mindspore_resnet)"
    )
    assert visit.troubles() == []


def test_a_draft_belongs_to_its_browser(used: ConsoleProcess, window: OpenWindow, visit: Visit) -> None:
    other = window(used)
    other.open("/configure")
    expect(nodes(other)).to_have_value("1")
    enter(other, "Nodes", "5")

    visit.reload()
    expect(nodes(visit)).to_have_value("3")
    other.open("/configure")
    expect(nodes(other)).to_have_value("5")

    assert len([key for key in drafts(used.data_dir) if key.startswith("browser-")]) >= 2
    assert visit.troubles() == other.troubles() == []


def test_the_draft_of_before_goes_to_the_first_browser(used: ConsoleProcess, window: OpenWindow) -> None:
    with closing(sqlite3.connect(used.data_dir / "ledger.sqlite3")) as con, con:
        text = "workload: quickstart_digits\nnode_count: 6\n"
        con.execute("insert into drafts (key, text, at) values ('draft', ?, '2026-01-01T00:00:00.000000Z')", [text])
    first, second = window(used), window(used)

    first.open("/configure")
    expect(nodes(first)).to_have_value("6")
    second.open("/configure?draft=draft")

    expect(nodes(second)).to_have_value("1")
    assert "draft" not in drafts(used.data_dir)


def test_the_menu_and_back_lead_to_the_same_draft(visit: Visit) -> None:
    visit.open(f"/live?run={seeds.DONE_RUN}")
    visit.open_more()
    visit.keyed("clone-one").get_by_role("button").click()
    expect(visit.page).to_have_url(re.compile("/configure.*draft=from-"))
    visit.rest()
    clone = address(visit)[1]["draft"]

    visit.menu("Health")
    visit.menu("New run")
    by_menu = address(visit)[1]["draft"]
    visit.menu("Health")
    visit.page.go_back()
    visit.settle()
    expect(visit.page.get_by_role("link", name=f"Draft of run {seeds.DONE_RUN}").first).to_be_visible()

    assert by_menu == clone
    assert address(visit)[1]["draft"] == clone
    visit.open_drafts()
    visit.pick(visit.page.get_by_label("Draft", exact=True), re.compile("your own"))
    expect(nodes(visit)).to_have_value("3")
    assert visit.troubles() == []


def test_a_change_in_another_tab_is_said_and_shown_on_request(used: ConsoleProcess, visit: Visit) -> None:
    visit.open("/configure")
    tab = Visit(visit.page.context.new_page(), used)
    tab.open("/configure")

    enter(tab, "Nodes", "7")
    expect(visit.page.get_by_text("This draft was changed in another window.")).to_be_visible()
    visit.keyed("draft-show").get_by_role("button").click()

    expect(nodes(visit)).to_have_value("7")
    expect(visit.page.get_by_text("This draft was changed in another window.")).to_have_count(0)
    assert visit.troubles() == tab.troubles() == []
    tab.page.close()


@pytest.mark.parametrize(("field", "label"), FOLDED)
def test_a_finding_leads_to_its_field_even_in_a_folded_group(
    used: ConsoleProcess, visit: Visit, field: str, label: str
) -> None:
    Ledger(used.data_dir / "ledger.sqlite3").save_draft("jump", f"workload: quickstart_digits\n{field}\n", a.T0)
    visit.open("/configure?draft=jump")

    visit.keyed("go-to.0").get_by_role("button").click()

    expect(visit.page.get_by_label(label, exact=True)).to_be_focused()
    expect(visit.page.get_by_label(label, exact=True)).to_be_in_viewport()
    assert visit.troubles() == []


def nodes(visit: Visit) -> Locator:
    """The field that says on how many nodes."""
    return visit.page.get_by_label("Nodes", exact=True).first


def interrupt(visit: Visit, path: str, pause: int) -> None:
    """Click the page's entry in the menu again while it loads, and then the language, as fast as that goes."""
    menu = visit.page.get_by_test_id("stSidebar").locator("a").filter(visible=True)
    link, other = (menu.and_(visit.page.locator(f'a[href^="{name}?"]')) for name in (path.strip("/"), "health"))
    for each in (other, link, link, other, link):
        visit.page.mouse.move(0, 0)  # as a hand does on its way: an entry's tooltip covers those above it
        each.click(no_wait_after=True)
        visit.page.wait_for_timeout(pause)
    visit.settle()


def begin_draft(visit: Visit) -> None:
    """Enter what is not there at first."""
    enter(visit, "Nodes", "3")
    enter(visit, "epochs", "7")


def enter(visit: Visit, label: str, value: str) -> None:
    """Type into a field, and leave it."""
    field = visit.page.get_by_label(label, exact=True).or_(visit.page.get_by_label(f"{label} †", exact=True)).first
    field.fill(value)
    field.press("Tab")
    visit.rest()


def choose_language(visit: Visit, language: str) -> None:
    """Choose it among the menu's options."""
    visit.open_options()
    visit.pick(visit.keyed("lang").get_by_role("combobox"), language)
    visit.page.keyboard.press("Escape")


def drafts(data_dir: Path) -> dict[str, str]:
    """Every draft that is stored."""
    with closing(sqlite3.connect(data_dir / "ledger.sqlite3")) as con:
        return dict(con.execute("select key, text from drafts"))


def address(visit: Visit) -> tuple[str, dict[str, list[str]]]:
    """The page's address without the language."""
    parts = urlsplit(visit.page.url)
    query = parse_qs(parts.query)
    query.pop("lang", None)
    return parts.path, query
