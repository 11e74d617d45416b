"""`aisbench leaderboard` and `compare`: what a person reads of each row, and where to look when there is none."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

SPEED = {"epoch_size": 90, "batch_size": 512}


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, words, env={"AISBENCH_DATA_DIR": str(data_dir)})


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Three runs, one of another batch size, and a rehearsal elsewhere."""
    made = [
        *a.records([7900, 8000, 8100]),
        *a.records([9000], "large", speed_parameters=SPEED),
        a.record("pretended", region="lab", rehearsal=True),
    ]
    Warehouse(tmp_path / "warehouse.duckdb").rebuild(made)
    return tmp_path


def test_a_row_tells_its_spread_and_by_which_parameter_it_differs(data_dir: Path) -> None:
    result = type_in(data_dir, "leaderboard", "--region", "cn-north-9")

    large, usual = result.stdout.splitlines()[1:3]
    assert "batch_size=512" in large
    assert "batch_size=256" in usual
    assert "1.25 %" in usual
    assert "7,755.4 to 8,252.3" in usual
    apart = json.loads(type_in(data_dir, "leaderboard", "--region", "cn-north-9", "--json").stdout)["parameters_apart"]
    assert sorted(apart.values()) == ["batch_size=256", "batch_size=512"]


def test_a_region_without_runs_is_not_taken_for_an_empty_warehouse(data_dir: Path) -> None:
    result = type_in(data_dir, "leaderboard", "--region", "nowhere")

    assert "nowhere: 0 rows" in result.stderr
    assert "cn-north-9 (4 runs), lab (1 run, rehearsals)" in result.stderr


def test_rows_side_by_side_have_no_interval_where_something_decisive_is_not_known(data_dir: Path) -> None:
    tagged = a.records([8400, 8440], "tagged", framework_version="r2.0", image_url="org/image:latest")
    Warehouse(data_dir / "warehouse.duckdb").record_many(tagged)

    text = type_in(data_dir, "compare", "run-0", "tagged-0").stdout
    by_rows = type_in(data_dir, "compare", "--rows", "run-0", "tagged-0").stdout

    [row] = [line.split() for line in text.splitlines() if line.startswith("tagged-0 ")]
    assert row == ["tagged-0", "2", "8,420", *["–"] * 5]
    assert "tagged-0: mixed or unknown: image" in text
    assert "unknown for some runs: image; ratios are valid only if these are equal" in text
    assert "unknown for some runs: image; no ratio is shown between rows that may differ in them" in by_rows


def test_comparisons_and_answers_are_printed_as_tables_for_papers(data_dir: Path) -> None:
    latex = type_in(data_dir, "compare", "--format", "latex", "run-0", "run-1").stdout
    markdown = type_in(data_dir, "sql", "--format", "markdown", "select 'a|b' as name, 2 as number").stdout
    refused = type_in(data_dir, "compare", "--format", "latex", "--json", "run-0", "run-1")

    assert r"\caption{Runs compared with run-0}" in latex
    assert "Throughput (samples/s) & 7,900 & 8,000 (+1.3 \\%) \\\\" in latex
    assert markdown.splitlines() == ["| name | number |", "| --- | ---: |", "| a\\|b | 2 |"]
    assert refused.exit_code == 2
