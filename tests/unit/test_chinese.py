"""What the core says is said in Chinese, too, and the catalogue holds nothing that no code says."""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from pydantic_core._pydantic_core import list_all_errors

from aisbench_core import chinese
from aisbench_core.chinese import KINDS, PLACEHOLDER, catalogue, in_chinese
from aisbench_core.model import TrainResultInfo
from tests.source_tree import nodes_of, product

CORE = Path(chinese.__file__).parent
PYDANTIC = [
    re.sub(r"\{\w+\}", "{}", said.replace("{expected_plural}", plural))
    for each in list_all_errors()
    for said in [each["message_template_python"][0].lower() + each["message_template_python"][1:]]
    for plural in ("", "s")
]
"""What is wrong with the values of documents, as pydantic says it; our documents begin it with a small letter."""


OLDER_SENTENCES = Path(__file__).parent / "older_sentences.txt"
"""Sentences of earlier versions, a line each: their rows hold them as plain text, newer rows hold Messages."""


def said_by(node: ast.AST) -> str | None:
    """A text as the catalogue writes it: its values as {}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{\w+(?:![rs])?(?::[,.\w]*)?\}", "{}", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def sentences() -> Iterator[str]:
    for file in product():
        for node in nodes_of(file, ast.Constant, ast.JoinedStr):
            said = said_by(node)
            if said:
                yield said


def older() -> list[str]:
    """The sentences of the catalogue that the code does not contain."""
    current = "\n".join([*sentences(), *PYDANTIC])
    return sorted(english for english in catalogue() if PLACEHOLDER.sub("{}", english) not in current)


def test_every_sentence_of_the_catalogue_is_in_the_code_or_in_an_earlier_version() -> None:
    rewrite = "from tests.unit.test_chinese import *; OLDER_SENTENCES.write_text('\\n'.join(older()) + '\\n', 'utf-8')"

    assert OLDER_SENTENCES.read_text("utf-8").splitlines() == older(), f'to update: .venv/bin/python -c "{rewrite}"'


def test_the_numbers_of_a_block_are_known_by_their_keys() -> None:
    numbers = [each.name for each in fields(TrainResultInfo) if "float" in str(each.type)]

    assert all(KINDS["k"].fullmatch(name) for name in numbers)
    assert len(KINDS["k"].pattern.split("|")) == len(numbers) == 7


def test_every_sentence_is_chinese_and_uses_the_values_of_its_english_one() -> None:
    for english, text in catalogue().items():
        assert not text.isascii(), english
        used = {int(name) for _, name, _, _ in string.Formatter().parse(text) if name}
        assert used == set(range(len(PLACEHOLDER.findall(english)))), english


def test_no_sentence_stands_there_twice() -> None:
    trees = [yaml.compose(file.read_text("utf-8")) for file in chinese.TEXTS.glob("*.yaml")]
    keys = [key.value for tree in trees if tree for key, _ in tree.value]

    assert sorted({key for key in keys if keys.count(key) > 1}) == []


def values_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from (*values_of(node.body), *values_of(node.orelse))
    elif said := said_by(node):
        yield said.replace("{}", "7")


PUT_TOGETHER = "7 (found 7)"
"""A problem as a document's own check says it: nothing but other sentences and values."""


