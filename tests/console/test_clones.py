"""Drafts that are made of runs: what they change against the original stands on the page while one edits."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OpenPage, texts
from tests.console.grids import Grid

RUN, OLD = "r20260301-080000-digits", "i-0123456789abcdef"


def clone_of(run_id: str) -> str:
    """The key of this browser's first draft of a run."""
    return f"from-{run_id}.{BROWSER_KEY[:8]}"


CLONE = clone_of(RUN)


@pytest.fixture
def digits(data_dir: Path) -> Path:
    """A console with a run of quickstart_digits, and an imported result of it."""
    workloads = Workloads(HOME / "workloads")
    asked = {"framework_version": "", "engine_name": "", "engine_version": "", "parameters": {}}
    spec = workloads.get("quickstart_digits").fill_spec(a.spec(workload="quickstart_digits", **asked))
    Ledger(data_dir / "ledger.sqlite3").add(a.run(RUN, spec, profile="sandbox", state=RunState.COMPLETED))
    record = a.imported(OLD, stated=("workload", "node_count"), workload="quickstart_digits")
    Warehouse(data_dir / "warehouse.duckdb").record(record)
    return data_dir


def changes(app: AppTest) -> dict[str, tuple[str, str]]:
    """What the page says is different, by field."""
    frames = [frame.value for frame in app.dataframe if "Original" in frame.value]
    return {str(row.iloc[0]): (str(row.iloc[1]), str(row.iloc[2])) for frame in frames for _, row in frame.iterrows()}


def test_a_clone_shows_what_is_changed_while_one_edits(open_page: OpenPage, digits: Path) -> None:
    app = open_page("live", run=RUN)
    app.button(key="clone-one").click().run()
    assert app.title[0].value == "New run"
    assert "Same as the original." in texts(app)
    app = open_page("configure", draft=CLONE, profile="sandbox")

    app.text_input(key="spec.node_count").set_value("3").run()

    assert changes(app) == {"Nodes": ("1", "3")}
    assert "**Fields changed from the original: 1**" in texts(app)
    app.button(key="reset").click().run()
    assert "Same as the original." in texts(app)
    stored = Ledger(digits / "ledger.sqlite3").draft(CLONE)
    assert stored
    assert from_yaml(stored).node_count == 1


def test_a_second_clone_leaves_a_changed_one_alone(open_page: OpenPage, digits: Path) -> None:
    ledger = Ledger(digits / "ledger.sqlite3")
    ledger.save_draft(CLONE, "workload: mine\n", a.T0)

    app = open_page("live", run=RUN)
    app.button(key="clone-one").click().run()

    assert ledger.draft(CLONE) == "workload: mine\n"
    assert app.query_params["draft"] in (f"{CLONE}-2", [f"{CLONE}-2"])
    assert f"Draft of run {RUN}" in [link.label for link in app.page_link]


def test_a_clone_of_an_imported_result_says_what_is_not_known(open_page: OpenPage, digits: Path) -> None:
    assert digits.exists()
    app = open_page("live", run=OLD)

    app.button(key="clone-one").click().run()

    assert not app.exception
    assert changes(app) == {"Profile": ("beijing", "sandbox")}
    assert any("Unknown in the original" in each.label for each in app.expander)
    assert "does not contain these: Framework version, Parameters" in texts(app)


def test_compare_and_the_leaderboard_lead_to_drafts_too(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("compare", ids=["run-n1-0", "run-n2-0"])
    app.button(key="clone-run-n2-0").click().run()
    assert app.query_params["draft"] in (clone_of("run-n2-0"), [clone_of("run-n2-0")])

    app = open_page("leaderboard", show="runs")
    app = Grid(app).tick(Grid(app).ids[0])

    app.button(key="clone-ticked").click().run()

    assert app.title[0].value == "New run"


def test_a_draft_of_a_run_that_is_gone_can_still_be_edited(open_page: OpenPage, digits: Path) -> None:
    Ledger(digits / "ledger.sqlite3").save_draft("from-gone", "workload: quickstart_digits\n", a.T0)

    app = open_page("configure", draft="from-gone", lang="zh")

    assert "没有运行 'gone'" in texts(app)
    assert app.text_input(key="spec.node_count").value == "1"
