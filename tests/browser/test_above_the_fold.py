"""At 1280 × 900 each page's main answer is above the fold, in few words, with 1, 200 and 20,000 runs; at 390 each page
is whole."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Locator, expect

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.shell.tables import HEAD, ROW
from tests.bench.many_runs import REGION
from tests.browser import grown_warehouses
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import grid
from tests.browser.page_loads import MOST_WORDS, WORDS
from tests.browser.prepared_console import PreparedConsole
from tests.browser.shifts import MOST_SHIFT, least_shift, read_shift, watch_shifts
from tests.browser.test_looks import CONTRAST, assert_fits, axe_violations
from tests.browser.visit import LookAt, Visit
from tests.browser.windows import HEIGHT
from tests.sandbox_process import SandboxProcess

PHONE = 390
"""The width of a phone's window."""

FIRST_ROW_PX = 400
"""Where the first row of the leaderboard ends at the latest."""

FIELD_PX = 40
"""A field of a form, a tile's label, a line of a message: what has so much of itself in view can be read."""

CHART_PX = 240
"""A chart's picture without what stands below its axis."""

CUT = """values => values
    .map(value => [value, ...value.querySelectorAll("*")].find(part => part.scrollWidth > part.clientWidth + 1))
    .filter(Boolean).map(part => part.textContent)"""
"""The texts of numbers that end with an ellipsis."""

STILL = ("home", "history", "leaderboard", "series", "region", "notifications", "health", "scaling")
"""Pages of which this is measured."""

MANY = 200
MOST = 20_000
EVERYBODY = [
    *((MANY, 1280, dark) for dark in (False, True)),
    *((count, PHONE, dark) for count, dark in ((1, True), (MANY, True), (MANY, False), (MOST, False))),
]
"""How many runs somebody sees, in a window how wide and dark. `make test` looks at most of them on a dark phone."""

