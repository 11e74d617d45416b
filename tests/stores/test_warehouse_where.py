"""Runs are chosen by parameters and by numbers of their results, the same in every answer."""

from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.conditions import Condition, parse_condition, parse_conditions
from aisbench_core.warehouse.values.exports import Export, ExportFormat
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

ALL = BoardQuery(a.record("x").region, sort="run_id", descending=False)


def _fill(warehouse: Warehouse) -> None:
    warehouse.record_many([
        a.record("small", speed_parameters={"batch_size": 64, "precision": "fp16"}, throughputs=[900.0] * 8),
        a.record("middle", speed_parameters={"batch_size": 256, "precision": "fp32"}),
        a.record("large", speed_parameters={"batch_size": 512, "precision": "fp32"}, throughputs=[1100.0] * 8),
        a.record("set", parameters={"log_steps": 10}, speed_parameters={"batch_size": 128}),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        pytest.param(["parameter.batch_size:128..256"], ["middle", "set"], marks=pytest.mark.every_store),
        (["parameter.batch_size:256"], ["middle"]),
        (["parameter.batch_size:256.."], ["large", "middle"]),
        (["parameter.batch_size:..100"], ["small"]),
        (["parameter.precision:fp32"], ["large", "middle"]),
        (["parameter.precision:fp"], []),
        (["parameter.log_steps:10"], ["set"]),
        pytest.param(["throughput:8000.."], ["large", "middle", "set"], marks=pytest.mark.every_store),
        (["throughput_per_card:..950"], ["small"]),
        (["throughput:8000..", "parameter.precision:fp32", "parameter.batch_size:..300"], ["middle"]),
        (["accuracy:70%.."], ["large", "middle", "set", "small"]),
        (["accuracy:0.99.."], []),
        (["parameter.it's:1"], []),
        (["parameter.$.x:1"], []),
    ],
)
def test_every_answer_chooses_the_same_runs(warehouse: Warehouse, texts: list[str], chosen: list[str]) -> None:
    _fill(warehouse)
    query = replace(ALL, where=parse_conditions(texts))

    listed = warehouse.runs.list_rows(query)
    board = warehouse.board.list_rows(replace(query, sort="throughput"))
    target = BytesIO()
    warehouse.export(Export(query, datetime(2026, 3, 2, tzinfo=UTC), format=ExportFormat.MARKDOWN), target)

    assert [row.run_id for row in listed.rows] == chosen
    assert listed.total == len(chosen)
    assert sum(row.runs for row in board.rows) == len(chosen)
    assert sorted(line.split(" ")[1] for line in target.getvalue().decode().splitlines()[4:]) == chosen
    assert warehouse.runs.count_rows(query) == len(chosen)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("throughput", "NAME:VALUE"),
        ("throughputs:1", "throughput"),
        ("run_id:1", "no such number"),
        ("throughput:fast", "is a number"),
        ("throughput:2..1", "LOW..HIGH"),
        ("throughput:..", "LOW..HIGH"),
        ("throughput:nan", "is a number"),
        ('parameter.a"b:1', "no such number"),
        ("1=1 or true:1", "no such number"),
        ("metric.mfu:high", "is a number"),
        ("parameter.\udcff:1", "not UTF-8"),
        ("parameter.p:\udcff", "not UTF-8"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse_condition(text)


@pytest.mark.parametrize(
    "text",
    [
        "parameter.batch_size:256..512",
        "throughput:8000..",
        "accuracy:..0.75",
        "parameter.p:fp16",
        "parameter.config_path:../../pretrain.yaml",
    ],
)
def test_a_condition_is_the_text_that_it_was_read_from(text: str) -> None:
    assert str(parse_condition(text)) == text


def test_more_conditions_than_anybody_needs_are_refused() -> None:
    with pytest.raises(SpecError, match="at most 20"):
        parse_conditions(f"throughput:{at}.." for at in range(21))
    assert parse_conditions(["throughput:1..", "throughput: 1 .."]) == (Condition("throughput", 1.0),)
