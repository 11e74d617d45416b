"""Old results in tables: CSV and Excel as people keep them, with columns that are guessed, or chosen."""

import io
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.exchange.readers.headers import guess_meanings
from aisbench_core.exchange.readers.reading import columns_of, columns_of_stream, read_path, read_stream
from aisbench_core.exchange.readers.results import ColumnMeaning, ParsedResult, Table, Unread
from aisbench_core.model import Mode
from aisbench_core.warehouse.exporting.runs import RUNS

COLUMNS = RUNS.names
ENGLISH = """Model,Framework version,Nodes,Cards,Throughput (samples/s),Top-1 accuracy,Start time,Note
ResNet-50,r1.3,2,16,"14,151.18",0.7706,2022-07-12 12:19:43,first
ResNet-50,r1.8,1,8,7100.5,,2022/7/13 9:05,
"""
NOON = datetime(2022, 7, 13, 12, 0, tzinfo=UTC).replace(tzinfo=None)  # as Excel has it
CHINESE = """昇腾集群测试汇总,,,,
模型名称,框架版本,节点数,吞吐率（samples/s）,精度(%),平均功耗
bert,r1.3,2,450.58,71.39%,0
bert,r1.5,2,451.5,71.4,310.5
"""


def found_in(
    text: str | bytes, name: str = "t.csv", mapping: Mapping[str, str] | None = None
) -> list[ParsedResult | Unread]:
    content = text.encode() if isinstance(text, str) else text
    return list(read_stream(io.BytesIO(content), name, mapping))


def results(text: str | bytes, name: str = "t.csv", mapping: Mapping[str, str] | None = None) -> list[ParsedResult]:
    return [each for each in found_in(text, name, mapping) if isinstance(each, ParsedResult)]


def workbook(rows: list[list[object]], title: str = "Sheet1") -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(row)
    return book


