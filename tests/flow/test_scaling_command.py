"""`aisbench scaling`: growth over nodes as a person and as a program reads it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from aisbench_core.model import Better, Combined, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["scaling", *words], env={"AISBENCH_DATA_DIR": str(data_dir)})


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two runs on each of 1, 2, 4 and 8 nodes, all as Amdahl's law has it at 2 %; one that is not valid, one alone."""
    totals = {n: 8000 / (0.02 + 0.98 / n) for n in (1, 2, 4, 8)}
    curve = [
        each for n, total in totals.items() for each in a.records([total * 0.999, total * 1.001], f"n{n}", node_count=n)
    ]
    bad, alone = a.record("bad", accuracy=7.0, node_count=4), a.record("alone", mode="single_server")
    Warehouse(tmp_path / "warehouse.duckdb").rebuild([*curve, bad, alone])
    return tmp_path


def test_the_curve_the_law_and_the_prediction_are_printed(data_dir: Path) -> None:
    result = type_in(data_dir, "n1-0")

    assert result.exit_code == 0, result.output
    assert "serial share 2 %, 95 %" in result.stdout
    assert "at 16 nodes 12.2" in result.stdout
    assert "extrapolated" in result.stdout
    assert "left out, invalid: 1 run on nodes: 4" in result.stdout


def test_of_claimed_results_it_says_what_nobody_knows(data_dir: Path) -> None:
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    warehouse.record_many([a.imported(f"imported-{nodes}", node_count=nodes, cards_heard=True) for nodes in (1, 2)])

    claimed, measured = type_in(data_dir, "imported-1"), type_in(data_dir, "n1-0")

    assert "mixed or unknown: parameters, data" in claimed.stdout
    assert "mixed or unknown" not in measured.stdout


def test_a_program_gets_every_number(data_dir: Path) -> None:
    answer = json.loads(type_in(data_dir, "n8-1", "--at", "6", "--at", "32", "--json").stdout)

    assert [point["node_count"] for point in answer["scaling"]["points"]] == [1, 2, 4, 8]
    assert answer["scaling"]["fit"]["serial"]["value"] == pytest.approx(0.02, abs=1e-6)
    assert [(each["node_count"], each["extrapolated"]) for each in answer["predicted"]] == [(6, False), (32, True)]
    assert answer["predicted"][1]["speed_up"]["value"] == pytest.approx(19.753, abs=1e-3)


def test_single_servers_do_not_scale_and_an_unknown_run_is_said_so(data_dir: Path) -> None:
    alone, nobody = type_in(data_dir, "alone"), type_in(data_dir, "nobody")

    assert alone.exit_code == 0
    assert "single servers do not scale" in alone.stdout
    assert nobody.exit_code == 2
    assert "nobody" in nobody.stderr


def test_without_a_run_the_curves_are_listed_with_a_run_of_each_and_filters_leave_one(data_dir: Path) -> None:
    newer = a.records([9000, 9100], "newer", framework_version="r1.11")
    Warehouse(data_dir / "warehouse.duckdb").record_many([*newer, a.record("tried", region="lab", rehearsal=True)])

    listed, one = type_in(data_dir, "--region", "cn-north-9"), type_in(data_dir, "--framework-version", "r1.10")
    choices = json.loads(type_in(data_dir, "--region", "cn-north-9", "--json").stdout)["choices"]

    assert listed.exit_code == one.exit_code == 0, listed.output
    assert "r1.10    modelarts.kat1.8xlarge · 8 cards  1, 2, 4, 8     8" in listed.stdout
    assert "cn-north-9: 2 curves; measurements" in listed.stderr
    assert "aisbench scaling RUN" in listed.stderr
    assert [each["node_counts"] for each in choices] == [[1, 2, 4, 8], [1]]
    assert all(type_in(data_dir, each["run_id"]).exit_code == 0 for each in choices)
    assert one.stdout == type_in(data_dir, "n1-0").stdout


def test_where_nothing_fits_other_regions_are_named_and_a_run_needs_no_filters(data_dir: Path) -> None:
    none, both = type_in(data_dir, "--region", "nowhere"), type_in(data_dir, "n1-0", "--region", "cn-north-9")

    assert none.exit_code == 0
    assert "nowhere: 0 curves" in none.stderr
    assert "cn-north-9 (10 runs)" in none.stderr
    assert both.exit_code == 2
    assert "RUN selects a curve" in both.stderr


def with_rate(record: RunRecord, rate: float) -> RunRecord:
    metric = RunMetric("tokens_per_s", rate, "tokens/s", Better.HIGHER, Combined.SUM)
    return replace(record, metrics=(metric,))


def test_a_metric_stands_in_place_of_the_throughput_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    Warehouse(tmp_path / "warehouse.duckdb").rebuild(
        with_rate(a.record(f"n{nodes}", node_count=nodes), rate)
        for nodes, rate in ((1, 1000.0), (2, 1900.0), (4, 3400.0))
    )

    for curve in (type_in(tmp_path, "--metric", "tokens_per_s"), type_in(tmp_path, "n2", "--metric", "tokens_per_s")):
        assert curve.exit_code == 0, curve.output
        assert "3,400 tokens/s" in curve.stdout
        assert "85 %" in curve.stdout
    for unknown in (type_in(tmp_path, "--metric", "mfu"), type_in(tmp_path, "n2", "--metric", "mfu")):
        assert (unknown.exit_code, unknown.stdout) == (2, "")
        assert "no run of cn-north-9 has it; known: throughput, tokens_per_s (found mfu)" in unknown.stderr
