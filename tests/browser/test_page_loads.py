"""Each page that is loaded anew stays where it is, says little above the fold, sends little, and meets no error."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.browser.console_process import ConsoleProcess
from tests.browser.page_loads import MOST_WORDS, WORDS, Transfer, blank_page, open_blank_page
from tests.browser.shifts import MOST_SHIFT, least_shift, list_moves, read_shift, watch_shifts
from tests.browser.test_looks import FULL_PAGES
from tests.browser.used_console import use_console
from tests.browser.visit import Visit
from tests.browser.windows import HEIGHT
from tests.console import seeds
from tests.sandbox_process import SandboxProcess

IN_TROUBLE = {"live-retrying": 155}
"""Words of a run that hangs while the cloud does not answer: why, since when, what to do and what the retry changes."""

MOST_OWN = 300_000
"""Bytes that are not Streamlit's."""

REGION = "cn-north-9"
PAGES = FULL_PAGES | {
    "live-done": f"/live?run={seeds.DONE_RUN}",
    "scaling": f"/scaling?region={REGION}",
    "history": f"/history?region={REGION}",
    "history-one": "/history?group={group}",
    "leaderboard": f"/leaderboard?region={REGION}",
}
LIKE_OTHERS = ("compare", "live", "configuration", "unknown-run", "live-retrying", "live-held", "history-versions")
"""Pages that are empty without a choice, and states that differ in a few words; `make test-all` loads them, too."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was seen of a page: loaded with an empty cache, and then once more."""

    shift: float
    moves: list[str]
    words: list[str]
    cold: Transfer
    troubles: list[str]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, scripted_sandbox: SandboxProcess) -> Iterator[ConsoleProcess]:
    """A console that was used for a while."""
    with use_console(tmp_path_factory.mktemp("used"), scripted_sandbox) as process:
        yield process


@pytest.fixture
def blank(browser: Browser, tmp_path: Path, blank_sent: list[int]) -> int:
    """The bytes of a blank page of Streamlit, measured before the first test."""
    if not blank_sent:
        with blank_page(tmp_path) as address, browser.new_context() as context:
            page = context.new_page()
            transfer = Transfer.watch(page)
            open_blank_page(page, address)
            transfer.end(page)
            blank_sent.append(transfer.sent)
    return blank_sent[0]


@pytest.fixture(scope="module")
def blank_sent() -> list[int]:
    """What was measured of it so far."""
    return []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.exhaustive if name in LIKE_OTHERS else ()) for name in PAGES]
)
def test_a_page_that_is_loaded_anew_is_still_short_and_light(
    used: ConsoleProcess, browser: Browser, blank: int, name: str
) -> None:
    loads: list[Load] = []

    def load() -> float:
        loads.append(load_twice(browser, used, PAGES[name].format(group=newest_group(used))))
        return loads[-1].shift

    shift = least_shift(load)

    assert shift < MOST_SHIFT, "\n".join(loads[-1].moves)
    assert len(loads[-1].words) <= IN_TROUBLE.get(name, MOST_WORDS), " ".join(loads[-1].words)
    assert loads[-1].cold.own <= MOST_OWN, loads[-1].cold
    assert loads[-1].cold.sent <= blank, loads[-1].cold
    assert [trouble for each in loads for trouble in each.troubles] == []


@pytest.mark.parametrize("name", ["home", "runs", "leaderboard", "compare-some"])
def test_a_page_stays_where_it_is_in_a_narrow_window(used: ConsoleProcess, browser: Browser, name: str) -> None:
    loads: list[Load] = []

    def load() -> float:
        loads.append(load_twice(browser, used, PAGES[name], width=390))
        return loads[-1].shift

    assert least_shift(load) < MOST_SHIFT, "\n".join(loads[-1].moves)


def load_twice(browser: Browser, console: ConsoleProcess, address: str, *, width: int = 1280) -> Load:
    """Load a page in a browser that knows nothing, and then as it does after F5."""
    with browser.new_context(viewport={"width": width, "height": HEIGHT}) as context:
        visit = Visit(context.new_page(), console)
        watch_shifts(visit)
        cold = Transfer.watch(visit.page)
        visit.open(address)
        shift, moves, words = read_shift(visit), list_moves(visit), visit.page.evaluate(WORDS, HEIGHT)
        cold.end(visit.page)
        visit.reload()
        again = read_shift(visit)
        return Load(max(shift, again), [*moves, "again", *list_moves(visit)], words, cold, visit.troubles())


def newest_group(console: ConsoleProcess) -> str:
    """The id of the configuration whose history is the newest run's."""
    warehouse = Warehouse(console.data_dir / "warehouse.duckdb")
    return Trend.of(warehouse.runs.list_rows(BoardQuery(REGION, sort="created_at", limit=1)).rows[0]).id
