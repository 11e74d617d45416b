"""The main job, as a person does it: from a form in the browser to a row on the leaderboard, with pictures."""

import csv
import re

from playwright.sync_api import Locator, expect

from aisbench_core.warehouse.exporting.runs import RUNS
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import action_bar, column, grid, row, tick_box
from tests.browser.visit import OpenWindow, Visit

RUN_MS = 240_000
"""How long a run of a few seconds may take on a busy machine."""

FEW = 60
"""Epochs of a run that soon completes, whether or not a page sees it run."""

ENDLESS, SLOWLY = 10_000, 1
"""Epochs and batch size of a run that runs until it is stopped, however slow the page is that looks on."""


def test_a_person_launches_follows_stops_and_compares_runs(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)

    visit.open("/")
    visit.menu("New run")
    pick_a_workload(visit)
    type_into(visit, "Nodes", 2)
    type_into(visit, "epochs †", FEW)
    meet_a_finding_and_mend_it(visit)
    on_two_nodes = launch(visit, "nodes 2 × cards 2 = 4 cards")
    see_it_end(visit)
    watch_another_one_reload_and_stop_it(visit)
    on_one_node = launch_the_same_on_one_node(visit)
    find_on_the_leaderboard(visit, on_one_node, on_two_nodes)
    compare(visit)
    download(visit, {on_one_node, on_two_nodes})

    assert visit.troubles() == []


