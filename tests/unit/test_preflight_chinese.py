"""What preflight finds is said in Chinese, with what people wrote as they wrote it."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.messages import Message, in_chinese
from tests.unit.good_specs import changed, code_folder, found, good_spec
from tests.unit.test_preflight import CASES

SAID: list[tuple[str, dict[str, Any], str, str]] = [
    ("workload.version", {"framework_version": "all"}, "mindspore_resnet 没有框架版本 'all'；允许：r1.3, r1.5", ""),
    (
        "parameters.value",
        {"parameters": {"epoch_size": "none"}},
        "必须是整数（实际为 'none'）",
        "",
    ),
    (
        "name.characters",
        {"name": "ValueError: all"},
        "作业名称不能以 'ValueError: all' 开头；允许：字母 A-Z a-z、数字、_ 和 -",
        "",
    ),
    ("paths.form", {"log_path": "all"}, "'all' 不以 / 开头", "请写成 /桶/目录/"),
    ("nodes.most", {"flavor": "lonely", "node_count": 2}, "lonely 不能使用 2 个节点；允许：不支持分布式训练", ""),
    ("environments.log-level", {"environments": {"GLOG_v": "all"}}, "GLOG_v 为 'all'；允许：0 INFO", ""),
    (
        "update.file",
        {"update": {"cann": "running"}},
        "'running' 不是绝对路径",
        "请给出本机上文件的绝对路径",
    ),
]


@pytest.mark.parametrize(("rule", "changes", "message", "hint"), SAID)
def test_a_finding_is_said_in_chinese_with_its_values(
    rule: str, changes: dict[str, Any], message: str, hint: str, tmp_path: Path
) -> None:
    finding = next(each for each in found(changed(good_spec(code_folder(tmp_path)), **changes)) if each.rule == rule)

    assert in_chinese(finding.message).startswith(message)
    assert in_chinese(finding.hint) == hint


@pytest.mark.parametrize(("rule", "changes", "_field", "_words"), CASES)
def test_everything_that_preflight_finds_has_a_chinese_sentence(
    rule: str, changes: dict[str, Any], _field: str, _words: str, tmp_path: Path
) -> None:
    findings = found(changed(good_spec(code_folder(tmp_path)), **changes))

    assert rule in {finding.rule for finding in findings}
    for text in (text for finding in findings for text in (finding.message, finding.hint) if text):
        assert isinstance(text, Message)
        assert not in_chinese(text).isascii()
