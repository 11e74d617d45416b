"""Records as nobody expects them: of ten thousand ranks, of none, twice the same, with names that attack."""

import csv
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.base.messages import in_chinese
from aisbench_core.model import RankResult, RunRecord, TrainResultInfo
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, Validity
from tests import records as a
from tests.stored_cards import rank_results_of

Spoil = Callable[[tuple[RankResult, ...]], tuple[RankResult, ...]]
ALL = BoardQuery("cn-north-9", include_invalid=True)
NAMES = [
    "O'Brien; drop table runs; --",
    '"quoted" \\ back',
    "</script><script>alert(1)</script>",
    '=HYPERLINK("http://example.org","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "🚀 训练 e\u0301 \u202e olleh",
    "line\nline\ttab\rreturn",
    "x" * 10_000,
]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def named(number: int, name: str) -> RunRecord:
    """A run whose every name is this one."""
    facts = replace(a.FACTS, title=name, model=name, framework=name, dataset=name, throughput_unit=name[:20])
    record = a.record(f"run-{number}", facts=facts, created_by=name, flavor=name[:200], environments={"NOTE": name})
    return replace(record, accelerator=name)


def test_ten_thousand_ranks_are_one_run_like_any_other(warehouse: Warehouse) -> None:
    ranks = [1000.0] * 9_999 + [1.0]

    warehouse.record(a.record(node_count=1250, throughputs=ranks))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    assert (row.throughput, row.ranks_found, row.straggler_ranks) == (9_999_001.0, 10_000, "9999")
    assert row.validity is Validity.VALID
    assert all(run.is_stored for run in warehouse.validate(ALL).runs)
    assert len(rank_results_of(warehouse, "run-1")) == 10_000


def test_ten_thousand_ranks_without_a_number_are_named_by_the_first_few(warehouse: Warehouse) -> None:
    warehouse.record(a.record(node_count=1250, throughputs=[float("nan")] * 10_000))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    (ranks,) = [check for check in row.checks if check.id == "V03"]
    assert ranks.level is CheckLevel.FAIL
    assert (ranks.found, ranks.evidence.count("no number")) == ("0 of 10000 ranks", 8)


@pytest.mark.parametrize(
    ("spoil", "evidence"),
    [
        (lambda cards: (replace(cards[0], rank=3), *cards[1:]), "ranks that are there more than once: 1"),
        (lambda cards: cards[2:], "ranks that are missing: 2"),
        (lambda cards: (replace(cards[0], rank=-1), *cards[1:]), "server 0 rank -1: 900"),
        (lambda cards: (replace(cards[0], server=-7), *cards[1:]), "server -7 rank 0: 900"),
    ],
)
def test_ranks_that_cannot_be_are_named(warehouse: Warehouse, spoil: Spoil, evidence: str) -> None:
    record = a.record(throughputs=[900.0] * 8)
    assert record.result is not None

    warehouse.record(replace(record, result=replace(record.result, rank_results=spoil(record.result.rank_results))))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    assert (row.validity, row.throughput) == (Validity.INVALID, None)
    (ranks,) = [check for check in row.reasons if check.id == "V03"]
    assert ranks.evidence == evidence
    assert all(run.is_stored for run in warehouse.validate(ALL).runs)


def test_numbers_out_of_range_are_named_with_what_is_allowed(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None
    odd = replace(record.result.info, throughput_ratio=-1.0, average_power=-2.0, resource_util_ratio=1.5)

    warehouse.record(replace(record, result=replace(record.result, info=odd)))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    (fields,) = [check for check in row.reasons if check.id == "V01"]
    assert fields.found == (
        "throughput_ratio is -1.0, allowed: 1e-100 to 1e+100; average_power is -2.0, allowed: 0 or more; "
        "resource_util_ratio is 1.5, allowed: at most 1"
    )
    assert "allowed" not in in_chinese(fields.found)


def test_the_ends_of_what_is_allowed_are_allowed(warehouse: Warehouse) -> None:
    for name, end in (("least", 1e-100), ("most", 1e100 / 8)):
        warehouse.record(a.record(name, throughputs=[end] * 8))
    record = a.record("reported")
    assert record.result is not None
    info = replace(record.result.info, throughput_ratio=1e100)
    warehouse.record(replace(record, result=replace(record.result, info=info)))

    worth = {row.run_id: row.validity for row in warehouse.runs.find_rows(("least", "most")).values()}
    (fields,) = [check for check in warehouse.runs.find_rows(("reported",))["reported"].checks if check.id == "V01"]
    assert worth == {"least": Validity.VALID, "most": Validity.VALID}
    assert fields.level is CheckLevel.OK
    assert all(run.is_stored for run in warehouse.validate(ALL).runs)


def test_a_model_of_ten_thousand_letters_is_the_model_that_ran(warehouse: Warehouse) -> None:
    warehouse.record(a.record(facts=replace(a.FACTS, model="训" * 10_000)))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    assert "V25" not in {check.id for check in row.reasons}


def test_a_result_of_nothing_is_invalid_and_says_what_is_missing(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None
    nothing = replace(record.result, ranks_expected=0, rank_results=(), info=TrainResultInfo(), raw="")

    warehouse.record(replace(record, result=nothing))

    row = warehouse.runs.find_row("run-1")
    assert row is not None
    assert row.validity is Validity.INVALID
    assert {"V01", "V03", "V06"} <= {check.id for check in row.reasons}


def test_the_same_content_under_two_ids_is_two_runs_and_under_one_id_one(warehouse: Warehouse) -> None:
    record = a.record()
    warehouse.record_many([record, record, replace(record, run=replace(record.run, run_id="run-2"))])

    assert warehouse.runs.list_rows(ALL).total == 2


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_of_any_kind_is_kept_found_compared_and_exported_as_it_is(warehouse: Warehouse, name: str) -> None:
    warehouse.record_many([named(0, name), named(1, name)])

    (row,) = warehouse.board.list_rows(replace(ALL, models=(name,))).rows
    (found, *_) = warehouse.runs.list_rows(replace(ALL, text=name[:50])).rows
    target = BytesIO()
    warehouse.export(Export(ALL, a.T0), target)

    assert (row.model, row.best_by, found.created_by) == (name, name, name)
    assert warehouse.runs.compare(["run-0", "run-1"]).runs[0].model == name
    exported = next(csv.DictReader(target.getvalue().decode().splitlines(keepends=True)))["model_name"]
    assert exported.removeprefix("'") == name
    assert not exported.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_filters_that_match_nothing_give_empty_answers_everywhere(warehouse: Warehouse) -> None:
    warehouse.record(a.record())
    nothing = replace(ALL, models=("nobody's",))
    target = BytesIO()

    warehouse.export(Export(nothing, a.T0), target)

    assert [
        *warehouse.board.list_rows(nothing).rows,
        *warehouse.runs.list_rows(nothing).rows,
        *warehouse.trends.list_rows(nothing).rows,
    ] == []
    assert [*warehouse.validate(nothing).runs, *warehouse.series.among(nothing)] == []
    assert len(target.getvalue().splitlines()) == 1