def test_a_draft_survives_a_reload_and_shows_in_another_tab(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/configure")
    type_into(visit, "Nodes", 3)
    visit.unfold("Cards, pool and priority")
    type_into(visit, "Dedicated pool", "pool-of-mine")

    visit.reload()
    other = Visit(visit.page.context.new_page(), console)
    other.open("/configure?view=yaml")

    expect(visit.page.get_by_label("Nodes", exact=True)).to_have_value("3")
    expect(visit.page.get_by_label("Dedicated pool", exact=True)).to_have_value("pool-of-mine")
    expect(other.page.get_by_label("Spec as YAML", exact=True)).to_have_value(re.compile("pool_id: pool-of-mine"))
    assert visit.troubles() + other.troubles() == []
    other.page.close()


def test_two_presses_of_the_confirm_button_make_one_run(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/configure?draft=twice")
    type_into(visit, "epochs †", 1)
    type_into_more(visit, "Name", "pressed-twice")
    ask_to_launch(visit)

    visit.keyed("launch-yes").get_by_role("button").dblclick()

    expect(visit.page).to_have_url(re.compile(r"/live\?.*run="))
    visit.open("/runs?q=pressed-twice")
    expect(visit.page.get_by_role("link", name=re.compile("pressed-twice"))).to_have_count(1)


def test_a_run_is_launched_and_found_again_by_keyboard_alone(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/home")

    stops = search(visit, "new run")
    expect(visit.page.get_by_role("heading", level=1, name="New run", exact=True)).to_be_visible()
    visit.rest()
    visit.page.keyboard.press("Control+Shift+Enter")
    expect(visit.keyed("launch-yes").get_by_role("button")).to_be_visible()
    visit.rest()
    stops += press_tab_until(visit, visit.keyed("launch-yes").get_by_role("button"))
    visit.page.keyboard.press("Enter")
    expect(visit.page).to_have_url(re.compile(r"/live\?.*run="))
    run_id = visit.page.url.partition("run=")[2].partition("&")[0]
    visit.menu("Health")
    search(visit, run_id)

    expect(visit.page).to_have_url(re.compile(rf"/live\?.*run={run_id}"))
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    assert stops <= MOST_STOPS
    assert visit.troubles() == []


def search(visit: Visit, text: str) -> int:
    """Open the quick search, type, and follow the first result; how many stops of the Tab key that takes."""
    visit.page.keyboard.press("Control+k")
    expect(visit.page.get_by_label("Search for", exact=True)).to_be_focused()
    visit.page.keyboard.type(text)
    first = visit.page.get_by_role("dialog").get_by_role("link").first
    expect(first).to_contain_text(re.compile(re.escape(text), re.IGNORECASE))
    visit.page.wait_for_timeout(TYPED_MS)
    visit.rest()
    stops = press_tab_until(visit, first)
    visit.page.keyboard.press("Enter")
    return stops


def press_tab_until(visit: Visit, target: Locator) -> int:
    """Go on by Tab until the cursor is there; how often that took."""
    for stops in range(1, 2 * MOST_STOPS):
        visit.page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return stops
    raise AssertionError(f"{target} cannot be reached by Tab")


TYPED_MS = 600
"""After so long without a key the field has sent what was typed: until then the list may be drawn once more."""

MOST_STOPS = 20
"""So often somebody presses Tab at most from Home until a job is launched."""

LINE = ["uploading", "submitting", "queued", "running", "collecting", "completed"]


# --- the stations of the story, in their order --------------------------------------------------------


def pick_a_workload(visit: Visit) -> None:
    """Another workload has another form; the quickstart's is filled and can be launched as it is."""
    choose(visit, "Workload", "mindspore_bert")
    expect(visit.page.get_by_label("train_steps", exact=False).first).to_be_visible()
    choose(visit, "Workload", "quickstart_digits")
    expect(visit.page.get_by_label("epochs †", exact=True)).to_have_value("40")
    expect(visit.page.get_by_label("Cards per node", exact=True)).to_have_value("2")
    expect(visit.keyed("launch")).to_be_visible()


def meet_a_finding_and_mend_it(visit: Visit) -> None:
    """It appears while the wrong thing is typed, without leaving the field, and it goes in the same way."""
    finding = visit.page.get_by_text("both pool 'pool-1' and the public flavor")
    pool, button = visit.page.get_by_label("Dedicated pool", exact=True), visit.keyed("launch").get_by_role("button")
    visit.unfold("Cards, pool and priority")

    pool.press_sequentially("pool-1")
    expect(finding).to_have_count(2)
    expect(button).to_be_disabled()
    visit.picture("finding")
    for _ in "pool-1":
        pool.press("Backspace")

    expect(finding).to_have_count(0)
    expect(button).to_be_enabled()
    visit.publish("configure")


def launch(visit: Visit, size: str) -> str:
    """Press Launch, read what will be sent, confirm; the run's id."""
    ask_to_launch(visit)
    dialog = visit.page.get_by_role("dialog")
    expect(dialog).to_contain_text(size)
    expect(dialog).to_contain_text("quickstart_digits")
    expect(dialog).to_contain_text("Upload:")
    visit.picture("dialog")
    visit.keyed("launch-yes").get_by_role("button").click()
    expect(visit.page).to_have_url(re.compile(r"/live\?.*run="))
    return visit.page.url.partition("run=")[2].partition("&")[0]


def see_it_end(visit: Visit) -> None:
    """The run goes through its states by itself; then there is the whole log of each node."""
    expect_state(visit, "Completed")
    expect(log(visit)).to_have_text(re.compile(r"\[ModelArts Service Log\]\[end\] exit code 0\s*$"))
    assert own(events(visit, "completed"))[1:] == LINE
    choose(visit, "Node", "1")
    expect(log(visit)).to_contain_text(f"rank 2: epoch {FEW}/{FEW}")
    visit.picture("completed")


def watch_another_one_reload_and_stop_it(visit: Visit) -> None:
    """A run without end has a bar for each state and a log that grows; a reload in the middle loses nothing of it."""
    visit.open("/configure?draft=endless")
    for label, value in (("Nodes", 2), ("epochs †", ENDLESS), ("batch_size (samples per card) †", SLOWLY)):
        type_into(visit, label, value)
    run_id = launch(visit, "nodes 2 × cards 2")
    before = a_log_that_grows(visit)
    expect_state(visit, "Running")
    expect(visit.page.get_by_role("progressbar")).to_have_count(1)  # how far the training is
    visit.publish("live", height=1200)

    visit.reload()

    expect(visit.page.get_by_text(run_id).first).to_be_visible()
    expect_state(visit, "Running")
    expect(log(visit)).to_contain_text(re.compile(r"epoch \d+/"))
    assert last_epoch(log(visit).inner_text()) > last_epoch(before)
    stop(visit, run_id)
    assert own(events(visit, "stopped"))[:5] == ["launched: 2 x 2 cards, profile sandbox", *LINE[:4]]
    visit.page.get_by_role("link", name="Show on the leaderboard").click()
    expect(row(visit, "Table of runs", run_id)).to_be_visible()


def a_log_that_grows(visit: Visit) -> str:
    """Wait until the page has shown more of the log by itself; what stood there before."""
    shown = log(visit)
    expect(shown).to_contain_text(re.compile(r"epoch \d+/"), timeout=RUN_MS)
    before = shown.inner_text()
    expect(shown).not_to_have_text(before, use_inner_text=True, timeout=RUN_MS)
    assert last_epoch(shown.inner_text()) > last_epoch(before)
    return before


def stop(visit: Visit, run_id: str) -> None:
    """Stop a run from the list of runs, after a question, and see on its page that it is stopped."""
    visit.menu("Runs")
    visit.picture("runs")
    tick_box(visit, "Runs", run_id).click()
    action_bar(visit).get_by_role("button", name="Stop…").click()
    expect(visit.page.get_by_role("dialog")).to_contain_text(run_id)
    visit.picture("stop")
    visit.page.get_by_role("button", name="Stop run").click()
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    visit.rest()
    row(visit, "Runs", run_id).get_by_role("link").click()
    expect_state(visit, "Stopped")


def launch_the_same_on_one_node(visit: Visit) -> str:
    """A second run that differs in its node count only."""
    visit.open("/configure")
    type_into(visit, "Nodes", 1)
    run_id = launch(visit, "nodes 1 × cards 2 = 2 cards")
    expect_state(visit, "Completed")
    return run_id


def find_on_the_leaderboard(visit: Visit, on_one_node: str, on_two_nodes: str) -> None:
    """From the finished run to its row; marked as a rehearsal."""
    visit.page.get_by_role("link", name="Show on the leaderboard").click()
    expect(visit.page.get_by_role("heading", level=1, name="Leaderboard")).to_be_visible()
    visit.rest()
    for run_id in (on_one_node, on_two_nodes):
        expect(row(visit, "Table of runs", run_id)).to_be_visible()
    expect(visit.page.get_by_text("Rehearsal – not a measurement.")).to_be_visible()
    visit.page.get_by_label("Rows", exact=True).click()
    visit.page.get_by_role("option", name="Configurations").click()
    expect(grid(visit, "Leaderboard table")).to_be_visible()
    visit.rest()
    assert {"1 × 2", "2 × 2"} <= set(column(visit, "Leaderboard table", "size"))
    visit.page.get_by_text("Chart", exact=True).click()
    expect(chart(visit)).to_be_visible()
    visit.rest()
    visit.picture("leaderboard-of-runs")


def compare(visit: Visit) -> None:
    """Tick both rows: the verdict first, then metrics and what differs; how they scale is folded."""
    faster, slower = column(visit, "Leaderboard table", "size")[:2]
    for box in grid(visit, "Leaderboard table").locator("tbody").get_by_role("checkbox").all()[:2]:
        box.check()
        visit.rest()
    action_bar(visit).get_by_role("link", name="Compare").click()
    expect(visit.page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    expect(visit.page.get_by_text("Scaling over nodes")).to_be_visible()
    visit.rest()
    headings = [each.inner_text() for each in visit.page.get_by_role("heading", level=2).all()]
    assert headings == [f"Too few runs to tell {slower} from {faster}", "Differences", "All valid runs"]
    expect(visit.page.get_by_role("button", name="Comparable per node")).to_be_visible()
    differing = visit.page.get_by_role("table", name="Differences")
    expect(differing).to_contain_text("Nodes")
    for field in ("Workload", "Model", "Flavor"):
        expect(differing).not_to_contain_text(field)
    for name in ("1 × 2", "2 × 2"):  # they are named by what differs
        expect(visit.page.get_by_role("table", name="Metrics")).to_contain_text(name)
    visit.page.get_by_text("Scaling over nodes").click()
    expect(chart(visit).filter(visible=True)).to_have_count(2)
    visit.picture("compare-nodes")


def download(visit: Visit, run_ids: set[str]) -> None:
    """The CSV holds both runs under the schema's header, and its name says where they ran."""
    visit.menu("Leaderboard")
    visit.page.get_by_role("button", name="Export").click()
    table = visit.download(visit.page.get_by_role("button", name="Download aisbench-runs-"))
    assert re.fullmatch(r"aisbench-runs-.+-\d{8}\.csv", table.suggested_filename)
    with table.path().open(encoding="utf-8-sig", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == list(RUNS.names)
    assert run_ids <= {row[header.index("run_id")] for row in rows}
    report = visit.download(visit.page.get_by_role("button", name="Download the report"))
    page = report.path().read_text("utf-8")
    assert report.suggested_filename.startswith("aisbench-report-")
    assert all(run_id in page for run_id in run_ids)


# --- what hands and eyes do ---------------------------------------------------------------------------


def type_into(visit: Visit, label: str, text: str | int) -> None:
    field = visit.page.get_by_label(label, exact=True)
    field.fill(str(text))
    field.press("Enter")
    visit.rest()


def type_into_more(visit: Visit, label: str, text: str) -> None:
    """The same for a field that is folded away."""
    visit.unfold("Name and description")
    type_into(visit, label, text)


def choose(visit: Visit, label: str, option: str) -> None:
    visit.pick(visit.page.get_by_label(label, exact=True), re.compile(re.escape(option)))


def ask_to_launch(visit: Visit) -> None:
    visit.keyed("launch").get_by_role("button").click()
    expect(visit.keyed("launch-yes")).to_be_visible()
    visit.rest()


def expect_state(visit: Visit, state: str) -> None:
    expect(visit.page.locator(".stMarkdownBadge").filter(has_text=state).first).to_be_visible(timeout=RUN_MS)
    visit.rest()


def log(visit: Visit) -> Locator:
    return visit.page.get_by_role("log", name="Log", exact=True)


def last_epoch(log: str) -> int:
    """The highest epoch that a log speaks of."""
    return max(int(number) for number in re.findall(r"epoch (\d+)/", log))


def events(visit: Visit, last: str) -> list[str]:
    """What happened to the run that is shown, once the last thing happened."""
    visit.page.get_by_text("Timeline", exact=True).click()
    expect(visit.table("Timeline")).to_contain_text(last)
    return visit.column("Timeline", "Event")


def own(said: list[str]) -> list[str]:
    """The launch and the states of the run, without what the platform said in between."""
    return [event for event in said if event in LINE or event.startswith("launched: ")]


def chart(visit: Visit) -> Locator:
    return visit.page.get_by_test_id("stVegaLiteChart")
