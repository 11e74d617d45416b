"""Every page in light and dark, narrow and wide, empty and full, English and Chinese: whole, quiet and accessible.

A page is loaded in one language and looked at in all widths and, unless it is empty, both colours. Which language sees
it empty and which full takes turns in `make test`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.used_console import use_console
from tests.browser.visit import LookAt, OpenWindow, Visit
from tests.console import seeds
from tests.pairs import every_pair
from tests.sandbox_process import SandboxProcess

PHONE, *WIDTHS = (390, 1280, 1920)
PEOPLE: dict[str, dict[str, Any]] = {
    "light-english": {"dark": False, "locale": "en-US"},
    "dark-chinese": {"dark": True, "locale": "zh-CN"},
}
"""Colours and words have nothing to do with each other, so two people see both of each."""

TITLE_PX = 65
"""Titles begin above this line: Streamlit's header ends at 60 pixels."""

LINE_PX = 48
"""Height of one line of controls."""

EMPTY_PAGES = {
    "home": "/home",
    "configure": "/configure",
    "runs": "/runs",
    "live": "/live",
    "series": "/series",
    "leaderboard": "/leaderboard",
    "compare": "/compare",
    "scaling": "/scaling",
    "import": "/import",
    "history": "/history",
    "region": "/region",
    "configuration": "/configuration",
    "notifications": "/notifications",
    "health": "/health",
    "spending": "/spending",
    "audit": "/audit",
    "people": "/people",
}
STATES = {
    "configure-yaml": "/configure?view=yaml",
    "live-one": f"/live?run={seeds.ACTIVE_RUN}",
    "live-retrying": f"/live?run={seeds.RETRYING_RUN}",
    "live-failed": f"/live?run={seeds.FAILED_RUN}",
    "live-held": f"/live?run={seeds.HELD_RUN}",
    "leaderboard-runs": "/leaderboard?region=cn-north-9&show=runs&invalid=1",
    "compare-some": "/compare?ids=run-n1-0&ids=run-n2-0&ids=run-n4-0&ids=run-new-0",
    "history-versions": "/history?region=cn-north-9&along=version&invalid=1",
    "series-new": "/series?new=1&counts=1,2&repeats=5&budget=3",
    "configuration-one": "/configuration?run=run-n1-0",
    "unknown-run": "/live?run=nothing",
}
"""More of the pages that show results, by what they are asked."""

FULL_PAGES = EMPTY_PAGES | STATES
DIALOGS = {
    "launch": ("/configure", "launch"),
    "notify": ("/notifications", "notify-add"),
    "upstream": ("/configure", "import"),
    "stop": (f"/live?run={seeds.ACTIVE_RUN}", "stop-one"),
    "clean": (f"/live?run={seeds.FAILED_RUN}", "clean-open"),
    "series": ("/series?new=1&counts=1,2&repeats=5&budget=3", "series-launch-button"),
    "system": ("/live?run=run-n1-0", "system"),
    "reproduce": ("/live?run=run-n1-0", "reproduce"),
    "decline": (f"/live?run={seeds.HELD_RUN}", "decline"),
}
"""Addresses, and the keys of the buttons that open a dialog there."""
IN_MENU = ("clean", "system")
"""Those whose button is in the menu of a run's page."""
FITS = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    return main.scrollWidth <= main.clientWidth && document.documentElement.scrollWidth <= window.innerWidth;
}"""
WATCH = """
    stages = [];
    new MutationObserver(() => stages.push(document.documentElement.getAttribute('data-asked')))
        .observe(document.documentElement, {attributeFilter: ['data-asked']})"""
"""Remember what the window says of itself to `visit.rest()`."""

CONTRAST = ("color-contrast",)
"""The only rule of axe that other colours can break."""

AXE = """rules => axe.run({resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})})
    .then(found => found.violations)"""
"""What axe finds. It need not collect what is in order, which takes longer than all else."""

AT_REST = """() => {
    const moves = each => each.playState === "running" && each.effect.getComputedTiming().endTime !== Infinity;
    const scrolls = [...document.querySelectorAll('[data-testid="stTable"] table')].map(table => table.parentElement);
    return !document.getAnimations().some(moves)
        && scrolls.every(box => box.scrollWidth <= box.clientWidth || box.hasAttribute("tabindex"));
}"""
"""Whether nothing fades in, whose colours are not final yet, and tables that scroll sideways are stops of keys."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console on its first day: no profile, no run."""
    process = PreparedConsole.start(tmp_path_factory.mktemp("empty"))
    yield process
    process.stop()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, scripted_sandbox: SandboxProcess) -> Iterator[ConsoleProcess]:
    """A console that was used for a while: runs in every state, results of two regions, more than a page of them."""
    with use_console(tmp_path_factory.mktemp("full"), scripted_sandbox) as process:
        yield process


@pytest.fixture(scope="module")
def title_px() -> dict[int, float]:
    """Where the first title stood that was looked at, by the window's width."""
    return {}


def in_turns(names: Iterable[str], start: int = 0) -> list[ParameterSet]:
    """Each name for one person in `make test`, by turns, and for the others in `make test-all`."""
    return [
        pytest.param(name, person, marks=() if number == turn % len(PEOPLE) else pytest.mark.exhaustive)
        for turn, name in enumerate(names, start)
        for number, person in enumerate(PEOPLE)
    ]


