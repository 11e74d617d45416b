"""Units of throughputs in old tables: stated by header, column or user; an unknown one is never taken for another."""

from datetime import UTC, datetime

import pytest

from aisbench_core.exchange.importing.choices import Choices, ImportAnswers, Preview
from aisbench_core.exchange.importing.records import Catalogue, record_of, settle_throughput
from tests.unit.test_history_tables import results

NOON = datetime(2022, 7, 13, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("tokens/s", "tokens/s"),
        ("Throughput (tokens/s)", "tokens/s"),
        ("吞吐率（sentences/sec）", "sentences/s"),
        ("Throughput (samples/s)", "samples/s"),
        ("img/s", "samples/s"),
        ("samples per second", "samples/s"),
        ("fps", "samples/s"),
        ("Throughput (tokens_per_second)", "tokens/s"),
        ("吞吐率（张/秒）", "samples/s"),
        ("吞吐率（平均）（Tokens / s）", "tokens/s"),
        ("Throughput", ""),
        ("Throughput (avg)", ""),
    ],
)
def test_the_header_of_a_throughput_states_its_unit(header: str, unit: str) -> None:
    [result] = results(f"Model,{header}\nllama,123.5\n")

    assert (result.info.throughput_ratio, result.throughput_unit) == (123.5, unit)


def test_a_column_states_the_unit_of_each_row() -> None:
    rows = results("Model,Throughput,throughput_unit\nllama,123.5,tokens/s\nresnet,99,samples/s\n")

    assert [row.throughput_unit for row in rows] == ["tokens/s", "samples/s"]


@pytest.mark.parametrize(
    ("header", "answered", "unit"),
    [("tokens/s", "", "tokens/s"), ("Throughput", "tokens/s", "tokens/s"), ("img/s", "", "samples/s")],
)
def test_a_unit_that_the_table_or_a_person_states_is_that_of_the_run(header: str, answered: str, unit: str) -> None:
    [result] = results(f"Model,{header}\nllama,123.5\n")

    record = record_of(result, Choices(about_all=ImportAnswers(unit=answered)), Catalogue(()), "ann", NOON)

    assert record.result
    assert (record.result.info.throughput_ratio, record.workload.throughput_unit) == (123.5, unit)


def test_a_unit_that_nobody_states_is_asked_for_and_never_assumed() -> None:
    [result] = results("Model,Throughput,Accuracy\nllama,123.5,0.7\n")

    record = record_of(result, Choices(), Catalogue(()), "ann", NOON)
    settled, mends = settle_throughput(result, Choices(), Catalogue(()))

    assert record.result
    assert (record.result.info.throughput_ratio, record.result.info.accuracy) == (None, 0.7)
    [cause] = Preview(settled, record, mends=mends).causes
    assert cause.sentence.startswith("the unit of the throughput is not stated")
    assert cause.mended_by == ("unit",)


@pytest.mark.parametrize(
    "header",
    [
        "tokens/s/p",
        "tokens/p/s",
        "TGS",
        "Throughput (tokens/s/card)",
        "单卡吞吐(tokens/s)",
        "Throughput per NPU [tokens/s]",
    ],
)
def test_a_throughput_of_one_card_is_multiplied_where_the_cards_are_known_and_that_is_said(header: str) -> None:
    [known, unknown] = results(f"Model,{header},Cards\nllama,1000,16\nllama,1000,\n")
    answered = Choices(about_all=ImportAnswers(node_count=2, cards_per_node=8))

    sixteen, nothing, later = (
        record_of(row, choices, Catalogue(()), "ann", NOON).result
        for row, choices in ((known, Choices()), (unknown, Choices()), (unknown, answered))
    )

    assert sixteen
    assert nothing
    assert later
    assert (sixteen.info.throughput_ratio, later.info.throughput_ratio) == (16_000, 16_000)
    assert nothing.info.throughput_ratio is None
    assert "the number of cards is not known" in nothing.problems[0]
    assert settle_throughput(unknown, Choices(), Catalogue(()))[1] == ("node_count", "cards_per_node")
    said = settle_throughput(known, Choices(), Catalogue(()))[0].remarks
    assert said == ("throughputs of one card were multiplied by the number of cards",)


