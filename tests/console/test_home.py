"""Home: first steps on an empty console; later what runs, what failed, what changed, and what the week took."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OpenPage, texts
from tests.console.grids import Grid
from tests.console.test_history import BAD, GOOD, version

NOW = datetime.now(UTC)


def links(app: AppTest) -> dict[str, str]:
    """The links to other pages, with their tooltips."""
    return {link.proto.label: link.proto.help for link in app.get("page_link")}


def recorded(data_dir: Path, *runs: RunRecord) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(runs)


def renamed(record: RunRecord, number: int) -> RunRecord:
    """The same run under another id."""
    return replace(record, run=replace(record.run, run_id=f"{record.run.run_id}-{number}"))


def test_an_empty_console_shows_a_picture_of_what_will_be_there_and_one_way_to_begin(open_page: OpenPage) -> None:
    app = open_page("home")

    [picture] = [each.proto.body for each in app.get("html") if "An example" in each.proto.body]
    assert "data:image/svg+xml" in picture
    assert [button.label for button in app.button if button.proto.type == "primary"] == []
    assert [link.proto.label for link in app.main.get("page_link")] == ["New run", "Import earlier results"]
    assert [header.value for header in app.header] == []


def test_a_regression_is_one_line_with_the_sentence_on_its_interval_and_runs(
    open_page: OpenPage, data_dir: Path
) -> None:
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", BAD, 1))

    app = open_page("home")

    assert ":red[−6.3 % on 1 node]" in texts(app)
    [sentence] = [text for label, text in links(app).items() if "r1.11 vs r1.10" in label]
    assert "**r1.11 is 6.3 % slower than r1.10** (95 % interval: 5.6–6.9 %; 3 and 6 runs)" in sentence


def test_configurations_that_changed_together_are_one_line_that_can_be_compared(
    open_page: OpenPage, data_dir: Path
) -> None:
    slower = [version("r1.11", BAD, 1, node_count=nodes) for nodes in (1, 2, 4)]
    before = [version("r1.10", GOOD, 0, node_count=nodes) for nodes in (1, 2, 4)]
    recorded(
        data_dir,
        *(renamed(each, nodes) for some in (before, slower) for nodes, runs in enumerate(some) for each in runs),
    )

    app = open_page("home")

    assert ":red[−6.3 % on 1, 2, 4 nodes]" in texts(app)
    assert len([label for label in links(app) if "r1.11 vs r1.10" in label]) == 1
    [compared] = [
        dict(parse_qsl(link.proto.query_string)) for link in app.page_link if "ids=" in link.proto.query_string
    ]
    assert compared["by"] == "rows"


def test_all_configurations_of_a_verdict_are_one_click_away(open_page: OpenPage, data_dir: Path) -> None:
    fine = a.records([8000.0], "alone", flavor="f2")
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *fine)

    app = open_page("home")
    link = next(link for link in app.page_link if link.label == "Regression (1)")
    history = open_page("history", **dict(parse_qsl(link.proto.query_string)))

    assert Grid(history).column("outcome") == ["Regression"]


def test_a_record_leads_to_its_run(open_page: OpenPage, data_dir: Path) -> None:
    fast = a.record("fast", throughputs=[1100.0] * 8)
    newest = replace(fast.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    recorded(data_dir, *a.records([8000.0, 8200.0], "old"), replace(fast, run=newest))

    app = open_page("home")

    [record] = [link for link in app.page_link if link.label.startswith("Record:")]
    assert record.label.endswith("1 × 8, 8,800 samples/s (+7.32 %)")
    assert "Previous record: 8,200 samples/s." in record.proto.help
    assert dict(parse_qsl(record.proto.query_string))["run"] == "fast"


def test_an_improvement_is_said_in_chinese_too(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *version("r1.10", BAD, 0), *version("r1.11", GOOD, 1))

    app = open_page("home", lang="zh")

    assert ":green[+6.7 % （1 个节点）]" in texts(app)
    assert [text for text in links(app).values() if "**r1.11 比 r1.10 快 6.7 %**" in text]


def test_without_a_change_the_page_says_so(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", GOOD, 1))

    assert "No benchmark changed." in texts(open_page("home"))


def test_missing_runs_are_one_click_away_as_a_series(open_page: OpenPage, data_dir: Path) -> None:
    newest = version("r1.11", (8000.0,), 1)
    recorded(data_dir, *version("r1.10", GOOD, 0), *newest)
    app = open_page("home")
    assert "more run needed" not in texts(app)

    [button] = [button for button in app.button if button.label == "Launch 1 more…"]
    button.click().run()

    draft = f"from-{newest[0].run.run_id}.{BROWSER_KEY[:8]}"
    assert app.title[0].value == "Series"
    assert (app.query_params["draft"], app.query_params["repeats"]) == (draft, "1")
    assert app.text_input(key="repeats").value == "1"
    stored = Ledger(data_dir / "ledger.sqlite3").draft(draft)
    assert stored
    assert from_yaml(stored).framework_version == "r1.11"


def test_more_runs_of_imported_results_are_imported_not_launched(open_page: OpenPage, data_dir: Path) -> None:
    """A launched run never joins a row of imported ones."""
    origin = a.imported().imported
    launched = [*version("r1.10", GOOD, 0), *version("r1.11", (8000.0,), 1)]
    recorded(data_dir, *(a.all_known(replace(each, imported=origin)) for each in launched))

    app = open_page("home")

    assert "1 more run needed" in texts(app)
    assert not [button for button in app.button if "Launch" in button.label]
    assert "Import more results" in links(app)


def test_the_cause_of_a_failed_run_stands_in_lists_where_it_is_known(open_page: OpenPage, data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    ledger.add(
        a.run(
            "r-failed",
            state=RunState.FAILED,
            final_state=RunState.FAILED,
            ended_at=NOW,
            detail="rank 0 exited with code 1",
        )
    )
    folder = RunFolder(data_dir / "runs" / "r-failed")
    folder.logs.mkdir(parents=True)
    folder.log(0).write_text("[rank0]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0)\n", "utf-8")
    recorded(data_dir, a.record())

    home, runs = texts(open_page("home")), texts(open_page("runs"))

    for page in (home, runs):
        assert "Card out of memory" in page
        assert "exited with code" not in page


def test_what_failed_since_yesterday_and_what_runs_comes_first(open_page: OpenPage, data_dir: Path) -> None:
    ledger, now = Ledger(data_dir / "ledger.sqlite3"), datetime.now(UTC)
    ledger.add(a.run("r-active", state=RunState.RUNNING, ended_at=None, duration_s=None))
    ledger.add(a.run("r-failed", state=RunState.FAILED, ended_at=now, detail="no node is free"))
    ledger.add(a.run("r-long-ago", state=RunState.FAILED, ended_at=now - timedelta(days=3), detail="other"))
    recorded(data_dir, a.record())

    app = open_page("home")

    assert [header.value for header in app.header] == ["Now", "Changes"]
    assert ":red[no node is free]" in texts(app)
    runs = [link.proto.help for link in app.get("page_link") if link.proto.help.startswith("r-")]
    assert runs == ["r-failed", "r-active"]
    assert [button.label for button in app.button if str(button.key).startswith("stop-")] == ["Stop…"]
    assert "just now" in texts(app)
    logs = [link.proto.query_string for link in app.get("page_link") if link.proto.label == "Log"]
    assert [query.split("&lang")[0] for query in logs] == ["run=r-failed&log_level=error", "run=r-active"]


def test_a_failed_run_is_tried_again_with_what_corrects_it(open_page: OpenPage, data_dir: Path) -> None:
    """A card out of memory: half the batch."""
    spec = a.run("r-failed").spec.model_copy(update={"parameters": {"batch_size": 64}})
    failed = a.run("r-failed", state=RunState.FAILED, final_state=RunState.FAILED, ended_at=NOW, spec=spec)
    Ledger(data_dir / "ledger.sqlite3").add(failed)
    folder = RunFolder(data_dir / "runs" / "r-failed")
    folder.logs.mkdir(parents=True)
    folder.log(0).write_text("[rank0]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0)\n", "utf-8")
    app = open_page("home")

    [log] = [link.proto.query_string for link in app.get("page_link") if link.proto.label == "Log"]
    assert log.startswith("run=r-failed&node=0&offset=0&"), "at the line that says why"
    button = app.button(key="retry-r-failed")
    assert button.label.replace("\\", "") == "Retry with batch_size 32"
    button.click().run()

    assert app.title[0].value == "New run"
    assert app.query_params["draft"] == f"from-r-failed.{BROWSER_KEY[:8]}"
    stored = Ledger(data_dir / "ledger.sqlite3").draft(app.query_params["draft"])
    assert stored
    assert from_yaml(stored).parameters["batch_size"] == 32


def test_the_last_days_are_one_line(open_page: OpenPage, data_dir: Path) -> None:
    fast = a.record("fast", throughputs=[1100.0] * 8)
    newest = replace(fast.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    recorded(data_dir, *a.records([8000.0, 8200.0], "old"), replace(fast, run=newest))

    assert "**Last 7 days** :gray[1 runs · 0.5 node hours]" in texts(open_page("home"))


def test_nothing_is_said_of_days_on_which_nothing_ran(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *a.records([8000.0, 8200.0], "old"))

    assert "Last 7 days" not in texts(open_page("home"))


def test_node_hours_cost_what_they_did_at_the_launch_and_rehearsals_nothing(
    open_page: OpenPage, data_dir: Path
) -> None:
    one = a.record("one")
    ended = replace(one.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    newest = replace(ended, price_per_node_hour=100.0, currency="EUR")
    pretended = replace(ended, run_id="two")
    recorded(data_dir, replace(one, run=newest), replace(one, run=pretended, rehearsal=True))

    real, rehearsals = (open_page("home", region=region) for region in ("cn-north-9", "cn-north-9~rehearsal"))

    assert "0.5 node hours · 50.00 EUR" in texts(real)
    assert "EUR" not in texts(rehearsals)
    assert "Rehearsal" in texts(rehearsals)


def test_a_region_that_does_not_exist_is_named_and_another_is_shown(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, a.record())

    app = open_page("home", region="gone")

    assert "Region: gone" in texts(app)
    assert "Changes" in texts(app)
