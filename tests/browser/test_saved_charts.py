"""Charts are saved as SVG by a button of their own."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt
from tests.console import seeds


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console that was used for a while."""
    data_dir: Path = tmp_path_factory.mktemp("charts")
    seeds.fill(data_dir)
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


@pytest.mark.parametrize(("locale", "label"), [("en-US", "Save as SVG"), ("zh-CN", "存为 SVG")])
def test_a_chart_is_saved_as_svg_with_its_words(console: ConsoleProcess, look: LookAt, locale: str, label: str) -> None:
    visit = look(console, "/compare?ids=run-n1-0&ids=run-n2-0", locale=locale)
    chart = visit.page.get_by_test_id("stVegaLiteChart").first
    expect(chart.locator("svg.marks")).to_be_attached()
    chart.hover()

    file = visit.download(visit.page.get_by_role("button", name=label).first)

    picture = ElementTree.parse(file.path()).getroot()  # noqa: S314 - the browser of this test wrote it
    assert file.suggested_filename == "aisbench-chart.svg"
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    title = chart.locator("svg.marks .role-axis-title text").last.text_content()
    assert title
    assert title in re.sub(r"\s+", " ", "".join(picture.itertext()))
    assert visit.troubles() == []