def saved(book: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_each_row_of_a_table_is_a_result() -> None:
    first, second = results(ENGLISH)

    assert (first.model, first.framework_version, first.note) == ("ResNet-50", "r1.3", "first")
    assert (first.node_count, first.cards_per_node) == (2, 8)
    assert (first.info.throughput_ratio, first.info.accuracy) == (14151.18, 0.7706)
    assert first.started_at == datetime(2022, 7, 12, 4, 19, 43, tzinfo=UTC)
    assert (second.number, second.info.accuracy, second.problems) == (2, None, ())
    assert second.started_at == datetime(2022, 7, 13, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
def test_chinese_headers_below_a_title_are_understood(encoding: str) -> None:
    first, second = results(CHINESE.encode(encoding))

    assert (first.model, first.node_count, first.info.throughput_ratio) == ("bert", 2, 450.58)
    assert first.info.accuracy == pytest.approx(0.7139)
    assert second.info.accuracy == pytest.approx(0.714)
    assert (first.info.average_power, first.placeholders) == (None, ("average_power",))
    assert second.info.average_power == 310.5


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_whatever_separates_the_columns_is_seen(delimiter: str) -> None:
    assert len(results(f"model{delimiter}fps\nbert{delimiter}450.5\n")) == 1


def test_columns_are_told_with_what_they_are_taken_for() -> None:
    (table,) = columns_of_stream(io.BytesIO(CHINESE.encode("gbk")), "t.csv")

    assert isinstance(table, Table)
    assert table.columns == ("模型名称", "框架版本", "节点数", "吞吐率（samples/s）", "精度(%)", "平均功耗")
    assert table.mapping == {
        "模型名称": ColumnMeaning.MODEL,
        "框架版本": ColumnMeaning.FRAMEWORK_VERSION,
        "节点数": ColumnMeaning.NODE_COUNT,
        "吞吐率（samples/s）": ColumnMeaning.THROUGHPUT_RATIO,
        "精度(%)": ColumnMeaning.ACCURACY_PCT,
        "平均功耗": ColumnMeaning.AVERAGE_POWER,
    }
    assert table.sample[0] == ("bert", "r1.3", "2", "450.58", "71.39%", "0")


def test_a_mapping_goes_before_the_guess_and_may_say_nothing() -> None:
    text = "net,speed,fps\nbert,450.5,1\n"

    (found,) = results(text, mapping={"speed": "throughput_ratio", "net": "", "elsewhere": "accuracy"})

    assert (found.info.throughput_ratio, found.model) == (450.5, "")


def test_a_mapping_finds_a_header_that_nobody_would_guess() -> None:
    text = "report of june\n\nA,B\nbert,450.5\n"

    (found,) = results(text, mapping={"B": "throughput_ratio"})

    assert (found.info.throughput_ratio, found.number) == (450.5, 1)


def test_a_mapping_to_something_unknown_is_refused() -> None:
    with pytest.raises(ConfigError, match="column 'fps' is mapped to 'speed', which is not a known meaning"):
        found_in("fps\n1\n", mapping={"fps": "speed"})


def test_a_table_without_results_says_which_columns_it_has() -> None:
    assert found_in("name,age\nbob,7\n") == [
        Unread("t.csv", make_verbatim("no column is recognized as throughput or accuracy: name, age"))
    ]


def test_rows_without_a_result_are_counted() -> None:
    assert found_in("model,fps\nbert,450.5\nresnet,-\nvgg,\n,\n")[-1] == Unread(
        "t.csv", make_verbatim("rows without a throughput or an accuracy: 2 (row 3, 4)")
    )


def test_a_cell_that_is_no_number_is_a_problem_of_its_row() -> None:
    (found,) = results("model,fps,acc\nbert,fast,0.7\n")

    assert (found.info.throughput_ratio, found.info.accuracy) == (None, 0.7)
    assert found.problems == ("throughput_ratio holds 'fast', and not a number",)


def test_the_same_row_again_is_the_same_run_and_a_note_makes_no_other() -> None:
    first, again, noted, other = results(
        "model,fps,remark\nbert,450.5,\nbert,450.50,\nbert,450.5,good\nresnet,450.5,\n"
    )

    assert first.identity == noted.identity
    assert first.identity != other.identity
    assert first.identity == again.identity


def test_two_columns_of_one_name_can_be_told_apart() -> None:
    (table,) = columns_of_stream(io.BytesIO(b"model,fps,fps\nbert,1,2\n"), "t.csv")

    assert isinstance(table, Table)
    assert table.columns == ("model", "fps", "fps (2)")


# --- what this console exported -----------------------------------------------------------------------


def exported(**cells: str) -> str:
    row = {"schema_version": "aisbench-compliance-csv/1", "run_id": "r1", "model_name": "BERT-large", **cells}
    return ",".join(COLUMNS) + "\n" + ",".join(row.get(column, "") for column in COLUMNS) + "\n"


def test_the_header_of_our_own_export_is_understood() -> None:
    mapping = guess_meanings(COLUMNS)

    assert mapping["throughput_reported"] is ColumnMeaning.THROUGHPUT_RATIO
    assert mapping["prepare_start_utc"] is ColumnMeaning.PREPARE_START_TIME
    assert mapping["npu_util_avg_pct"] is ColumnMeaning.RESOURCE_UTIL_PCT
    assert mapping["power_efficiency"] is ColumnMeaning.EFFICIENTCY
    assert {"throughput_cluster", "accuracy_target", "efficiency_pct", "total_s"}.isdisjoint(mapping)


def test_in_our_own_export_zero_is_a_measurement_and_times_are_utc() -> None:
    (found,) = results(
        exported(
            throughput_reported="450.5",
            average_power_w="0",
            npu_util_avg_pct="87.5",
            total_start_utc="2022-07-13T03:27:19Z",
            validity="invalid",
            flavor="'=cmd",
        )
    )

    assert (found.run_id, found.model, found.flavor) == ("r1", "BERT-large", "=cmd")
    assert (found.info.average_power, found.placeholders, found.info.resource_util_ratio) == (0.0, (), 0.875)
    assert found.started_at == datetime(2022, 7, 13, 3, 27, 19, tzinfo=UTC)
    assert found.problems == ("the table says it is invalid",)


def test_a_rehearsal_stays_one() -> None:
    (found,) = results(exported(throughput_reported="450.5", division="rehearsal"))

    assert found.rehearsal


# --- Excel --------------------------------------------------------------------------------------------


def test_every_sheet_of_a_workbook_is_a_table(tmp_path: Path) -> None:
    book = workbook([["模型", "吞吐量", "开始时间", "模式"], ["bert", 450.5, NOON, "单服务器"]], "甲")
    other = book.create_sheet("乙")
    other.append(["model", "accuracy"])
    other.append(["resnet", 0.77])
    file = tmp_path / "old.xlsx"
    file.write_bytes(saved(book))

    first, second = read_path(file)

    assert isinstance(first, ParsedResult)
    assert isinstance(second, ParsedResult)
    assert (first.source, second.source) == ("old.xlsx!甲", "old.xlsx!乙")
    assert (first.info.throughput_ratio, first.mode) == (450.5, Mode.SINGLE_SERVER)
    assert first.started_at == datetime(2022, 7, 13, 4, 0, tzinfo=UTC)
    assert second.info.accuracy == 0.77
    assert [each.source for each in columns_of(file)] == ["old.xlsx!甲", "old.xlsx!乙"]


def test_a_workbook_in_an_archive_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x/old.xlsx", saved(workbook([["model", "fps"], ["bert", 450.5]])))

    assert [each.source for each in results(file.getvalue(), "a.zip")] == ["a.zip!x/old.xlsx"]


def test_a_cell_at_the_end_of_the_sheet_costs_nothing() -> None:
    book = workbook([["model", "fps"], ["bert", 450.5]])
    sheet = book.active
    assert sheet is not None
    sheet["XFD1048576"] = "far away"

    assert [each.info.throughput_ratio for each in results(saved(book), "far.xlsx")] == [450.5]


def test_a_workbook_that_is_a_bomb_is_refused() -> None:
    file = io.BytesIO(saved(workbook([["model", "fps"]])))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * (65 * 1024**2))

    (unread,) = found_in(file.getvalue(), "bomb.xlsx")

    assert unread == Unread("bomb.xlsx", make_verbatim("it unpacks to more than 64 MB: save the sheet as CSV"))


def test_entities_that_multiply_are_refused() -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    kind = f'<!DOCTYPE worksheet [<!ENTITY l0 "lol">{lol}]>'
    source = io.BytesIO(saved(workbook([["model", "fps"], ["bert", 450.5]])))
    target = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            text = old.read(entry).decode()
            if entry.filename.endswith("sheet1.xml"):
                text = (
                    kind + text.partition("?>")[2].replace("bert", "&l9;")
                    if "?>" in text
                    else kind + text.replace("bert", "&l9;")
                )
            new.writestr(entry.filename, text)

    (unread,) = found_in(target.getvalue(), "lol.xlsx")

    assert isinstance(unread, Unread)
    assert unread.reason.startswith("it cannot be read as a workbook")


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 no zip", saved(workbook([["fps"]]))[:-60], b"PK\x05\x06" + b"\0" * 18]
)
def test_a_damaged_workbook_is_told(content: bytes) -> None:
    (unread,) = found_in(content, "a.xlsx")

    assert isinstance(unread, Unread)
    assert unread.reason.startswith("it cannot be read as a workbook")


