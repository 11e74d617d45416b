"""Many runs side by side in a window: the table scrolls inside its frame, at any width."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import grid
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt
from tests.console import seeds

TABLE = "Runs as columns"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with 32 runs of four versions."""
    data_dir: Path = tmp_path_factory.mktemp("many")
    seeds.fill(data_dir)
    Warehouse(data_dir / "warehouse.duckdb").record_many(
        a.record(f"many-{at:02}", framework_version=f"r{at % 4}", throughputs=[1000.0 - 40 * (at % 4) + at] * 8)
        for at in range(32)
    )
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


@pytest.mark.parametrize(("width", "locale", "dark"), [(1280, "en-US", False), (390, "zh-CN", True)])
def test_32_runs_are_columns_that_scroll_inside_their_frame(
    console: ConsoleProcess, look: LookAt, width: int, locale: str, dark: bool
) -> None:
    ids = "&".join(f"ids=many-{at:02}" for at in range(32))
    visit = look(console, f"/compare?{ids}&baseline=many-03", width=width, locale=locale, dark=dark)

    table = grid(visit, TABLE if locale == "en-US" else "各次运行按列对比")
    frame = table.locator("..")
    frame.evaluate("frame => frame.scrollLeft = 2000")
    first = table.locator("tbody th").first.bounding_box()
    box = frame.bounding_box()
    assert first
    assert box
    assert first["x"] == pytest.approx(box["x"], abs=1)
    assert frame.evaluate("frame => frame.scrollLeft") > 0
    assert table.locator("thead th").count() == 33
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.picture("compare-many")
    assert visit.troubles() == []
