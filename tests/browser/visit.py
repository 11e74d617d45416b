"""One person's look at the console: a browser window of its own, what went wrong in it, and pictures of it."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Download, Error, Locator, Page, Request, expect
from playwright.sync_api import TimeoutError as TookTooLong

from tests.browser.console_process import ConsoleProcess
from tests.browser.windows import HEIGHT

TRIES = 5
"""How often a window is sent to another page."""

LISTS, LIST_MS = 8, 8_000
"""How often a list is opened, and how long its option is looked for."""

QUIET = (
    "html:not([data-asked]) "  # see in_window.js
    '[data-testid="stApp"][data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]'
)

ASKED = """() => new Promise(done => setTimeout(() =>
    requestAnimationFrame(() => scheduler.postTask(() => done(true), {priority: 'background'})), 100))"""
"""Over when the page has asked its server for what was done last: it lets a moment pass before it does. Whatever else
waits for its turn goes before a task in the background; for an idle period some pages have to wait seconds."""

COPIED = ASKED.replace("100)", "300)")
"""Over when a table's copy for screen readers says what the table shows: it follows 200 ms behind."""

GO_TO = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }"

OpenWindow = Callable[..., "Visit"]
LookAt = Callable[..., "Visit"]


class Visit:
    """A window on one console."""

    def __init__(self, page: Page, console: ConsoleProcess) -> None:
        self.page = page
        self._base = console.url
        self._console = console
        self._said_before = len(console.said)
        self._requested: list[str] = []
        self._errors: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", self._failed)
        page.on("request", self._asked)

    def leave(self) -> None:
        """Look no longer: what happens in the window from now on is another visit's."""
        self.page.remove_listener("console", self._heard)
        self.page.remove_listener("pageerror", self._failed)
        self.page.remove_listener("request", self._asked)

    def open(self, path: str) -> Mapping[str, str]:
        """Go to an address of the console, and wait until the page stands; gives the answer's headers."""
        answer = self.page.goto(self.url(path))
        assert answer is not None
        self.settle()
        return answer.headers

    def go_to(self, path: str) -> None:
        """Show another address in the same session, as Back and Forward do: nothing is loaded again.

        Streamlit joins what it is asked while a script runs, and takes the page of the last request. A timer of the
        page that is left may send one before the browser knows of the next page, and the old page stays: it is asked
        again."""
        left = urlsplit(self.page.url).path
        for _ in range(TRIES):
            self.page.evaluate(GO_TO, path)
            self.settle()
            if urlsplit(self.page.url).path != left or left == urlsplit(path).path:
                return
        raise AssertionError(f"{left} stays in the window instead of {path}")

    def close_dialog(self) -> None:
        """Leave the dialog that stands open, if one does, and the menu that it was opened from."""
        dialog = self.page.get_by_role("dialog")
        for left in reversed(range(dialog.count())):
            self.page.keyboard.press("Escape")
            expect(dialog).to_have_count(left)
            self.rest()  # the page is asked to draw itself without it

    def open_options(self) -> None:
        """Open the menu's options: language, open sessions and sign-out."""
        self.keyed("options").get_by_role("button").click()

    def open_drafts(self) -> None:
        """Open the menu of drafts on New run: the others, a new one, import and export."""
        self.keyed("drafts").get_by_role("button").click()

    def unfold(self, title: str) -> None:
        """Open a folded part of the page; its label may say more than its title."""
        self.page.locator("summary").filter(has_text=title).click()
        self.rest()

    def open_more(self) -> None:
        """Open the menu of a run's page: what can be done with it, but is not done often."""
        self.keyed("run-more").get_by_role("button").first.click()

    def launch_draft(self) -> str:
        """Launch what New run shows; the run's id."""
        self.open("/configure")
        self.keyed("launch").get_by_role("button").click()
        self.keyed("launch-yes").get_by_role("button").click()
        expect(self.page).to_have_url(re.compile(r"/live\?.*run="))
        found = re.search(r"run=([^&]+)", self.page.url)
        assert found
        return found[1]

    @property
    def console_url(self) -> str:
        """Where the console is."""
        return self._base

    def url(self, path: str) -> str:
        """An address of the console."""
        return self._base + path

    def settle(self) -> None:
        """Wait until the page has a heading and is not busy."""
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        self.rest()

    def rest(self) -> None:
        """Wait until the server has answered what was done last, and everything that it sent is drawn."""
        self.page.wait_for_function(ASKED)
        expect(self.page.locator(QUIET)).to_be_visible()
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)

    def pick(self, field: Locator, option: str | re.Pattern[str]) -> None:
        """Choose from a field's list. A page that is drawn anew may close the list: it is opened again then."""
        wanted = self.page.get_by_role("option", name=option)
        for _ in range(LISTS):
            self.rest()
            field.hover()  # brings it into view first: a page that scrolls closes the list, too
            field.click()
            try:
                wanted.click(timeout=LIST_MS)
            except TookTooLong:
                self.page.keyboard.press("Escape")
            else:
                self.rest()
                return
        raise AssertionError(f"no list of {field} shows {option}")

    def download(self, button: Locator) -> Download:
        """Press a download button. Until the page is at rest it may still hold the file of before."""
        self.rest()
        with self.page.expect_download() as waiting:
            button.click()
        return waiting.value

    def reload(self) -> None:
        """What F5 does."""
        self.page.reload()
        self.settle()

    def menu(self, title: str) -> None:
        """Open a page by the menu."""
        self.page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
        self.page.mouse.move(0, 0)  # as a hand does: an entry's tooltip covers what stands beside it
        expect(self.page.get_by_role("heading", level=1, name=title, exact=True)).to_be_visible()
        self.rest()

    def menu_titles(self) -> list[str]:
        """The pages that the menu offers, without their icons."""
        labels = self.page.get_by_test_id("stSidebar").locator("a [data-testid=stMarkdownContainer]")
        return labels.filter(visible=True).all_inner_texts()

    def keyed(self, key: str) -> Locator:
        """The element of the widget with this key."""
        return self.page.locator(f".st-key-{re.sub('[^A-Za-z0-9_-]', '-', key)}")

    def says(self) -> str:
        """All text that stands on the page."""
        return self.page.locator("body").inner_text()

    def table(self, alt: str) -> Locator:
        """A table by its alternative text."""
        return self.page.get_by_role("region", name=alt, exact=True).and_(
            self.page.get_by_test_id("stDataFrameResizable")
        )

    def rows(self, alt: str) -> list[dict[str, str]]:
        """A table's rows by column title, from the copy for screen readers: the table itself is drawn on a canvas."""
        expect(self.table(alt).locator("td").first).to_be_attached()
        self.page.wait_for_function(COPIED)
        lines: list[list[str]] = self.table(alt).evaluate(
            "table => [...table.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.textContent))"
        )
        return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]

    def column(self, alt: str, title: str) -> list[str]:
        """One column of a table, as soon as it is in view: the copy follows the canvas, which follows the window."""
        expect(self.table(alt).locator("tr").first.get_by_text(title, exact=True).first).to_be_attached()
        return [row[title] for row in self.rows(alt)]

    def picture(self, name: str) -> None:
        """Draw the window for a person to look at, if PICTURES_TO names a folder for that."""
        self._draw(name, "PICTURES_TO")

    def publish(self, name: str, height: int = HEIGHT) -> None:
        """The same from a window so high, if SCREENSHOTS_TO names one: the README's pictures are made this way."""
        width = self.width
        self.page.mouse.move(width - 1, HEIGHT - 1)
        self.page.evaluate("document.activeElement.blur()")
        self.page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
        self.page.set_viewport_size({"width": width, "height": height})
        self._draw(name, "SCREENSHOTS_TO")
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def _draw(self, name: str, variable: str) -> None:
        if folder := os.environ.get(variable):
            self.page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")

    def widen(self, width: int) -> None:
        """Give the window another width."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        self.rest()

    def switch_colours(self) -> None:
        """Dark where the page was light, light where it was dark."""
        is_dark = self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        self.page.emulate_media(color_scheme="light" if is_dark else "dark")
        self.rest()

    @property
    def width(self) -> int:
        """The window's width in pixels."""
        size = self.page.viewport_size
        assert size
        return size["width"]

    def troubles(self) -> list[str]:
        """What the browser complained about, what was asked of other hosts, and what the console logged as a bug."""
        elsewhere = [address for address in self._requested if not self._is_ours(address)]
        said = self._console.said[self._said_before :]
        return self._errors + elsewhere + ([said] if "Traceback" in said else [])

    def forgive(self) -> None:
        """What the window asked and heard so far is no trouble: it was at another server."""
        self._requested.clear()
        self._errors.clear()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._errors.append(f"{message.text} ({message.location.get('url')})")

    def _failed(self, error: Error) -> None:
        self._errors.append(str(error))

    def _asked(self, request: Request) -> None:
        self._requested.append(request.url)

    def _is_ours(self, address: str) -> bool:
        parts = urlsplit(address)
        return parts.scheme in ("data", "blob") or parts.netloc == urlsplit(self._base).netloc