def test_a_workbook_that_is_none_is_not_taken_for_a_text() -> None:
    assert found_in(bytes(range(256)) * 8, "a.xlsx") == [
        Unread("a.xlsx", make_verbatim("it is neither text nor an Excel workbook"))
    ]


def test_times_are_found_below_short_headers() -> None:
    (found,) = results("Model,samples/s,Start,End\nbert,450,2022-07-13 09:00:00,2022-07-13 10:00:00\n")

    assert found.started_at
    assert found.ended_at
    assert found.ended_at - found.started_at == timedelta(hours=1)


def test_an_empty_table_is_told() -> None:
    assert found_in("", "t.csv") == [
        Unread("t.csv", make_verbatim("no column is recognized as throughput or accuracy: it is empty"))
    ]
    assert list(columns_of_stream(io.BytesIO(b""), "t.csv")) == [Unread("t.csv", make_verbatim("it is empty"))]


INFERENCE = """Performance Parameters,Stage,Average,Min,Max,Median,P75,P90,P99,N
E2EL,total,2048.5 ms,1500.0 ms,2700.0 ms,2040.0 ms,2300.0 ms,2500.0 ms,2690.0 ms,8
OutputTokenThroughput,total,112.5 token/s,100.0 token/s,120.0 token/s,112.0 token/s,115.0 token/s,,,8
"""
INFERENCE_COMMON = """{"Benchmark Duration": {"total": "19890.5 ms"}, "Total Requests": {"total": 8},
 "Request Throughput": {"total": "0.4021 req/s"}, "Output Token Throughput": {"total": "115.78 token/s"}}"""


@pytest.mark.parametrize(
    ("text", "name"), [(INFERENCE, "gsm8k.csv"), ("\ufeff" + INFERENCE, "x.csv"), (INFERENCE_COMMON, "gsm8k.json")]
)
def test_what_was_measured_of_inference_is_no_result_of_a_training(text: str, name: str) -> None:
    assert found_in(text, name) == [
        Unread(
            name, make_verbatim("a result of inference, and not of a training: `aisbench inference import` reads it")
        )
    ]
    assert not [*columns_of_stream(io.BytesIO(text.encode()), name)]
