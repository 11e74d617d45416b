"""Cards by node: stragglers are marked and listed on a run's page and on Compare, and many cards stay small."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.test_results import table

MOST_BYTES = 150_000
"""What one rerun may send of a map."""


def sent(app: AppTest) -> list[bytes]:
    """What goes to the browser for each chart, data included."""
    return [chart.proto.SerializeToString() for chart in app.get("vega_lite_chart")]


@pytest.fixture
def warehouse(data_dir: Path) -> Warehouse:
    """Three nodes with a slow card, 10,000 cards of which 11 are slow, and a run of one version more."""
    found = Warehouse(data_dir / "warehouse.duckdb")
    few, many = (list(np.random.default_rng(1).normal(1000, 3, count)) for count in (24, 10_000))
    few[13] = 900.0
    many[::997] = [880.0] * len(many[::997])
    found.rebuild(
        [
            a.record("few", node_count=3, throughputs=few),
            a.record("many", node_count=1250, throughputs=many),
            a.record("even", node_count=3, framework_version="r1.11"),
        ]
    )
    return found


def test_a_slow_card_is_marked_in_the_map_and_listed_with_its_number(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("live", run="few")

    assert "Cards: 24, nodes: 3; median" in texts(app)
    assert "**Stragglers: 1** (below 95 % of the median, 9" in texts(app)
    assert "▼ 900".encode() in sent(app)[0]
    (slow,) = table(app).to_dict("records")
    assert (slow["Node"], slow["Card"], slow["Rank"], slow["Throughput per card (samples/s)"]) == (1, 5, 13, 900)
    assert slow["Share of the median card (%)"] == pytest.approx(90, abs=0.2)


def test_ten_thousand_cards_stay_small_and_name_every_straggler(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("live", run="many")

    assert len(sent(app)[0]) < MOST_BYTES
    assert len([cell for cell in drawn(app) if cell["m"]]) == 11
    assert list(table(app)["Rank"]) == list(range(0, 10_000, 997))
    assert "each cell is a node" in texts(app)


def test_compare_shows_how_far_cards_lie_apart_and_the_map_that_is_chosen(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    assert warehouse.revision()

    app = open_page("compare", ids=["few", "many", "even"], map="many")

    spreads = next(each.value for each in app.dataframe if "Median card" in each.value).set_index("Run")
    assert list(spreads["Stragglers"]) == [1, 11, 0]
    assert spreads.loc["even", "Median card"] == 1000
    assert "Cards: 10000, nodes: 1250" in texts(app)
    assert sum(map(len, sent(app))) < MOST_BYTES
