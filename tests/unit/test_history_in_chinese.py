"""Why a file of old results is not read, and what is doubtful in one, is said in Chinese; the file's words stay."""

import zipfile
from pathlib import Path

import pytest

from aisbench_core.base.messages import in_chinese
from aisbench_core.exchange.readers.reading import read_path
from aisbench_core.exchange.readers.results import ParsedResult, Unread

HEADER = "model,throughput_ratio,accuracy,validity\n"


def read(folder: Path, name: str, content: bytes) -> list[ParsedResult | Unread]:
    (folder / name).write_bytes(content)
    return list(read_path(folder / name))


def packed(folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "packed", "w") as archive:
        archive.writestr("running.log", b"%PDF-1.4")
    return (folder / "packed").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("all.log", b"nothing of ours\n", "既没有 train_result_info 行，也没有上游工具或 MLPerf 的报告"),
        ("none.zip", b"PK\x03\x04 broken", "无法读取：File is not a zip file"),
        ("a.zip", b"Rar!" + b"x" * 300, "文件类型：RAR 压缩包，请改用 .zip 或 .tar.gz"),
        ("all.csv", b"all,none\n1,2\n", "没有识别出吞吐量或准确率的列：all, none"),
        ("x.csv", HEADER.encode() + b"running,,,\n", "既无吞吐量也无准确率的行数：1（第 2 行）"),
        ("run.log", b"train_result_info:\n", "train_result_info 行之后没有数值：日志不完整"),
    ],
)
def test_a_file_without_results_says_why(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    [found] = read(tmp_path, name, content)

    assert isinstance(found, Unread)
    assert in_chinese(found.reason) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("failed,900,0.7,all", ["表格中标注为 all"]),
        ("failed,all,0.7,", ["throughput_ratio 的内容是 'all'，不是数值"]),
        ("failed,900,running,", ["accuracy 的内容是 'running'，不是数值"]),
    ],
)
def test_what_is_doubtful_in_a_row_is_said_with_its_words(tmp_path: Path, row: str, expected: list[str]) -> None:
    [found] = read(tmp_path, "t.csv", f"{HEADER}{row}\n".encode())

    assert isinstance(found, ParsedResult)
    assert [in_chinese(problem) for problem in found.problems] == expected


def test_a_file_in_an_archive_says_why_it_is_not_read(tmp_path: Path) -> None:
    [found] = read(tmp_path, "all.zip", packed(tmp_path))

    assert isinstance(found, Unread)
    assert (found.source, in_chinese(found.reason)) == ("all.zip!running.log", "文件类型：PDF 文档")
