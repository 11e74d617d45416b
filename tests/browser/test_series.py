"""A series in a real browser: from a draft to a matrix of measured cells, without leaving the console."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.test_looks import assert_fits, axe_violations
from tests.browser.visit import OpenWindow, Visit

SERIES_MS = 240_000
"""How long two short runs may take on a busy machine."""


def fill(visit: Visit, label: str, value: str) -> None:
    """Type into a field, leave it, and wait until the address has it."""
    field: Locator = visit.page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Tab")
    visit.rest()


def test_a_draft_becomes_a_series_that_is_measured_while_the_page_looks_on(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)
    visit.open("/configure?draft=short")
    fill(visit, "epochs †", "1")
    visit.page.get_by_role("link", name="Launch as a series").click()
    expect(visit.page.get_by_role("heading", name="New series")).to_be_visible()
    visit.rest()

    fill(visit, "Repeats", "2")
    fill(visit, "Parallel jobs", "2")
    fill(visit, "Budget in node hours", "5")
    expect(visit.page).to_have_url(re.compile("budget=5"))
    assert_fits(visit)
    visit.picture("series-new")
    visit.page.get_by_role("button", name="Launch 2 runs").click()
    visit.keyed("series-launch-yes").get_by_role("button").dblclick()

    expect(visit.page).to_have_url(re.compile("series=s"))
    expect(visit.page.get_by_text("Cells ended: 2 of 2 · 2 valid")).to_be_visible(timeout=SERIES_MS)
    expect(visit.page.get_by_role("button", name="Stop all")).to_have_count(0)
    visit.rest()
    assert visit.rows("Statistics")[0]["n"] == "2 of 2"
    links = visit.page.get_by_role("table").first.get_by_role("link")
    expect(links).to_have_count(2)
    assert re.match(r"live\?run=r", links.first.get_attribute("href") or "")
    assert_fits(visit)
    assert axe_violations(visit) == []
    visit.picture("series-done")
    visit.page.get_by_role("link", name="All series").click()
    expect(visit.page.get_by_role("heading", level=1, name="Series", exact=True)).to_be_visible()
    expect(visit.page.get_by_role("link", name=re.compile("quickstart_digits"))).to_have_count(1)
    assert visit.troubles() == []


def test_a_search_is_launched_followed_and_its_best_trial_becomes_a_draft(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)
    visit.open("/series?new=1&draft=searched&counts=1&run_hours=0.1")
    fill(visit, "Search", "batch_size=2..256 log; learning_rate=0.05..0.5 log")
    expect(visit.page.get_by_label("Trials", exact=True)).to_be_visible()
    fill(visit, "Trials", "3")
    fill(visit, "Parallel jobs", "2")
    fill(visit, "Budget in node hours", "1")
    assert_fits(visit)
    visit.picture("search-new")
    visit.page.get_by_role("button", name="Launch 3 runs").click()
    visit.keyed("series-launch-yes").get_by_role("button").click()

    expect(visit.page).to_have_url(re.compile("series=s"))
    expect(visit.page.get_by_text("Cells ended: 3 of 3 · 3 valid")).to_be_visible(timeout=SERIES_MS)
    visit.rest()
    series = visit.page.url.split("series=")[1].split("&")[0]
    trials = visit.rows("Trials")
    assert [trial["State"] for trial in trials] == ["Valid"] * 3
    assert_fits(visit)
    assert axe_violations(visit) == []
    other = window(console, width=1920, dark=True, locale="zh-CN")
    other.open(f"/series?series={series}")
    assert_fits(other)
    assert other.troubles() == []
    other.picture("search-of-another-person")
    best = max(trials, key=lambda trial: float(str(trial["Throughput"]).replace(",", "").split()[0]))
    visit.keyed("clone-best").get_by_role("button").click()
    expect(visit.page.get_by_role("heading", name="New run", exact=True)).to_be_visible()
    expect(visit.page.get_by_label(re.compile("^batch_size"))).to_have_value(str(best["batch_size"]))
    assert visit.troubles() == []
