"""New run at 1280 × 900: few controls and words, an error leads to its place, and the launch stays in the window."""

import pytest
from playwright.sync_api import Locator, expect

from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.shifts import MOST_SHIFT, least_shift, read_shift, watch_shifts
from tests.browser.visit import OpenWindow, Visit
from tests.browser.windows import HEIGHT

MOST_CONTROLS, MOST_WORDS = 20, 120
CONTROLS = """([css, height]) => [...document.querySelectorAll(css)]
    .filter(each => each.tabIndex >= 0 && each.checkVisibility({visibilityProperty: true, opacityProperty: true}))
    .filter(each => { const at = each.getBoundingClientRect(); return at.height && at.bottom > 0 && at.top < height; })
    .map(each => each.ariaLabel || each.innerText)"""
"""What can be reached by Tab and stands in the window."""

WORDS = """height => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    let text = "";
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!parent.checkVisibility({visibilityProperty: true}) || parent.closest('[data-testid="stIconMaterial"]'))
            continue;
        range.selectNodeContents(node);
        const at = range.getBoundingClientRect();
        if (at.width > 1 && at.height > 1 && at.bottom > 0 && at.top < height) text += ` ${node.textContent}`;
    }
    return text.split(/\\s+/).filter(Boolean);
}"""
"""The words in the window, the menu's, too; without the names of icons."""


def save_draft(console: ConsoleProcess, name: str, text: str) -> None:
    Ledger(console.data_dir / "ledger.sqlite3").save_draft(name, text, a.T0)


def launch_button(visit: Visit) -> Locator:
    return visit.keyed("launch").get_by_role("button")


def test_few_controls_and_words_stand_above_the_fold_and_nothing_moves(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)
    watch_shifts(visit)

    def load() -> float:
        visit.open("/configure?draft=few")
        expect(launch_button(visit)).to_be_enabled()
        return read_shift(visit)

    assert least_shift(load) < MOST_SHIFT

    css = ":is(input, textarea, select, button, a[href], summary)"
    controls = visit.page.evaluate(CONTROLS, [f'[data-testid="stMain"] {css}', HEIGHT])
    words = visit.page.evaluate(WORDS, HEIGHT)

    assert len(controls) <= MOST_CONTROLS, controls
    assert len(words) <= MOST_WORDS, words
    assert visit.troubles() == []


def test_the_launch_and_what_forbids_it_stay_in_the_window(console: ConsoleProcess, window: OpenWindow) -> None:
    save_draft(console, "wrong", "workload: mindspore_bert\nretries: 9999\n")
    visit = window(console)
    visit.open("/configure?draft=wrong")

    visit.page.get_by_label("Retries", exact=True).scroll_into_view_if_needed()

    expect(visit.page.get_by_label("Retries", exact=True)).to_be_in_viewport()
    expect(launch_button(visit)).to_be_in_viewport()
    expect(launch_button(visit)).to_be_disabled()
    expect(visit.page.get_by_text("Fix the errors to launch.")).to_be_in_viewport()
    visit.widen(390)
    expect(launch_button(visit)).to_be_in_viewport()
    assert visit.troubles() == []


def test_an_error_in_the_yaml_leads_to_its_line(console: ConsoleProcess, window: OpenWindow) -> None:
    save_draft(console, "no-spec", "workload: quickstart_digits\nflavor: sandbox.cpu.2cards\nnodes: 4\n")
    visit = window(console)
    visit.open("/configure?draft=no-spec")

    visit.page.get_by_role("button", name="nodes · line 3").click()

    text = visit.page.get_by_label("Spec as YAML", exact=True)
    expect(text).to_be_focused()
    visit.page.wait_for_function(
        "document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)"
        " === 'nodes: 4'"
    )
    expect(visit.page.locator(".yaml-lines .error")).to_have_text("3")
    number, line = visit.page.locator(".yaml-lines .error").bounding_box(), text.bounding_box()
    assert number
    assert line
    assert number["y"] - line["y"] == pytest.approx(2 * 20 + 9, abs=2)
    assert "mono" in text.evaluate("field => getComputedStyle(field).fontFamily")
    assert visit.troubles() == []


def test_the_help_of_a_field_is_read_where_the_cursor_is(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/configure?draft=few")
    help_text = visit.page.get_by_text("Number of servers that work on the job.")
    expect(help_text).to_be_hidden()

    visit.page.get_by_label("Nodes", exact=True).focus()

    expect(help_text).to_be_visible()
    expect(visit.page.get_by_label("Nodes", exact=True)).to_have_accessible_description(
        "Number of servers that work on the job. Allowed: a whole number, 1 to 4096."
    )
    assert visit.troubles() == []


def test_a_fold_stays_open_while_somebody_types_in_it(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/configure?draft=typing")
    visit.unfold("Name and description")
    name = visit.page.get_by_label("Name", exact=True)

    name.press_sequentially("first")
    expect(visit.page.locator("summary").filter(has_text="Name first")).to_be_visible()
    visit.rest()

    expect(name).to_be_visible()
    expect(name).to_be_focused()
    expect(name).to_have_value("first")
    assert visit.troubles() == []