@pytest.mark.parametrize(("name", "person", "is_full"), every_pair([*EMPTY_PAGES], [*PEOPLE], [False, True]))
def test_every_page_looks_right_on_the_first_day_and_after_a_while(
    empty: ConsoleProcess,
    full: ConsoleProcess,
    look: LookAt,
    title_px: dict[int, float],
    name: str,
    person: str,
    is_full: bool,
) -> None:
    visit = look(full if is_full else empty, EMPTY_PAGES[name], **PEOPLE[person])

    assert_title_stands_where_all_do(visit, title_px)
    # An empty page has few colours, and the other person has seen them in the others.
    assert_looks_right(visit, f"{'full' if is_full else 'empty'}-{name}-{person}", in_both_colours=is_full)


@pytest.mark.parametrize(("name", "person"), in_turns(STATES))
def test_every_page_looks_right_whatever_it_is_asked(
    full: ConsoleProcess, look: LookAt, title_px: dict[int, float], name: str, person: str
) -> None:
    visit = look(full, STATES[name], **PEOPLE[person])

    assert_title_stands_where_all_do(visit, title_px)
    assert_looks_right(visit, f"full-{name}-{person}")


@pytest.mark.parametrize("person", [*PEOPLE])
@pytest.mark.parametrize("view", ["blocks", "groups", "runs"])
def test_the_filters_of_the_leaderboard_are_one_line_and_wrap_on_a_phone(
    full: ConsoleProcess, look: LookAt, view: str, person: str
) -> None:
    visit = look(full, f"/leaderboard?region=cn-north-9&show={view}", **PEOPLE[person])

    bar = visit.keyed("filter-bar")
    wide = bar.bounding_box()
    visit.widen(PHONE)
    assert_fits(visit)
    narrow = bar.bounding_box()
    assert wide
    assert narrow
    assert wide["height"] <= LINE_PX < narrow["height"]


@pytest.mark.parametrize(("name", "person"), in_turns(["search"]))
def test_the_search_looks_right(full: ConsoleProcess, look: LookAt, name: str, person: str) -> None:
    visit = look(full, "/health", **PEOPLE[person])

    visit.keyed("search-open").get_by_role("button").click()
    visit.page.get_by_role("dialog").get_by_role("searchbox").fill("resnet")
    expect(visit.page.get_by_role("dialog").get_by_role("link").first).to_be_visible()

    assert_looks_right(visit, f"{name}-{person}")


@pytest.mark.parametrize(("name", "person"), in_turns(DIALOGS))
def test_every_dialog_looks_right(full: ConsoleProcess, look: LookAt, name: str, person: str) -> None:
    address, button = DIALOGS[name]
    visit = look(full, address, **PEOPLE[person])

    if name in IN_MENU:
        visit.open_more()
    if name == "upstream":
        visit.open_drafts()
    visit.keyed(button).get_by_role("button").first.click()
    expect(visit.page.get_by_role("dialog")).to_be_visible()
    visit.settle()

    assert_looks_right(visit, f"dialog-{name}-{person}")


@pytest.mark.parametrize(("person", "first"), [("light-english", "Home"), ("dark-chinese", "首页")])
def test_the_console_speaks_the_language_of_the_browser(
    empty: ConsoleProcess, window: OpenWindow, person: str, first: str
) -> None:
    visit = window(empty, **PEOPLE[person])

    visit.open("/")

    assert visit.menu_titles()[0] == first
    expect(visit.page).to_have_title(f"{first} – AISBench")


def test_a_page_is_at_rest_when_the_answer_to_the_last_click_is_drawn(
    empty: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(empty)
    visit.open("/configure")
    visit.page.evaluate(WATCH)

    visit.page.get_by_text("YAML", exact=True).click()
    visit.rest()

    assert visit.page.get_by_label("Spec as YAML", exact=True).count() == 1
    assert visit.page.evaluate("stages") == ["asked", "running", "ended", None]


def assert_looks_right(visit: Visit, name: str, *, in_both_colours: bool = True) -> None:
    """Whole at both widths, nothing from elsewhere, nothing that keeps people out, in either colours."""
    expect(visit.page.get_by_test_id("stException")).to_have_count(0)
    assert visit.page.title() not in ("", "Streamlit")
    for width in WIDTHS:
        visit.widen(width)
        assert_fits(visit)
        visit.picture(f"{name}-{width}")
    assert axe_violations(visit) == []
    if in_both_colours:
        visit.switch_colours()
        assert axe_violations(visit, CONTRAST) == []
    assert visit.troubles() == []


def assert_title_stands_where_all_do(visit: Visit, title_px: dict[int, float]) -> None:
    """Just below the header, at the height of all other titles; and the page is whole on a phone."""
    for width in (WIDTHS[0], PHONE):
        visit.widen(width)
        assert_fits(visit)
        box = visit.page.get_by_role("heading", level=1).bounding_box()
        assert box
        assert box["y"] < TITLE_PX
        assert abs(box["y"] - title_px.setdefault(width, box["y"])) < 1


def assert_fits(visit: Visit) -> None:
    """The page scrolls downwards only, as soon as what it shows has taken the window's width."""
    visit.page.wait_for_function(FITS)


def axe_violations(visit: Visit, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds by these rules, or all of them, however small: the rule, and where."""
    if not visit.page.evaluate("'axe' in window"):
        visit.page.evaluate(AXE_SCRIPT)
    visit.page.wait_for_function(AT_REST)
    found: list[dict[str, Any]] = visit.page.evaluate(AXE, rules)
    return [
        f"{rule['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for rule in found
        for node in rule["nodes"]
    ]
