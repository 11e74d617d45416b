"""A hundred oddities of tables, as CSV and as Excel: each is read right, or named; none is silently wrong."""

import csv
import io
from collections.abc import Iterator
from itertools import cycle

import openpyxl
import pytest

from aisbench_core.exchange.readers.reading import columns_of_stream, read_stream
from aisbench_core.exchange.readers.results import ParsedResult, Table, Unread
from tests.unit.table_oddities import Oddity, list_oddities

ODDITIES = list(list_oddities())
FORMS = ["utf-8", "utf-8-sig", "gb18030", "utf-16"]
DELIMITERS = [",", "\t", ";", "|"]


def write_text(oddity: Oddity, delimiter: str, encoding: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(oddity.rows)
    return text.getvalue().encode(encoding)


def write_workbook(oddity: Oddity) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in oddity.rows:
        sheet.append([cell or None for cell in row])
    for cells in oddity.merged:
        sheet.merge_cells(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def check_read(oddity: Oddity, content: bytes, name: str) -> None:
    """Fails unless the values are read and the rest is named."""
    found = list(read_stream(io.BytesIO(content), name))
    results = [each for each in found if isinstance(each, ParsedResult)]
    tables = [each for each in columns_of_stream(io.BytesIO(content), name) if isinstance(each, Table)]

    assert len(results) == len(oddity.values), [str(each.reason) for each in found if isinstance(each, Unread)]
    for result, values in zip(results, oddity.values, strict=True):
        read = {name: _read_value(result, name) for name in values}
        assert read == values
    said = "\n".join(_say_everything(found, tables))
    assert [text for text in oddity.named if text not in said] == []


def _read_value(result: ParsedResult, name: str) -> object:
    if name == "at":
        at = result.started_at or result.ended_at
        return at and at.strftime("%Y-%m-%dT%H:%M")
    if name in ("throughput", "accuracy"):
        return result.info.throughput_ratio if name == "throughput" else result.info.accuracy
    return result.throughput_unit if name == "unit" else getattr(result, name)


def _say_everything(found: list[ParsedResult | Unread], tables: list[Table]) -> Iterator[str]:
    for table in tables:
        yield from table.not_understood
    for each in found:
        if isinstance(each, Unread):
            yield str(each.reason)
        else:
            yield from (f"{cell.cell} {cell.text} {cell.reason}" for cell in each.dropped)
            yield from map(str, each.problems)


def test_there_are_more_than_a_hundred_of_them() -> None:
    assert len(ODDITIES) > 100
    assert len({oddity.name for oddity in ODDITIES}) == len(ODDITIES)


# Merged cells are those of workbooks. A comma in a number is what a file with semicolons is unsure about.
@pytest.mark.parametrize(
    ("oddity", "encoding", "delimiter"),
    [
        pytest.param(oddity, encoding, delimiter, id=f"{oddity.name}-{encoding}-{ord(delimiter)}")
        for oddity, encoding, delimiter in zip(
            [oddity for oddity in ODDITIES if not oddity.merged], cycle(FORMS), cycle([",", "\t", "|"]), strict=False
        )
    ],
)
def test_an_oddity_in_text_is_read_or_named(oddity: Oddity, encoding: str, delimiter: str) -> None:
    check_read(oddity, write_text(oddity, delimiter, encoding), "t.csv")


@pytest.mark.parametrize("oddity", [pytest.param(oddity, id=oddity.name) for oddity in ODDITIES])
def test_an_oddity_in_a_workbook_is_read_or_named(oddity: Oddity) -> None:
    check_read(oddity, write_workbook(oddity), "t.xlsx")


@pytest.mark.parametrize("encoding", FORMS)
@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_decimals_with_commas_are_read_whatever_separates_the_columns(encoding: str, delimiter: str) -> None:
    table = Oddity("", [["模型", "吞吐(样本/秒)"], ["bert", "1.234,5"], ["bert", "1.234"]])

    found = list(read_stream(io.BytesIO(write_text(table, delimiter, encoding)), "t.csv"))

    assert [each.info.throughput_ratio for each in found if isinstance(each, ParsedResult)] == [1234.5, 1234]


def test_a_number_that_a_semicolon_makes_doubtful_is_named() -> None:
    table = Oddity("", [["Model", "samples/s"], ["bert", "1,234"]])

    [found] = read_stream(io.BytesIO(write_text(table, ";", "utf-8")), "t.csv")

    assert isinstance(found, ParsedResult)
    assert found.info.throughput_ratio is None
    assert found.problems == ("'1,234' can be read with and without decimals",)


def test_a_number_that_a_comma_has_split_is_named_and_not_read() -> None:
    found = list(read_stream(io.BytesIO(b"Model,samples/s,acc\nbert,450,58,0.77\nbert,451.5,0.77\n"), "t.csv"))

    assert [each.info.throughput_ratio for each in found if isinstance(each, ParsedResult)] == [451.5]
    assert [str(each.reason) for each in found if isinstance(each, Unread)] == [
        "rows with more cells than the header, left out: 1 (row 2); is a comma in a number?"
    ]


def test_the_separator_that_excel_declares_is_used() -> None:
    [found] = read_stream(io.BytesIO(b"sep=;\nModel;samples/s;batch\nbert;450,5;1,2\n"), "t.csv")

    assert isinstance(found, ParsedResult)
    assert found.info.throughput_ratio == 450.5


def test_a_percentage_of_excel_is_what_the_screen_shows() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Model", "samples/s", "精度(%)"])
    sheet.append(["bert", 450.5, 0.7706])
    sheet["C2"].number_format = "0.00%"
    file = io.BytesIO()
    book.save(file)

    [found] = read_stream(io.BytesIO(file.getvalue()), "t.xlsx")

    assert isinstance(found, ParsedResult)
    assert found.info.accuracy == 0.7706
