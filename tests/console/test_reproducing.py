"""Reproduce on a page of a run: what is the same is shown before a launch, and afterwards what came out."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Launched, RunState
from aisbench_core.running.run_files import read_facts
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts

RUN = "r20260301-080000-digits"


@pytest.fixture
def digits(data_dir: Path) -> Path:
    """A console with a run of quickstart_digits that was not recorded."""
    asked = {"framework_version": "", "engine_name": "", "engine_version": "", "parameters": {}, "cards_per_node": 2}
    spec = a.spec(workload="quickstart_digits", flavor="sandbox.cpu.2cards", **asked)
    filled = Workloads(HOME / "workloads").get("quickstart_digits").fill_spec(spec)
    Ledger(data_dir / "ledger.sqlite3").add(a.run(RUN, filled, profile="sandbox", state=RunState.COMPLETED))
    return data_dir


def aspects(app: AppTest) -> dict[str, str]:
    """The verdict on each aspect."""
    (frame,) = [frame.value for frame in app.dataframe if "Then" in frame.value or "当时" in frame.value]
    return {str(row.iloc[1]): str(row.iloc[0]) for _, row in frame.iterrows()}


def test_what_is_the_same_is_shown_before_the_launch(open_page: OpenPage, digits: Path) -> None:
    app = open_page("live", run=RUN)

    app.button(key="reproduce").click().run()

    found = aspects(app)
    assert found["Code (SHA-256)"] == "≠ different"
    assert found["Nodes"] == "= same"
    assert found["Manifest (SHA-256)"] == "? unknown"
    assert next(iter(found)) == "Code (SHA-256)"
    assert "**Not identical.**" in texts(app)
    ledger = Ledger(digits / "ledger.sqlite3")
    app.button(key="reproduce-yes").click().run()
    (new,) = [run for run in ledger.page() if run.run_id != RUN]
    facts = read_facts(RunFolder(digits / "runs" / new.run_id).launch)
    assert facts.launched is not None
    assert facts.launched.reproduces == RUN
    assert f"Reproduces {RUN}" in [link.label for link in open_page("live", run=new.run_id).page_link]


def test_all_of_it_is_in_chinese(open_page: OpenPage, digits: Path) -> None:
    assert digits.exists()
    app = open_page("live", run=RUN, lang="zh")

    app.button(key="reproduce").click().run()

    assert "不完全一致" in texts(app)
    assert aspects(app)["清单（SHA-256）"] == "? 未知"
    (frame,) = [frame.value for frame in app.dataframe if "当时" in frame.value]
    assert "当时没有记录" in [*frame["说明"]]


def test_a_result_is_compared_with_the_originals_group(open_page: OpenPage, used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    for run_id, original, cards in (("again", "run-n1-1", 1005.0), ("slow", "run-n1-1", 700.0), ("lost", "gone", 1.0)):
        record = replace(a.record(run_id, throughputs=[cards] * 8), launched=Launched("m", original))
        warehouse.record(record)

    assert "**within** the range expected from 3 runs" in texts(open_page("live", run="again"))
    assert "**outside** the range expected from 3 runs" in texts(open_page("live", run="slow"))
    assert "Reproduces gone, which is not in the warehouse" in texts(open_page("live", run="lost"))


def test_results_that_are_not_comparable_get_no_ratio(open_page: OpenPage, used: Path) -> None:
    elsewhere = a.record("elsewhere", region="cn-south-1")
    Warehouse(used / "warehouse.duckdb").record(replace(elsewhere, launched=Launched("m", "run-n1-1")))

    app = open_page("live", run="elsewhere")

    assert "cannot be compared with the original's: Region" in texts(app)