def told_to_people() -> Iterator[str]:
    """What preflight says, with a number for each value."""
    for file in CORE.rglob("preflight/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name == "Violation":
                texts = (text for argument in node.args[:2] for text in values_of(argument) if " " in text.strip())
                yield from (text for text in texts if text != PUT_TOGETHER)


def test_all_that_preflight_finds_is_said_in_chinese() -> None:
    english = [said for said in told_to_people() if in_chinese(said) == said]

    assert english == []


ERRORS = {
    node.name for node in ast.walk(ast.parse((CORE / "errors.py").read_text("utf-8"))) if isinstance(node, ast.ClassDef)
}


def plain_texts(file: Path) -> Iterator[str]:
    """What errors and problems say and advise without being a Message, which no language but English has."""
    for node in nodes_of(file, ast.Call):
        name = getattr(node.func, "id", "")
        if name in {*ERRORS, "Problem"}:
            arguments = node.args[1:2] if name == "Problem" else node.args[:2]
            yield from (text for each in arguments for text in values_of(each) if text)


def test_no_error_is_raised_with_a_text_that_has_no_translation() -> None:
    plain = {str(file): texts for file in CORE.rglob("*.py") if (texts := list(plain_texts(file)))}

    assert plain == {}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("3 of 8 ranks", "8 个 rank 中有 3 个"),
        ("server 0 rank 1: no number; server 0 rank 3: 12.5", "服务器 0 rank 1：不是数值；服务器 0 rank 3：12.5"),
        ("throughput is missing", "缺少 throughput"),
        ("retrying: not measured (real data)", "稍后重试：未测量（真实数据）"),
        ("run again: 3 cells", "重跑：3 格"),
        ("budget: none instead of 5 node hours", "预算：无（原为 5 节点小时）"),
        ("failed: worker-0 ended with exit code 137: Killed", "失败：worker-0 以退出码 137 结束：Killed"),
        ("stopped by ann", "由 ann 停止"),
        ("ann@lab-1 (process 4711)", "ann@lab-1（进程 4711）"),
        (
            "retrying: ModelArts at http://x:9 cannot be reached: nothing listens there",
            "稍后重试：无法连接 ModelArts at http://x:9：该地址没有服务在监听",
        ),
        (
            "retrying: create job: OBS cannot be reached: no answer in time (check the network and the proxy)",
            "稍后重试：无法连接 create job: OBS：没有及时应答（请检查网络和代理）",
        ),
        (
            "r1/events.jsonl, line 7 cannot be read: Permission denied",
            "r1/events.jsonl 第 7 行 无法读取：Permission denied",
        ),
        ("run r1: nodes: must be at least 1 (found 0)", "运行 r1：nodes：至少为 1（实际为 0）"),
        (
            "512 nodes of kat1 cannot be had; allowed: no distributed training",
            "kat1 不能使用 512 个节点；允许：不支持分布式训练",
        ),
        ("'obs://b/x' has a scheme", "'obs://b/x' 带有协议前缀"),
        ("'code/code/x' is a link", "'code/code/x' 是链接"),
        ("'a b' lies deeper than 32 levels", "'a b' 超过 32 层"),
        ("input should be greater than or equal to 1", "应大于或等于 1"),
        (
            "it was written by a newer DuckDB: update this installation (schema 9), or move the file away",
            "由更新的 DuckDB 写入：请升级本程序（结构版本 9），或移走该文件",
        ),
        ("is no literal (a call), and nothing is executed", "不是字面量（调用），其中的代码不会被执行"),
        ("epoch_size: is out of range; allowed: at most 8", "epoch_size：超出范围；允许：最多 8"),
        (
            "retrying: look at job j-1: OBS cannot be reached: no answer in time",
            "稍后重试：无法连接 查看作业 j-1：OBS：没有及时应答",
        ),
        ("there is no profile named 'x'; known profiles: a, b", "没有名为 'x' 的配置档案；已有：a, b"),
    ],
)
def test_a_sentence_is_found_by_its_shape_and_keeps_its_values(said: str, expected: str) -> None:
    assert in_chinese(said) == expected


@pytest.mark.parametrize("said", [" holds : ; (" * 900, "a: " * 300 + "b", "x (" * 300, "line 1: " * 200 + "{}"])
def test_what_is_no_sentence_is_not_looked_at_for_long(said: str) -> None:
    assert in_chinese(said) == said


@pytest.mark.parametrize("said", ["", "none, 7", "who: what", "(", "a (b)", ": ; ", "{0}", "{} of {} ranks", "多谢"])
def test_what_is_not_known_stays_as_it_is(said: str) -> None:
    assert in_chinese(said) == said
