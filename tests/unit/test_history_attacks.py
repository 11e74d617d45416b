"""Old results built to keep the reader busy: twice the file takes at most twice the time, and there is an end."""

import gzip
import io
import struct
import time
import zipfile
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.domain.results.train_result_info import KEYS, read_block
from aisbench_core.exchange.readers.archives import MOST_DIRECTORY, Opened
from aisbench_core.exchange.readers.reading import read_stream
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult, Unread
from aisbench_core.exchange.readers.rows import MOST_ELEMENTS, MOST_ROW, read_sheets
from tests.pattern_attacks import grows_too_fast
from tests.unit.test_history_tables import saved, workbook

pytestmark = pytest.mark.slow  # hostile logs of a million lines

LINE = 60 * 1024
"""Characters of a line; more than MOST_LINE are not kept of any."""

LINES = {
    "rank": "rankid:0 url:a ",
    "rank that reads": "rankid:0 url: read throughput: ",
    "blanks after a rank": "rankid:" + " " * 40,
    "server": "serverid:0 x ",
    "server that reports": "serverid:0 x service_throughput: ",
    "list": "throughput_list:[",
    "list that ends": "throughput_list:[] average:",
    "accuracies": "accuracy_list:[",
    "accuracies that end": "accuracy_list:[]",
    "inputs": "inputs: job_name:",
    "inputs with names": "inputs:job_name:a job_name:b ret instance ",
    "job": "create job success. id: id: ",
    "session": "session config:'job_name':'",
    "workpath": "workpath:  ",
    "block": "train_result_info :{ ",
    "braces": "train_result_info: {}{",
    "key without a block": '{  "accuracy" "total_',
    "blanks": "accuracy" + " " * 200,
    "colours": "accuracy\x1b[0m\x1b]8;;",
    "config": "ConfigInfo ConfigInfo ",
    "total": "report result total_throughput  : -",
}
"""What lines of each kind begin with, over and over again."""


def cost_of(content: bytes, name: str) -> float:
    start = time.thread_time()
    for _ in read_stream(io.BytesIO(content), name):
        pass
    return time.thread_time() - start


