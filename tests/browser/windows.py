"""Browser windows that tests take one after the other, as it were each a new one."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

HEIGHT = 900
"""A window's height, in pixels."""

WAIT_MS = 60_000
"""How long a page may take on a busy machine. Nothing here is a measurement."""

IN_WINDOW = Path(__file__).parent / "in_window.js"
"""What each window runs before Streamlit's own scripts."""

FORGET = "localStorage.clear(); sessionStorage.clear()"


@dataclass(frozen=True, slots=True)
class Person:
    """How wide a window somebody has, in which colours and language."""

    width: int
    dark: bool
    locale: str


class Windows:
    """Lends windows. One that comes back forgets what it saw and is lent again: a new one would first have to fetch
    and compile all that Streamlit sends, which takes longer than most tests.

    Whoever looks wants no moving pictures: what Streamlit animates while a page loads would take half of the time."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._idle: defaultdict[str, list[Page]] = defaultdict(list)

    def lend(self, person: Person) -> Page:
        """An empty window for that person."""
        idle = self._idle[person.locale]
        return suited(idle.pop() if idle else self._new(person.locale), person)

    def take_back(self, page: Page, locale: str) -> None:
        """Leave what is shown, forget it, and keep the window for the next one of that language."""
        page.evaluate(FORGET)
        page.context.clear_cookies()
        page.goto("about:blank")
        self._idle[locale].append(page)

    def _new(self, locale: str) -> Page:
        context = self.browser.new_context(locale=locale, timezone_id="Asia/Shanghai", accept_downloads=True)
        context.set_default_timeout(WAIT_MS)
        context.set_default_navigation_timeout(WAIT_MS)
        context.add_init_script(path=IN_WINDOW)
        return context.new_page()


def suited(page: Page, person: Person) -> Page:
    """The window as wide and as dark as that person has it."""
    page.set_viewport_size({"width": person.width, "height": HEIGHT})
    page.emulate_media(color_scheme="dark" if person.dark else "light", reduced_motion="reduce")
    return page
