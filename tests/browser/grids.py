"""The tables of a page in the browser: their rows and cells by what a person sees."""

from playwright.sync_api import Locator

from tests.browser.visit import Visit


def grid(visit: Visit, name: str) -> Locator:
    """A table by what it is called for those who cannot see it."""
    return visit.page.get_by_role("table", name=name, exact=True)


def row(visit: Visit, name: str, row_id: str) -> Locator:
    """One of its rows."""
    return grid(visit, name).locator(f'tbody tr[data-row="{row_id}"]')


def tick_box(visit: Visit, name: str, row_id: str) -> Locator:
    """The box by which a row is ticked."""
    return row(visit, name, row_id).get_by_role("checkbox")


def action_bar(visit: Visit) -> Locator:
    """What can be done with the rows that are ticked."""
    return visit.keyed("action-bar")


def column(visit: Visit, name: str, key: str) -> list[str]:
    """The texts of a column."""
    return grid(visit, name).locator(f'tbody [data-column="{key}"]').all_inner_texts()
