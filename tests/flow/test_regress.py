"""`aisbench regress` and `baseline`: verdicts for a person, and exit codes for a pipeline."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from aisbench_core.model import Better, Combined, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

GOOD = (8000.0, 8040.0, 7960.0, 8020.0, 7980.0, 8010.0)
BAD = (7500.0, 7540.0, 7460.0)


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"AISBENCH_DATA_DIR": str(data_dir)})


def answer(data_dir: Path, *words: str) -> Any:
    return json.loads(type_in(data_dir, *words, "--json").stdout)


def version(name: str, totals: Sequence[float], hour: int, **changes: Any) -> list[RunRecord]:
    """Runs of one version, all in one hour; run ids begin with the version."""
    return [
        replace(each, run=replace(each.run, started_at=each.run.created_at + timedelta(hours=hour)))
        for each in a.records(totals, name, framework_version=name, **changes)
    ]


def fill(data_dir: Path, *records: list[RunRecord]) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild([each for some in records for each in some])


def test_a_regression_is_exit_code_5_with_everything_that_led_to_it(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", BAD, 1))

    result = type_in(tmp_path, "regress")

    assert result.exit_code == 5, result.output
    assert "verdict: regression" in result.stdout
    assert "baseline r1.10 (the version before, 6 runs), candidate r1.11 (3 runs)" in result.stdout
    assert "throughput: at a CV of 0." in result.stdout
    assert "a true change of 2 % in 90 of 100 cases" in result.stdout
    assert result.stderr == "cn-north-9: 1 group, 4 tests; measurements\n"
    (group,) = answer(tmp_path, "regress")["groups"]
    throughput = group["metrics"][0]
    assert throughput["outcome"] == "regression"
    assert throughput["difference"]["change"] == pytest.approx(-0.0627, abs=1e-3)
    assert throughput["p_value"] <= throughput["adjusted_p"] < 1e-4


def test_no_regression_is_0_and_an_improvement_is_none(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", [value * 1.2 for value in GOOD], 1))

    assert type_in(tmp_path, "regress").exit_code == 0
    assert answer(tmp_path, "regress")["outcome"] == "improvement"


def test_too_few_runs_are_6_and_so_is_nothing_at_all(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD[:1], 0), version("r1.11", BAD[:1], 1))

    assert type_in(tmp_path, "regress").exit_code == 6
    assert type_in(tmp_path, "regress", "--model", "another").exit_code == 6
    assert type_in(tmp_path, "regress", "--region", "nowhere").exit_code == 6


def test_a_group_without_enough_runs_leaves_the_answer_open(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", GOOD, 1), version("lonely", [1.0], 2, node_count=2))

    found = answer(tmp_path, "regress")

    result = type_in(tmp_path, "regress")
    assert result.exit_code == 6
    assert type_in(tmp_path, "regress", "--nodes", "1").exit_code == 0
    assert result.stderr.endswith("measurements; not enough data in 1 group\n")
    assert [each["outcome"] for each in found["groups"]] == ["no change", "not enough data"]


def test_versions_that_ran_on_a_day_each_cannot_be_told_from_the_day(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", [value * 0.97 for value in GOOD], 24))

    result = type_in(tmp_path, "regress")

    assert result.exit_code == 6
    assert "cannot be told from the day" in result.stdout
    [group] = answer(tmp_path, "regress")["groups"]
    assert group["outcome"] == "not enough data"
    assert group["metrics"][0]["difference"]["change"] == pytest.approx(-0.03)


def test_a_baseline_is_asked_for_by_version_or_by_the_beginning_of_a_runs_id(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", BAD, 1), version("r1.12", BAD, 2))
    assert type_in(tmp_path, "regress").exit_code == 0

    assert type_in(tmp_path, "regress", "--baseline", "r1.10").exit_code == 5
    assert type_in(tmp_path, "regress", "--baseline", "r1.11-0", "--baseline", "r1.11-1").exit_code == 0

    unknown = type_in(tmp_path, "regress", "--baseline", "r9")
    assert unknown.exit_code == 2
    assert "r9" in unknown.stderr


def test_one_version_is_looked_at_over_time(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", [*GOOD * 3, *BAD, *BAD], 0))

    result = type_in(tmp_path, "regress")

    assert result.exit_code == 5, result.output
    assert "one version (r1.10): testing for changes of level over time" in result.stdout


def test_a_marked_baseline_is_used_listed_and_forgotten(tmp_path: Path) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0), version("r1.11", BAD, 1), version("r1.12", BAD, 2))

    marked = type_in(tmp_path, "baseline", "mark", "r1.10-0", "--by", "framework_version")

    assert "framework_version r1.10, marked by" in marked.stdout
    assert type_in(tmp_path, "regress").exit_code == 5
    (listed,) = answer(tmp_path, "baseline", "list")
    assert (listed["field"], listed["names"]) == ("framework_version", ["r1.10"])
    assert type_in(tmp_path, "baseline", "list").stdout == marked.stdout
    assert "baseline removed" in type_in(tmp_path, "baseline", "unmark", "r1.12-0").stdout
    assert "no baseline was marked" in type_in(tmp_path, "baseline", "unmark", "r1.12-0").stdout
    assert type_in(tmp_path, "regress").exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("baseline", "mark", "gone"), "no such run in the warehouse: gone"),
        (("baseline", "unmark", "gone"), "no run gone in the warehouse"),
        (("baseline", "mark", "r1.10-0", "--by", "colour"), "'colour' is not one of"),
    ],
)
def test_wrong_input_is_a_sentence_and_2(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    fill(tmp_path, version("r1.10", GOOD, 0))

    result = type_in(tmp_path, *words)

    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_runs_are_tested_by_a_metric_in_its_direction(tmp_path: Path) -> None:
    def with_energies(runs: list[RunRecord], energies: Sequence[float]) -> list[RunRecord]:
        return [
            replace(run, metrics=(RunMetric("energy", energy, "J/token", Better.LOWER, Combined.MEAN),))
            for run, energy in zip(runs, energies, strict=True)
        ]

    fill(
        tmp_path,
        with_energies(version("r1.10", GOOD, 0), (4.0, 4.01, 3.99, 4.02, 3.98, 4.0)),
        with_energies(version("r1.11", GOOD[:3], 1), (8.0, 8.01, 7.99)),
    )

    result, unknown = type_in(tmp_path, "regress", "--metric", "energy"), type_in(tmp_path, "regress", "--metric", "e")

    assert (result.exit_code, type_in(tmp_path, "regress").exit_code) == (5, 0)
    assert "regression" in result.stdout
    [metric] = answer(tmp_path, "regress", "--metric", "energy")["groups"][0]["metrics"]
    assert (metric["name"], metric["unit"]) == ("energy", "J/token")
    assert metric["difference"]["change"] == pytest.approx(1.0)
    assert unknown.exit_code == 2
    assert "known: throughput, energy (found e)" in unknown.stderr