@pytest.mark.parametrize("attack", LINES.values(), ids=LINES)
@pytest.mark.parametrize(
    "end", ["\n", " read throughput:x service_throughput:x ret instance\n"], ids=["open", "closed"]
)
def test_no_line_of_a_log_costs_more_than_its_length(attack: str, end: str) -> None:
    def cost(size: int) -> float:
        return cost_of((attack * (size // len(attack)) + end).encode(), "a.log")

    assert grows_too_fast(cost, most=LINE) == ""
    assert cost(LINE) < 0.5


@pytest.mark.parametrize(
    "line",
    [
        "rankid:0 url:x read throughput:1\n",
        "report result accuracy:0.5\n",
        "x accuracy\n",
        "x accuracy\r",
        "create job success. job_id:1\n",
        "train_result_info: {\n",
        "{}\n",
    ],
)
def test_no_log_costs_more_than_its_size(line: str) -> None:
    def cost(size: int) -> float:
        return cost_of((line * (size // len(line))).encode(), "a.log")

    assert grows_too_fast(cost, most=1024 * 1024) == ""


@pytest.mark.parametrize("cell", ["(", "（(", "a,", "%", "(a", '"', '"\n"', " ", "'="])
def test_no_table_costs_more_than_its_size(cell: str) -> None:
    def cost(size: int) -> float:
        return cost_of(("model,fps\n" + cell * (size // len(cell))).encode(), "a.csv")

    assert grows_too_fast(cost, most=512 * 1024) == ""


def test_a_row_that_never_ends_is_refused() -> None:
    endless = b"model,fps\n" + b'"a\n",' * (MOST_ROW // 3)

    (unread,) = (each for each in read_stream(io.BytesIO(endless), "a.csv") if isinstance(each, Unread))

    assert unread == Unread("a.csv", make_verbatim("a row is longer than 4 MB: a quotation mark is not closed"))


def workbook_of(*rows: tuple[str, int]) -> bytes:
    """A workbook whose only sheet has these rows: a cell, and how often it is there."""
    source = io.BytesIO(saved(workbook([["model", "fps"]])))
    target = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                begin, _, _ = content.partition(b"<sheetData>")
                lines = "".join(f"<row>{cell * count}</row>" for cell, count in rows)
                content = begin + f"<sheetData>{lines}</sheetData></worksheet>".encode()
            new.writestr(name, content)
    return target.getvalue()


@pytest.mark.parametrize("rows", [[("<c/>", 3_500_000)], [("<c/>", 500)] * 7000, [("", 1)] * 1_000_001])
def test_millions_of_empty_cells_in_a_small_workbook_are_refused_within_a_moment(rows: list[tuple[str, int]]) -> None:
    content = workbook_of(*rows)
    start = time.thread_time()

    (unread,) = read_stream(io.BytesIO(content), "full.xlsx")

    assert len(content) < 150_000
    assert unread == Unread(
        "full.xlsx",
        make_verbatim(f"it contains more than {MOST_ELEMENTS:,} cells, including empty ones: save the sheet as CSV"),
    )
    assert time.thread_time() - start < 5


def test_a_workbook_may_take_only_so_long() -> None:
    file = Opened.begin("slow.xlsx", io.BytesIO(workbook_of(*repeat(("<c/>", 3), 10))))

    with pytest.raises(ResultError, match="reading it takes longer than 0 s: save the sheet as CSV"):
        list(read_sheets(file, seconds=0))


ODD = st.text(st.sampled_from("\x00\x1c\x1d\x1e\x1f\x85\xa0\u2003 019.-+eE\t²½٣naif_"), max_size=6)


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), ODD), st.booleans())
def test_a_block_with_any_control_characters_in_its_numbers_is_read(values: dict[str, str], quoted: bool) -> None:
    mark = '"' if quoted else ""
    text = "{" + ",\n".join(f'"{key}" : {mark}{value}{mark}' for key, value in values.items()) + "}"

    block = read_block(text, UPSTREAM_ZONE)

    assert block.texts.keys() <= KEYS


@pytest.mark.parametrize("number", ["0.\x1e ", "\x1c\x1c", "\x1e1", "1\x1f", "\x1d0\x1d"])
def test_a_number_beside_a_control_character_is_the_number_or_a_problem(number: str) -> None:
    block = read_block(f'{{"max_power" : "{number}", "throughput_ratio" : "{number}"}}', UPSTREAM_ZONE)

    assert block.info.max_power in (None, 1.0)


def test_a_log_that_is_packed_to_a_thousandth_is_not_unpacked_to_its_end() -> None:
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb") as packed:
        for _ in range(300):
            packed.write(bytes(1024**2))
    once = file.getvalue()
    both = io.BytesIO()
    with zipfile.ZipFile(both, "w") as archive:
        archive.writestr("a.log.gz", once)
        archive.writestr("b.log", "rankid:0 url:x read throughput:1\nreport result accuracy:0.5\n")
    reason = "it unpacks to more than 200 times its size"

    assert list(read_stream(io.BytesIO(once), "a.log.gz")) == [Unread("a.log.gz", make_verbatim(reason))]
    unread, found = read_stream(io.BytesIO(both.getvalue()), "both.zip")
    assert unread == Unread("both.zip!a.log.gz", make_verbatim(reason))
    assert isinstance(found, ParsedResult)


def test_a_zip_whose_entry_is_packed_to_a_thousandth_is_not_unpacked() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.log", "w") as entry:
        for _ in range(300):
            entry.write(bytes(1024**2))

    assert list(read_stream(io.BytesIO(file.getvalue()), "a.zip")) == [
        Unread("a.zip!a.log", make_verbatim("it unpacks to more than 200 times its size"))
    ]


@pytest.mark.parametrize("name", ["a.zip", "a.xlsx"])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_zip_whose_table_of_contents_would_fill_the_memory_is_refused(name: str, is_large: bool) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.log", "")
    content, size = bytearray(file.getvalue()), MOST_DIRECTORY + 1
    if is_large:
        end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 0)
        content[-22:-22] = end + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    else:
        content[-10:-6] = size.to_bytes(4, "little")

    (unread,) = read_stream(io.BytesIO(content), name)

    assert unread == Unread(name, make_verbatim("its directory is larger than 64 MB"))
