"""Lines of exported CSV: what Python would write, one way for each kind of value, and never a formula."""

import csv
import io
import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.exchange.readers.rows import unguard_cell
from aisbench_core.model.columns import Wording
from aisbench_core.warehouse.exporting import csv_file
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn, make_number, make_prose, make_text, make_word
from aisbench_core.warehouse.exporting.export import SHEETS

RUN = r"[=+\-@\t\r\n＋－＝＠]"
"""What a spreadsheet may take for a formula's beginning."""

CELL = Sheet("test/1", {"all": (make_text("said", ""), make_number("value", ""))}, "cells as (select * from t)", "1")


CELLS = (make_text("who", ""), make_word("kind", "", "'ours'"), make_prose("said", ""), make_text("last", ""))
ROW = Sheet("test/2", {"all": CELLS},
            "cells as (select 'ours' as kind, * from t)", "who")  # fmt: skip


def line_of(said: str | None, value: float | None) -> bytes:
    with duckdb.connect() as connection:
        connection.execute("create table t as select ?::VARCHAR as said, ?::DOUBLE as value", [said, value])
        target = io.BytesIO()
        csv_file.write(connection, CELL, [{}], target, False)
    return target.getvalue().removeprefix(b"said,value\r\n")


@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("＋－＝＠'=\n")),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_line_is_what_python_would_write_and_starts_no_formula(said: str, value: float) -> None:
    oracle = io.StringIO(newline="")
    guarded = f"'{said}" if re.match(rf"'*{RUN}", said) else said

    line = line_of(said, value).decode()

    csv.writer(oracle).writerow([guarded, value])
    assert line == oracle.getvalue()
    (cell, _) = next(csv.reader(io.StringIO(line, newline="")))
    assert not re.match(RUN, cell)
    assert unguard_cell(cell) == said


@pytest.mark.parametrize(
    ("said", "value", "line"),
    [
        (None, None, b",\r\n"),
        ("", 0.0, b",0.0\r\n"),
        ("a", -1.5, b"a,-1.5\r\n"),
        ("-1", 1e-07, b"'-1,1e-07\r\n"),
        ("'=1", 1.0, b"''=1,1.0\r\n"),
        ("＝1+1", 1.0, "'＝1+1,1.0\r\n".encode()),
        ("\n=1", 1.0, b'"\'\n=1",1.0\r\n'),
        ("（中文）", 1.0, "（中文）,1.0\r\n".encode()),
        ("it's", 1.0, b"it's,1.0\r\n"),
        ("@a", 1e15, b"'@a,1000000000000000.0\r\n"),
        ("a=b", 1e16, b"a=b,1e+16\r\n"),
        ("/a b", 0.0001, b"/a b,0.0001\r\n"),
        (":", 1e-05, b":,1e-05\r\n"),
        ('</script>"\r\n😀', 1.0, '"</script>""\r\n😀",1.0\r\n'.encode()),
    ],
)
def test_each_kind_of_value_has_one_way_to_be_written(said: str | None, value: float | None, line: bytes) -> None:
    assert line_of(said, value) == line


def test_a_row_with_something_to_quote_or_guard_leaves_its_other_cells_and_rows_as_they_are() -> None:
    rows = [("a", '{"x": 1}', None), ("b", None, "=1+1"), ("c,", "-", "z"), (None, "plain", "d"), ("e", "x\ny", "f")]
    target = io.BytesIO()
    with duckdb.connect() as connection:
        connection.execute("create table t (who VARCHAR, said VARCHAR, last VARCHAR)")
        connection.executemany("insert into t values (?, ?, ?)", rows)

        count = csv_file.write(connection, ROW, [{}], target, False)

    assert count == len(rows)
    assert target.getvalue().decode().split("\r\n") == [
        "who,kind,said,last",
        'a,ours,"{""x"": 1}",',
        "b,ours,,'=1+1",
        '"c,",ours,\'-,z',
        'e,ours,"x\ny",f',
        ",ours,plain,d",
        "",
    ]


WORD = r"'[^=+\-@\t\r\n',\"][^\r\n',\"]*'"
OURS = [column for sheet in SHEETS.values() for column in sheet.columns if column.wording is Wording.OURS]


@pytest.mark.parametrize("column", OURS, ids=lambda column: column.name)
def test_words_that_are_written_unseen_stand_in_the_columns_themselves(column: SheetColumn) -> None:
    cases = rf"case(\s+when .+? then {WORD})+( else {WORD})?\s+end"

    assert re.fullmatch(rf"{WORD}|\$(report_id|audit_head)|{cases}", column.sql, re.DOTALL)