def test_a_time_per_step_is_a_rate_of_steps() -> None:
    [result] = results("Model,ms/step\nllama,250\n")

    assert (result.info.throughput_ratio, result.throughput_unit) == (4, "steps/s")
    assert result.remarks == ("times per step were turned into steps/s",)


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("吞吐率(K tokens/s)", "K tokens/s"),
        ("吞吐率（ktokens/s）", "ktokens/s"),
        ("Throughput (千样本/秒)", "千样本/秒"),
        ("Throughput (万张/秒)", "万张/秒"),
        ("Throughput (1000 samples/s)", "1000 samples/s"),
        ("Throughput (images per minute)", "images per minute"),
        ("Throughput (TFLOPS)", "TFLOPS"),
    ],
)
def test_an_unknown_unit_in_a_header_is_a_problem_and_its_throughput_is_left_out(header: str, unit: str) -> None:
    [result] = results(f"Model,{header},Accuracy\nllama,1.2,0.77\n")

    record = record_of(result, Choices(), Catalogue(()), "ann", NOON)

    assert record.result is not None
    assert (record.result.info.throughput_ratio, record.result.info.accuracy) == (None, 0.77)
    [problem] = record.result.problems
    assert str(problem).startswith(
        f"column {header!r}: unit {unit!r} is not known, so the throughput is left out; convert"
    )
    assert problem in str(record.run.detail)
    assert settle_throughput(result, Choices(), Catalogue(()))[1] == ("unit",)


@pytest.mark.parametrize("cell", ["tokens/sec/node", "TFLOPS", "tokens", "images per minute", "K tokens/s"])
def test_an_unknown_unit_in_a_cell_concerns_its_row_only(cell: str) -> None:
    rows = results(f"Model,Throughput,throughput_unit\nllama,1.2,{cell}\nglm,3,tokens_per_second\n")
    unknown, known = (record_of(row, Choices(), Catalogue(()), "ann", NOON) for row in rows)

    assert unknown.result
    assert known.result
    assert unknown.result.info.throughput_ratio is None
    assert f"column 'throughput_unit': unit {cell!r} is not known" in unknown.run.detail
    assert (known.result.info.throughput_ratio, known.result.problems) == (3, ())
    assert known.workload.throughput_unit == "tokens/s"


def test_a_known_unit_in_a_cell_does_not_hide_that_the_header_has_another() -> None:
    [result] = results("Model,Throughput (per node),throughput_unit\nllama,1.2,tokens/s\n")

    assert "'per node' is not known" in str(result.unit_problem)


def test_a_header_with_a_rate_per_node_has_no_known_unit() -> None:
    [result] = results("Model,tokens/s/node\nllama,1.2\n", mapping={"tokens/s/node": "throughput_ratio"})

    assert "'tokens/s/node' is not known" in str(result.unit_problem)


def test_whoever_states_the_unit_has_the_throughput_of_an_unknown_one() -> None:
    [result] = results("Model,Throughput (TFLOPS)\nllama,1.2\n")
    choices = Choices(about_all=ImportAnswers(unit="TFLOPS"))

    record = record_of(result, choices, Catalogue(()), "ann", NOON)

    assert record.result is not None
    assert (record.result.info.throughput_ratio, record.workload.throughput_unit) == (1.2, "TFLOPS")
    assert record.result.problems == ()


def test_a_row_of_our_own_export_keeps_whatever_unit_it_has() -> None:
    [result] = results("export_format,throughput_reported,throughput_unit\naisbench-compliance-csv/1,5,molecules/s\n")

    assert (result.throughput_unit, result.unit_problem) == ("molecules/s", None)
