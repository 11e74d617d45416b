"""Scaling: curves against ideal, what more nodes would bring, what does not count, and all of it in the URL."""

from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from pages._ui.scaling.results import count_decimals
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.test_results import table

LEGEND = '"orient": "bottom"'


def lawful(nodes: int, serial: float = 0.02) -> list[float]:
    """Three runs on so many nodes, close to the law."""
    return [8000 * (1 + beside) / (serial + (1 - serial) / nodes) for beside in (-0.002, 0.0, 0.002)]


@pytest.fixture
def warehouse(data_dir: Path) -> Warehouse:
    """One version on 1 to 8 nodes, another on two, runs of single servers, and one that is not valid."""
    found = Warehouse(data_dir / "warehouse.duckdb")
    found.rebuild(
        [
            *(each for n in (1, 2, 4, 8) for each in a.records(lawful(n), f"old{n}", node_count=n)),
            *a.records([8_400], "new", framework_version="r1.11"),
            *a.records([15_000], "new2", framework_version="r1.11", node_count=2),
            a.record("alone", mode="single_server"),
            a.record("bad", accuracy=7.0, node_count=4),
        ]
    )
    return found


def test_the_serial_share_and_what_more_nodes_would_bring_are_said_with_their_intervals(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    assert warehouse.revision()

    app = open_page("scaling")

    said = texts(app)
    assert "Serial share 2.00 % (95 % interval: 1.95–2.05 %)" in said
    assert "Node count 16: about **12." in said
    assert "extrapolated" in said
    numbers = table(app).set_index("Nodes")
    assert list(numbers.index) == [1, 2, 4, 8]
    assert numbers.loc[8, "Ideal"] == 8
    assert numbers.loc[8, "Efficiency (%)"] == 87.7
    assert numbers.loc[1, "95 % from (samples/s)"] < 8000 < numbers.loc[1, "95 % to (samples/s)"]
    foretold = table(app, 1).set_index("Nodes")
    assert list(foretold.index) == [16, 32, 64]
    assert set(foretold["Basis"]) == {"extrapolated"}
    assert "Runs left out: 1" in app.expander[0].label
    assert len(app.get("vega_lite_chart")) == 3


def test_runs_of_which_something_decisive_is_not_known_are_named_and_not_drawn(
    open_page: OpenPage, data_dir: Path
) -> None:
    tagged = [a.record(f"on-{n}", node_count=n, image_url="org/image:latest") for n in (1, 2)]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(tagged)

    app = open_page("scaling")

    assert not app.get("vega_lite_chart")
    assert not app.info
    assert "Runs left out: 2" in app.expander[0].label
    assert set(table(app)["Reason"]) == {"Mixed or unknown"}


def test_several_versions_lie_over_each_other_and_stay_in_the_address(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    assert warehouse.revision()
    app = open_page("scaling")

    every = warehouse.scaling.find_curve("old1-0").query.id, warehouse.scaling.find_curve("new-0").query.id
    app.multiselect(key="curve").set_value(list(every)).run()
    app.text_input(key="at").set_value("12").run()

    assert len(app.query_params["curve"]) == 2
    assert app.query_params["at"] in ("12", ["12"])
    assert set(table(app)["Version and hardware"]) == {
        "r1.10 · kat1.8xlarge · 8-card nodes",
        "r1.11 · kat1.8xlarge · 8-card nodes",
    }
    assert "A serial share needs three node counts" in texts(app)
    assert 12 in set(table(app, 1)["Nodes"])


def test_a_run_leads_to_its_own_curve(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("scaling", run="new-0")

    assert list(table(app)["Nodes"]) == [1, 2]
    assert "run" not in app.query_params


def test_of_several_runs_the_first_one_on_a_curve_leads_to_it(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("scaling", run=["nobody", "alone", "new-0"])

    assert list(table(app)["Nodes"]) == [1, 2]
    assert "is on no curve" not in texts(app)
    assert "run" not in app.query_params


@pytest.mark.parametrize(
    ("low", "high", "decimals"),
    [(0.0881, 1.11, 1), (13.7, 15.8, 1), (90.4, 1130, 0), (1.95, 2.05, 2), (2, 2, 2), (5, None, 2)],
)
def test_a_number_has_the_digits_that_its_interval_makes_sure(low: float, high: float | None, decimals: int) -> None:
    assert count_decimals(low, high) == decimals


def test_one_chart_names_the_curves_and_the_axis_has_a_tick_at_the_predicted_size(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    curves = [warehouse.scaling.find_curve(run_id).query.id for run_id in ("old1-0", "new-0")]

    app = open_page("scaling", at="12", curve=curves)

    specs = [each.proto.spec for each in app.get("vega_lite_chart")]
    assert [LEGEND in spec for spec in specs] == [True, False, False]
    assert all('"values": [1, 2, 4, 8, 12]' in spec for spec in specs)
    only = open_page("scaling", curve=curves[:1]).get("vega_lite_chart")
    assert not any(LEGEND in each.proto.spec for each in only), "its name stands above"


@pytest.mark.parametrize(
    ("run", "said"), [("alone", "is on no curve"), ("nobody", "Run nobody is not in the warehouse")]
)
def test_a_run_without_a_curve_is_a_sentence(open_page: OpenPage, warehouse: Warehouse, run: str, said: str) -> None:
    assert warehouse.revision()

    app = open_page("scaling", run=run, question="nothing", at="inf")

    assert not app.exception
    assert said in texts(app)


def test_a_filter_without_runs_in_cluster_mode_says_so(open_page: OpenPage, data_dir: Path) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild([a.record("alone", mode="single_server")])

    app = open_page("scaling")

    assert "Single servers do not work together" in texts(app)


def test_of_one_curve_the_numbers_stand_without_its_name_and_what_lies_beside_the_law_is_in_view(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    assert warehouse.revision()

    app = open_page("scaling")

    numbers = next(each.value for each in app.dataframe if "Deviation from the law (%)" in each.value)
    assert list(numbers.columns)[:6] == [
        "Nodes",
        "Runs counted",
        "Median (samples/s)",
        "Speed-up",
        "Efficiency (%)",
        "Deviation from the law (%)",
    ]


def test_a_curve_of_imported_results_is_called_so(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    for nodes in (1, 2):
        warehouse.record(a.imported(f"imported-{nodes}", node_count=nodes, cards_heard=True))

    app = open_page("scaling", region=app_region(warehouse))

    assert "node counts: 2 · claimed runs: 2 · imported, unverified" in app.selectbox(key="question").options[0]
    assert "imported, unverified" in app.multiselect(key="curve").options[0]
    assert "*mixed or unknown\\: parameters, data*" in texts(app)


def app_region(warehouse: Warehouse) -> str:
    """The first region as the address names it."""
    return warehouse.facets.list_regions()[0].region


def test_the_newest_version_of_each_flavor_is_drawn_unless_it_was_hardly_measured(
    open_page: OpenPage, data_dir: Path
) -> None:
    counts = {"r1.9": (1, 2, 4, 8), "r1.10": (1, 2, 4), "r1.11": (1, 2)}
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        [
            record
            for flavor in ("kat1", "kat2")
            for version, nodes in counts.items()
            for n in nodes
            for record in a.records(
                lawful(n), f"{flavor}-{version}-{n}", node_count=n, framework_version=version, flavor=flavor
            )
        ]
    )

    app = open_page("scaling")

    said = [alert.value.split(" – ")[0] for alert in app.info]
    assert sorted(said) == ["**r1.10 · kat1 · 8-card nodes**", "**r1.10 · kat2 · 8-card nodes**"]


def test_a_single_node_count_is_no_curve_and_the_page_says_what_is_missing(open_page: OpenPage, data_dir: Path) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(a.records(lawful(2), node_count=2))

    app = open_page("scaling")

    assert "measured on one node count only" in app.info[0].value
    assert not app.get("vega_lite_chart")
    assert list(table(app)["Nodes"]) == [2]
