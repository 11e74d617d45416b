"""One Chinese word per noun, and the typography of the Chinese texts."""

import re
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.base.messages.message import load_entries

HOME = Path(__file__).parents[2]
GLOSSARY = HOME / "docs" / "glossary.md"

DISCARDED = {
    "运行配置 (spec)": "任务规格|运行规格|作业规格",
    "测试配置 (benchmark configuration)": "同一问题|所测的问题|同类|基准测试",
    "配置档案 (profile)": "环境配置",
    "次运行 (a number of runs)": "个运行",
    "测试系列 (series)": "(?<!测试)系列",
    "进行中 (active)": "活动",
    "搁置 (held)": "暂缓|挂起",
    "重新收集 (collect again)": "再次收集",
    "跟踪进程 (follower)": "跟踪者",
    "沙箱 (sandbox)": "沙盒|模拟区域",
    "记录 (to record)": "入库",
    "规则集 (ruleset)": "判定规则",
    "检查结果 (findings)": "^发现$",
    "未核实 (claimed)": "声称|自报",
    "填写 (stated)": "声明|未说明",
    "排名 (rank on the leaderboard)": "名次",
    "基线 (baseline)": "(?<!训练|分类)基准(?!测试)",
    "对比 (compare)": "比较",
    "性能劣化 (regression)": "回退|回归",
    "置信区间 (interval of a mean or a ratio)": "(?<!置信)区间",
    "去极值均值 (olympic mean)": "奥运|奥林匹克",
    "离散度 (spread)": "离散(?!度)",
    "慢卡 (straggler)": "落后|掉队",
    "加速卡 (accelerator)": "加速器",
    "吞吐量 (throughput)": "吞吐(?!量)",
    "使用率 (utilisation)": "利用率",
    "功耗 (power)": "功率",
    "运行时长 (duration)": "用时|耗时",
    "昇腾 (Ascend)": "升腾",
    "ID": "编号(?<!故障编号)(?<!报告编号)(?<!rank 编号)",
    "密码 (password)": "口令",
    "凭据文件 (credentials file)": "密钥文件|凭证",
    "目录 (directory)": "文件夹",
    "响应 (to answer)": "应答",
    "云服务 (the cloud, as a party)": "云端",
    "私有云 (private cloud)": "专有云",
    "URL": "网址",
    "schema 版本 (of a database)": "结构版本",
    "键值对 (dict)": "键和值",
    "上游工具 (upstream's tool)": "原工具",
    "已忽略 (left out)": "略去",
    "请将": "请把",
}
"""The word of each noun, and a pattern of those that are not used for it."""

TRANSLATED = (
    "aisbench_core/domain/rulesets/*.yaml",
    "aisbench_core/running/diagnosing/rules/*.yaml",
    "workloads/*/workload.yaml",
)
"""Files with texts in both languages."""


def chinese_texts() -> Iterator[str]:
    """The catalogue's texts, and those of rulesets, rules of diagnosis and workloads; titles are others'."""
    yield from load_entries().values()
    for file in (file for pattern in TRANSLATED for file in HOME.glob(pattern)):
        yield from re.findall(r"^ *(?!title)\w+_zh: (.*)$", file.read_text("utf-8"), re.M)


def test_a_noun_has_one_chinese_word() -> None:
    found = [
        f"{word}, not {match[0]}: {chinese}"
        for chinese in chinese_texts()
        for word, discarded in DISCARDED.items()
        if (match := re.search(discarded, chinese))
    ]

    assert found == []


def test_the_glossary_has_the_words_of_the_catalogue() -> None:
    rows = re.findall(r"^\* [^(]+ \(([^)]+)\): ", GLOSSARY.read_text("utf-8"), re.M)
    everything = "\n".join(load_entries().values())

    assert [word for row in rows for word in row.split("、") if word not in everything] == []


def test_chinese_and_latin_letters_are_apart() -> None:
    joined = [chinese for chinese in chinese_texts() if re.search(r"[A-Za-z0-9][一-鿿]|[一-鿿][A-Za-z0-9]", chinese)]

    assert joined == []


def test_punctuation_beside_chinese_is_full_width() -> None:
    texts = [re.sub("`[^`]*`", "", chinese) for chinese in chinese_texts()]

    assert [text for text in texts if re.search(r"[一-鿿]([,;!?()]|:(?!/))|[,;!?()][一-鿿]", text)] == []


def test_bold_text_that_ends_in_punctuation_is_followed_by_a_space() -> None:
    """Without it Markdown shows the asterisks: https://github.com/commonmark/commonmark-spec/issues/650."""
    bold = re.compile(r"\*\*(.+?)\*\*(\w?)")
    closed = [
        (match[1][-1:], match[2], chinese) for chinese in load_entries().values() for match in bold.finditer(chinese)
    ]

    assert [chinese for last, then, chinese in closed if last in "。，；：）" and then] == []
