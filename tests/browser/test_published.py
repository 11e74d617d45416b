"""A published leaderboard in a real browser: opened from a disk, without a server and without a network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from aisbench_core.exchange.publishing.columns import DEFAULT_COLUMNS
from aisbench_core.exchange.publishing.publishing import Publishing
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.browser.windows import WAIT_MS

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
HOSTILE = "<img src=x onerror=document.title=1>"
FIRST_CELLS = "[...document.querySelectorAll('tbody td:first-child')].map(cell => cell.textContent)"
AXE = "axe.run({preload: false}).then(found => found.violations)"
"""What axe finds; it need not load the style once more, which a page from a disk may not do."""
IS_WIDE = "document.documentElement.scrollWidth > innerWidth"
PAGE_ROWS = 4


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmarks on two pages, one of a hostile name, and evidence of one run."""
    folder = tmp_path_factory.mktemp("published")
    warehouse = Warehouse(folder / "warehouse.duckdb")
    warehouse.record_many(
        [
            run
            for nodes in (1, 2, 4)
            for batch in (256, 512)
            for run in a.records(
                [8000.0 * nodes + batch, 8010.0 * nodes + batch], f"n{nodes}-b{batch}", node_count=nodes,
                flavor=HOSTILE if nodes == 4 else "snt9b", speed_parameters={"epoch_size": 90, "batch_size": batch},
            )
        ]
    )  # fmt: skip
    (folder / "bundles").mkdir()
    (folder / "bundles" / "n1-b256-0.zip").write_bytes(b"PK")
    publishing = Publishing(warehouse, lambda: NOW, page_rows=PAGE_ROWS)
    publishing.publish(BoardQuery("cn-north-9"), folder / "site", DEFAULT_COLUMNS, folder / "bundles")
    return folder / "site"


@contextmanager
def open_site(
    browser: Browser, file: Path, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Page]:
    """The page; nothing but files beside it is asked for, and nothing is said on the browser's console."""
    said: list[str] = []
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith("file:") else said.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("tbody td")
        yield page
    assert said == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "zh.html"])
def test_it_opens_from_a_disk_for_everybody(
    name: str, scheme: Literal["light", "dark"], width: int, browser: Browser, site: Path
) -> None:
    with open_site(browser, site / name, width, scheme) as page:
        for table in ("#rows", "#runs"):
            page.click(f"header a[href='{table}']")
            expect(page.locator("#status")).to_have_text(re.compile("6" if table == "#rows" else "12"))
            page.evaluate(AXE_SCRIPT)
            found: list[dict[str, Any]] = page.evaluate(AXE)
            assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []
            assert not page.evaluate(IS_WIDE)
        assert page.title() == ("AISBench leaderboard" if name == "index.html" else "AISBench 排行榜")


def test_the_other_language_is_a_link_away(browser: Browser, site: Path) -> None:
    with open_site(browser, site / "index.html") as page:
        page.click("text=简体中文")
        page.wait_for_selector("tbody td")

        assert page.locator("html").get_attribute("lang") == "zh-CN"
        expect(page.locator("thead")).to_contain_text("中位数")
        page.click("text=English")
        expect(page.locator("thead")).to_contain_text("Median")


def test_rows_are_sorted_within_their_benchmark_and_by_keyboard(browser: Browser, site: Path) -> None:
    with open_site(browser, site / "index.html") as page:
        assert page.evaluate(FIRST_CELLS) == ["1", "2", "3", "1"]
        head = page.locator("thead th", has_text="Rank")
        expect(head).to_have_attribute("aria-sort", "none")

        page.locator("thead button", has_text="Median").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")

        expect(page.locator("thead th", has_text="Median")).to_have_attribute("aria-sort", "ascending")
        assert page.evaluate(FIRST_CELLS) == ["3", "2", "1", "1"]
        assert page.evaluate("document.activeElement.textContent") == "Median"


def test_a_filter_searches_all_pages(browser: Browser, site: Path) -> None:
    with open_site(browser, site / "index.html") as page:
        page.fill("#text", "BATCH_SIZE=512")
        expect(page.locator("#status")).to_have_text("3 found")
        expect(page.locator("tbody tr td:first-child")).to_have_count(3)

        page.fill("#text", "nowhere")
        expect(page.locator("#status")).to_have_text("Nothing found")

        page.fill("#text", "")
        expect(page.locator("#status")).to_have_text("1–4 of 6")


def test_pages_are_turned_and_a_row_leads_to_its_runs(browser: Browser, site: Path) -> None:
    with open_site(browser, site / "index.html") as page:
        page.click("text=Next page")
        expect(page.locator("#status")).to_have_text("5–6 of 6")
        expect(page.locator("#next")).to_be_disabled()

        page.locator("td[data-label=Runs] a").last.click()
        expect(page.locator("#status")).to_have_text("1–2 of 2")
        expect(page.locator("#heading")).to_have_text("Runs of mindspore r1.10, snt9b, 1 × 8")
        assert re.fullmatch(r"n1-b(\d+)-1 n1-b\1-0", " ".join(page.evaluate(FIRST_CELLS)))

        page.go_back()
        expect(page.locator("#heading")).to_have_text("Configurations")


def test_evidence_is_a_link_and_a_hostile_name_a_text(browser: Browser, site: Path) -> None:
    with open_site(browser, site / "index.html") as page:
        expect(page.locator("tbody td", has_text=HOSTILE)).to_have_count(2)
        page.click("header a[href='#runs']")
        page.fill("#text", "n1-b256-0")
        link = page.locator("td a", has_text="n1-b256-0.zip")

        expect(link).to_have_attribute("href", "bundles/n1-b256-0.zip")
        assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_a_missing_page_is_named(browser: Browser, site: Path, tmp_path: Path) -> None:
    for file in ("index.html", "leaderboard.js", "leaderboard.css", "data/rows-0.js"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes((site / file).read_bytes())
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        page.click("text=Next page")

        expect(page.locator("#status")).to_have_text(
            "data/rows-1.js is missing or damaged: publish the leaderboard again."
        )
