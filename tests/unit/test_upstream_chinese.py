"""What configurations, packages and descriptions of others hold is said in Chinese; their own words stay."""

import io
import json
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.packages.package import Answers
from aisbench_core.running.systems.reading import read_fields
from tests.package_door import Door, opener, unpacked
from tests.unit.test_package_unpacking import HOSTILE
from tests.unit.upstream_files import ACCESS, config, document, imported, session, v2
from tests.upstream_package import files, packed

FOUND: list[tuple[str, str, str]] = [
    (v2(job_name="all"), "config.literal", "不是字面量（名称），其中的代码不会被执行"),
    (v2(job_name="[1]"), "config.type", "必须是文本（实际为 列表）"),
    (v2(train_instance_count="'all'"), "config.type", "必须是整数（实际为 文本）"),
    (v2(train_instance_count="1.5"), "config.type", "必须是整数（实际为 1.5）"),
    (v2(train_instance_count="0"), "config.range", "应大于或等于 1（实际为 0）"),
    (v2(none="1"), "config.unknown", "不是已知的键；已知：parameters, inputs"),
    (v2(boot_file="'/all/none.py'"), "config.boot-file", "'/all/none.py' 不在 code_dir '/zgwtest/lcm_test/bert/' 中"),
    (v2(train_instance_type="'all'"), "config.cards", "规格 'all' 的每节点卡数未知"),
    (v2(nas_type="'none'"), "config.volume", "nas_type 'none'、nas_share_addr '' 和 nas_mount_path '' 无法组成卷"),
    (ACCESS + v2(), "config.duplicate", "重复出现（首次在第 1 行）；以最后一个为准"),
    (config(ACCESS, session("session_config_v2", out_base_url="''")), "config.profile", "缺少 含桶名的 out_base_url，"),
]


@pytest.mark.parametrize(("text", "rule", "chinese"), FOUND)
def test_what_is_found_in_a_configuration_is_said_in_chinese(text: str, rule: str, chinese: str) -> None:
    findings = [each for each in imported(text).findings if each.rule == rule]

    assert in_chinese(findings[0].message).startswith(chinese)
    assert all(isinstance(each.message, Message) and not in_chinese(each.message).isascii() for each in findings)


def test_clues_that_contradict_each_other_are_named_in_chinese() -> None:
    finding = next(
        each for each in imported(v2(), framework_version="r1.5").findings if each.rule == "config.contradiction"
    )

    assert in_chinese(finding.message) == "参数 bert_network 对应版本 r1.3，而您的选择对应 r1.5"


@pytest.mark.parametrize(
    ("content", "chinese"),
    [
        ("all = 1", "modelarts_config.py 中没有给 access_config, session_config, session_config_v2 中的任何一个赋值"),
        ("all = (", "modelarts_config.py 不是 Python：第 1 行：'(' was never closed"),
        (b"\xff\xff", "modelarts_config.py 既不是 UTF-8 也不是 GBK 文本（请另存为 UTF-8）"),
        ("#" * 300_000, "modelarts_config.py 有 300,000 字节；允许：262,144（这不是此类配置）"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_refused_in_chinese(content: str | bytes, chinese: str) -> None:
    with pytest.raises(AisbenchError) as caught:
        document(content)

    assert in_chinese(caught.value.sentence).startswith(chinese)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_package_that_means_harm_is_refused_in_chinese(what: str, tmp_path: Path) -> None:
    extra, _ = HOSTILE[what]

    with pytest.raises(AisbenchError) as caught:
        unpacked(tmp_path, packed(files(), *extra))

    assert not in_chinese(caught.value.sentence).partition("tar.gz：")[2].isascii()


def test_a_package_that_is_none_is_refused_in_chinese(tmp_path: Path) -> None:
    with pytest.raises(AisbenchError) as caught:
        opener(tmp_path).unpack("none", io.BytesIO(b"all"))

    assert in_chinese(caught.value.sentence) == (
        "none：不是可读取的 .tar.gz 压缩包，或内容不完整（BadGzipFile）（请重新下载，或解压后导入目录）"
    )


def test_what_a_package_leaves_open_is_said_in_chinese(tmp_path: Path) -> None:
    found = Door(tmp_path).described("all", Answers(name="none", boot_file="none.py"), text="x = 1")

    said = {each.rule: in_chinese(each.message) for each in found.findings}
    assert said["package.name"] == "名称 'all.tar.gz' 中不含工作负载、架构和框架版本"
    assert said["package.boot-file"] == "'none.py' 不在 code/code 中"
    assert said["package.config"].startswith("modelarts_config.py 中没有给")
    assert all(isinstance(each.message, Message) for each in found.findings)
    assert all(not in_chinese(text).isascii() for each in found.findings for text in (each.message, each.hint) if text)


def test_what_a_system_description_cannot_hold_is_said_in_chinese() -> None:
    content = {"all": 1, "number_of_nodes": "none", "cooling": "x" * 2001, "Cooling": "all"}
    found = read_fields([ConfigFile("system.json", json.dumps(content).encode())])

    assert {each.rule: in_chinese(each.message) for each in found.findings} | {"system.type": ""} == {
        "system.unknown": "不是已知的键，已忽略",
        "system.type": "",
    }
    types = [in_chinese(each.message) for each in found.findings if each.rule == "system.type"]
    assert types[0] == '应为整数，而文本不是整数：实际为 "none"'
    assert types[1].startswith("最多 2000 个字符：实际为 ")