OpenGrown = Callable[[int], ConsoleProcess]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page is opened for: by what it is found, how many pixels of it must be seen, and above which line."""

    css: str
    pixels: int
    above: int = HEIGHT

    def of(self, visit: Visit) -> Locator:
        """The first such element."""
        return visit.page.get_by_test_id("stMain").locator(self.css).first


TABLE = Answer('[data-testid="stDataFrame"], [data-testid="stTable"], .grid-box', HEAD + ROW)
TILE = Answer('[data-testid="stMetric"]', FIELD_PX)
MESSAGE = Answer('[data-testid="stAlert"]', FIELD_PX)
FIELD = Answer('[data-testid="stSelectbox"]', FIELD_PX)
CHANGED = Answer('[class*="st-key-line-"]', FIELD_PX)
VERDICT = Answer(".st-key-verdict h2", FIELD_PX)
MANY_RUNS = Answer(".st-key-grid-many table", HEAD + 2 * ROW)
METRICS = Answer(".st-key-grid-metrics table", HEAD + ROW)
PICTURE = Answer('[data-testid="stHtml"] img', CHART_PX // 2)
CHART = Answer('[data-testid="stVegaLiteChart"]', CHART_PX)

PAGES: dict[str, tuple[Answer, ...]] = {
    "home": (Answer("h2", FIELD_PX),),
    "configure": (FIELD,),
    "runs": (TABLE,),
    "live": (TILE,),
    "series": (PICTURE,),
    "leaderboard": (Answer(TABLE.css, TABLE.pixels, FIRST_ROW_PX),),
    "configuration": (TILE, CHART),
    "compare": (MANY_RUNS,),
    "compare-groups": (VERDICT, METRICS),
    "scaling": (MESSAGE, CHART),
    "history": (TABLE,),
    "history-one": (MESSAGE, CHART),
    "import": (Answer('[data-testid="stFileUploader"]', FIELD_PX),),
    "region": (TABLE,),
    "notifications": (Answer('[data-testid="stButton"]', FIELD_PX),),
    "health": (TILE,),
}
OF = {
    1: PAGES
    | {"compare": (MESSAGE,), "compare-groups": (MESSAGE,), "history": (MESSAGE, CHART), "scaling": (MESSAGE, TABLE)},
    MANY: PAGES,
    MOST: PAGES | {"home": (CHANGED,)},
}
"""One run cannot be compared, and its history is the only one; only of most there are enough for a change."""

ACTIONS = {
    "notifications": "Add a channel",
    "home": "All benchmark configurations",
    "configure": "Launch…",
    "runs": "New run",
    "live": "Run again…",
    "series": "New series",
    "leaderboard": "Filters",
    "configuration": "Median run",
    "compare": "Clone into a draft",
    "compare-groups": "Clone into a draft",
    "scaling": "Saved views",
    "history": "Saved views",
    "history-one": "Mark as baseline",
    "import": "Read",
}
"""What people do on a page, by the words on the button or link; Health and Region are only read."""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, scripted_sandbox: SandboxProcess) -> Iterator[OpenGrown]:
    """Consoles before warehouses of so many runs and a region; each is started when it is first asked for."""
    consoles: dict[int, ConsoleProcess] = {}
    with ExitStack() as end:

        def of(count: int) -> ConsoleProcess:
            if count not in consoles:
                data_dir = tmp_path_factory.mktemp(f"runs-{count}")
                grown_warehouses.fill(data_dir, count)
                grown_warehouses.add_region(data_dir, scripted_sandbox)
                end.enter_context(FileLock(data_dir / "follower.lock"))  # nobody follows: the runs stay as they are
                consoles[count] = PreparedConsole.start(data_dir)
                end.callback(consoles[count].stop)
            return consoles[count]

        yield of


@pytest.mark.parametrize("count", [1, pytest.param(MANY, marks=pytest.mark.exhaustive), MOST])
def test_each_page_shows_its_main_answer_above_the_fold_and_is_whole_on_a_phone(
    grown: OpenGrown, look: LookAt, count: int
) -> None:
    console = grown(count)
    at = addresses(console)
    wrong: list[str] = []
    visit = look(console, "/health", dark=count == MOST)

    for name, answers in OF[count].items():
        visit.widen(1280)
        visit.go_to(at[name])
        wrong += [f"{name}: {text}" for text in (_below(answer, visit) for answer in answers) if text]
        words = visit.page.evaluate(WORDS, HEIGHT)
        wrong += [f"{name}: {len(words)} words: {' '.join(words)}"] if len(words) > MOST_WORDS else []
        wrong += _cut_numbers(visit)
        visit.widen(PHONE)
        assert_fits(visit)
        assert_reachable(visit, name, count)
        wrong += _cut_numbers(visit)
        assert_numbers_stand_in_pairs(visit, name)
        wrong += axe_violations(visit) if count == MOST else []

    assert wrong == []
    assert visit.troubles() == []


def test_nothing_moves_while_a_page_loads(grown: OpenGrown, browser: Browser) -> None:
    """With an empty cache, when what draws a widget comes last."""
    console = grown(MOST)

    def load(address: str) -> float:
        with browser.new_context(viewport={"width": 1280, "height": HEIGHT}) as context:
            visit = Visit(context.new_page(), console)
            watch_shifts(visit)
            visit.open(address)
            assert visit.troubles() == []
            return read_shift(visit)

    shifts = {name: least_shift(partial(load, addresses(console)[name])) for name in STILL}

    assert {name: shift for name, shift in shifts.items() if shift >= MOST_SHIFT} == {}, shifts


@pytest.mark.parametrize(
    ("address", "name", "keys"),
    [
        ("/leaderboard?show=runs", "Table of runs", ["run", "throughput", "hardware", "accuracy", "launched"]),
        ("/history", "All benchmark configurations", ["outcome", "change", "candidate", "baseline"]),
    ],
)
def test_a_table_shows_its_answer_without_scrolling_sideways(
    grown: OpenGrown, look: LookAt, address: str, name: str, keys: list[str]
) -> None:
    visit = look(grown(MOST), address)

    for key in keys:
        box = grid(visit, name).locator(f'thead [data-column="{key}"]').bounding_box()
        assert box
        assert box["x"] + box["width"] <= 1280, key
    assert visit.troubles() == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("count", "width", "dark"), EVERYBODY)
def test_pages_of_few_and_many_runs_keep_nobody_out(
    grown: OpenGrown, look: LookAt, count: int, width: int, dark: bool
) -> None:
    console = grown(count)
    found: dict[str, list[str]] = {}
    visit = look(console, "/health", width=width, dark=dark)

    for name, address in addresses(console).items():
        visit.go_to(address)
        found[name] = axe_violations(visit)
        visit.switch_colours()
        found[name] += axe_violations(visit, CONTRAST)

    assert {name: violations for name, violations in found.items() if violations} == {}


def assert_numbers_stand_in_pairs(visit: Visit, name: str) -> None:
    """On a phone, the first two numbers of this page are beside each other."""
    if name == "configuration":
        values = visit.page.get_by_test_id("stMetricValue")
        first, second = values.nth(0).bounding_box(), values.nth(1).bounding_box()
        assert first
        assert second
        assert first["y"] == second["y"]


def assert_reachable(visit: Visit, name: str, count: int) -> None:
    """Scrolling downwards brings the page's action into the window, in its whole width."""
    if name not in ACTIONS or (count == 1 and name.startswith("compare")):  # one run cannot be compared
        return
    main = visit.page.get_by_test_id("stMain")
    action = main.locator("button, a").filter(has_text=ACTIONS[name]).filter(visible=True).first
    expect(action).to_be_visible()
    action.scroll_into_view_if_needed()
    box = action.bounding_box()
    assert box
    assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE, f"{name}: {ACTIONS[name]}"


def addresses(console: ConsoleProcess) -> dict[str, str]:
    """Where each page shows the newest runs, by the names of PAGES."""
    warehouse = Warehouse(console.data_dir / "warehouse.duckdb")
    rows = warehouse.runs.list_rows(BoardQuery(REGION, sort="created_at", limit=4)).rows
    groups = sorted(warehouse.board.list_benchmarks(BoardQuery(REGION), 2).rows[0].rows, key=lambda row: -row.runs)
    return {name: f"/{name}" for name in PAGES} | {
        "live": f"/live?run={rows[0].run_id}",
        "configuration": f"/configuration?run={rows[0].run_id}",
        "compare": "/compare?" + "&".join(f"ids={row.run_id}" for row in rows),
        "compare-groups": "/compare?by=rows&" + "&".join(f"ids={row.latest_run_id}" for row in groups),
        "history-one": f"/history?group={Trend.of(rows[0]).id}",
    }


def _cut_numbers(visit: Visit) -> list[str]:
    """The numbers that are not whole."""
    cut: list[str] = visit.page.get_by_test_id("stMetricValue").evaluate_all(CUT)
    return cut


def _below(answer: Answer, visit: Visit) -> str:
    """How far an answer's readable part reaches below the line; nothing if it does not."""
    found = answer.of(visit)
    expect(found).to_be_visible()
    box = found.bounding_box()
    assert box
    end = box["y"] + answer.pixels
    return f"{answer.css} ends at {end:.0f}, not above {answer.above}" if end > answer.above else ""
